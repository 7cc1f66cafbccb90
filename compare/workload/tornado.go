package workload

import (
	"fmt"

	"github.com/weft-transport/weft/transport/param"
)

func init() {
	Registry.Register(param.Entry[Generator]{
		Name:   "tornado",
		Doc:    "host i sends to host i + N/2 (mod N): all traffic crosses the top tier",
		Source: "Dally and Towles, Principles and Practices of Interconnection Networks, 2004, section 3.2; REPS, EuroSys 2026",
		Params: []param.Param{sizeParam("4MiB", "bytes of one message"), messagesParam, jitterParam},
		New: func(v param.Values) (Generator, error) {
			return func(e Env) (*Plan, error) { return tornado(v, e) }, nil
		},
	})
}

func tornado(v param.Values, e Env) (*Plan, error) {
	if e.Hosts < 2 {
		return nil, fmt.Errorf("a tornado needs at least 2 hosts, the fabric has %d", e.Hosts)
	}
	if err := room(float64(e.Hosts) * float64(v.Int("messages"))); err != nil {
		return nil, err
	}
	p := &Plan{Nodes: e.Hosts}
	for src := range e.Hosts {
		dst := (src + e.Hosts/2) % e.Hosts
		p.train(int32(src), int32(dst), uint64(v.Bytes("size", e.BDP)), 0, int(v.Int("messages")))
	}
	p.stagger(v.Time("startJitter"), e.Jitter)
	return p, nil
}
