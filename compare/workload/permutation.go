package workload

import (
	"fmt"

	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

func init() {
	Registry.Register(param.Entry[Generator]{
		Name:   "permutation",
		Doc:    "every host sends to one other host and receives from one: a random permutation without fixed points",
		Source: "the standard test of multipath transports (NDP, SIGCOMM 2017, section 6)",
		Params: []param.Param{
			sizeParam("2MiB", "bytes of one message"),
			{Name: "flows", Kind: param.Int, Default: "0", Doc: "how many hosts send, drawn at random; 0: all", Max: 1 << 30},
			messagesParam,
			jitterParam,
		},
		New: newPermutation,
	})
}

// messagesParam is declared by workloads of independent pairs.
var messagesParam = param.Param{Name: "messages", Kind: param.Int, Default: "1",
	Doc: "messages of each sender, one after another: each starts when the one before is acknowledged", Min: 1, Max: 1 << 24}

func newPermutation(v param.Values) (Generator, error) {
	return func(e Env) (*Plan, error) {
		flows := int(v.Int("flows"))
		if e.Hosts < 2 {
			return nil, fmt.Errorf("a permutation needs at least 2 hosts, the fabric has %d", e.Hosts)
		}
		if flows > e.Hosts {
			return nil, fmt.Errorf("flows: %d is more than the %d hosts of the fabric", flows, e.Hosts)
		}
		if err := room(float64(e.Hosts) * float64(v.Int("messages"))); err != nil {
			return nil, err
		}
		p := &Plan{Nodes: e.Hosts}
		to := streamOf(e.Matrix, 0).derangement(e.Hosts)
		for _, src := range senders(e, flows) {
			p.train(src, to[src], uint64(v.Bytes("size", e.BDP)), 0, int(v.Int("messages")))
		}
		p.stagger(v.Time("startJitter"), e.Jitter)
		return p, nil
	}, nil
}

// senders returns all hosts in order, or, for 0 < count < hosts, a random choice.
func senders(e Env, count int) []int32 {
	list := streamOf(e.Matrix, 1).order(e.Hosts)
	if count > 0 && count < e.Hosts {
		return list[:count]
	}
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

// train adds messages between one pair, each started by the end of the one before.
func (p *Plan) train(src, dst int32, bytes uint64, start instant.Time, messages int) {
	p.at(src, dst, bytes, start)
	for range messages - 1 {
		next := p.trigger(Trigger{Kind: Oneshot})
		p.Flows[len(p.Flows)-1].SendDone = next
		p.after(next, src, dst, bytes)
	}
}
