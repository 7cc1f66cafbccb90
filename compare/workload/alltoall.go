package workload

import (
	"github.com/weft-transport/weft/transport/param"
)

func init() {
	Registry.Register(param.Entry[Generator]{
		Name:   "alltoall",
		Doc:    "every host of a group sends to every other, a bounded number at a time, in shifted order",
		Source: "MPI and NCCL all-to-all; the serial all-to-all matrices of htsim",
		Params: append([]param.Param{
			sizeParam("256KiB", "bytes to each other host"),
			{Name: "parallel", Kind: param.Int, Default: "4", Doc: "flows of a host at a time; 0: all at once", Max: 1 << 24},
			jitterParam,
		}, groupParams...),
		New: func(v param.Values) (Generator, error) {
			return func(e Env) (*Plan, error) { return allToAll(v, e) }, nil
		},
	})
}

func allToAll(v param.Values, e Env) (*Plan, error) {
	list, err := groups(v, e)
	if err != nil {
		return nil, err
	}
	if err := room(float64(len(list)) * float64(len(list[0])) * float64(len(list[0])-1)); err != nil {
		return nil, err
	}
	p := &Plan{Nodes: e.Hosts}
	for _, ranks := range list {
		for r := range ranks {
			p.shifted(ranks, r, int(v.Int("parallel")), uint64(v.Bytes("size", e.BDP)))
		}
	}
	p.stagger(v.Time("startJitter"), e.Jitter)
	return p, nil
}

// shifted adds the flows of rank r: to r+1, r+2, ... (mod n), so that in each step every host
// receives from one. The flows are dealt to lanes; within a lane each starts when the one
// before is acknowledged.
func (p *Plan) shifted(ranks []int32, r, parallel int, bytes uint64) {
	n := len(ranks)
	if parallel == 0 {
		parallel = n
	}
	first := len(p.Flows)
	for step := 1; step < n; step++ {
		dst := ranks[(r+step)%n]
		if step <= parallel {
			p.at(ranks[r], dst, bytes, 0)
			continue
		}
		next := p.trigger(Trigger{Kind: Oneshot})
		p.Flows[first+step-1-parallel].SendDone = next
		p.after(next, ranks[r], dst, bytes)
	}
}
