package workload

import (
	"fmt"

	"github.com/weft-transport/weft/transport/param"
)

func init() {
	Registry.Register(param.Entry[Generator]{
		Name:   "pair",
		Doc:    "one host sends to another: latency and bandwidth of a single flow",
		Source: "the tests of perftest",
		Params: []param.Param{
			{Name: "src", Kind: param.Int, Default: "0", Doc: "the host that sends", Max: 1 << 30},
			{Name: "dst", Kind: param.Int, Doc: "the host that receives; derived: the last host", Max: 1 << 30},
			sizeParam("64MiB", "bytes of one message"),
			messagesParam,
			{Name: "start", Kind: param.Duration, Default: "0", Doc: "when the first message starts; not scaled", Max: 1e15},
		},
		New: func(v param.Values) (Generator, error) {
			return func(e Env) (*Plan, error) { return pair(v, e) }, nil
		},
	})
}

func pair(v param.Values, e Env) (*Plan, error) {
	src, dst := v.Int("src"), int64(e.Hosts-1)
	if v.Has("dst") {
		dst = v.Int("dst")
	}
	for _, end := range []struct {
		name string
		host int64
	}{{"src", src}, {"dst", dst}} {
		if end.host < 0 || end.host >= int64(e.Hosts) {
			return nil, fmt.Errorf("%s: host %d is outside 0 to %d", end.name, end.host, e.Hosts-1)
		}
	}
	if src == dst {
		return nil, fmt.Errorf("src and dst are both host %d; a host does not send to itself", src)
	}
	if err := room(float64(v.Int("messages"))); err != nil {
		return nil, err
	}
	p := &Plan{Nodes: e.Hosts}
	p.train(int32(src), int32(dst), uint64(v.Bytes("size", e.BDP)), v.Time("start"), int(v.Int("messages")))
	return p, nil
}
