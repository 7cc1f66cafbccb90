package workload

import (
	"github.com/weft-transport/weft/transport/param"
)

func init() {
	Registry.Register(param.Entry[Generator]{
		Name:   "ringallreduce",
		Doc:    "all-reduce in a ring: 2(n-1) steps, in each of which every rank sends a chunk of size/n to the next",
		Source: "Patarasuk and Yuan, JPDC 2009; NCCL's ring",
		Params: append([]param.Param{
			sizeParam("32MiB", "bytes that are reduced, the same on every rank"),
			jitterParam,
		}, groupParams...),
		New: func(v param.Values) (Generator, error) {
			return func(e Env) (*Plan, error) { return ringAllReduce(v, e) }, nil
		},
	})
}

func ringAllReduce(v param.Values, e Env) (*Plan, error) {
	list, err := groups(v, e)
	if err != nil {
		return nil, err
	}
	if err := room(float64(len(list)*len(list[0])) * 2 * float64(len(list[0])-1)); err != nil {
		return nil, err
	}
	p := &Plan{Nodes: e.Hosts}
	for _, ranks := range list {
		p.ring(ranks, uint64(v.Bytes("size", e.BDP)))
	}
	p.stagger(v.Time("startJitter"), e.Jitter)
	return p, nil
}

// ring adds one ring. In step s, rank r sends chunk r-s (mod n): its own first, and then always
// the chunk that has just arrived from rank r-1, reduced in the first n-1 steps and final in the
// others. So the flow of (r, s) starts when that of (r-1, s-1) has been received.
//
//	step 0: 0 -c0-> 1 -c1-> 2 -c2-> 0
//	step 1: 0 -c2-> 1 -c0-> 2 -c1-> 0
func (p *Plan) ring(ranks []int32, bytes uint64) {
	n := len(ranks)
	first := len(p.Flows)
	for step := range 2 * (n - 1) {
		for r := range n {
			size := chunk(bytes, n, ((r-step)%n+n)%n)
			src, dst := ranks[r], ranks[(r+1)%n]
			if step == 0 {
				p.at(src, dst, size, 0)
				continue
			}
			received := p.trigger(Trigger{Kind: Oneshot})
			p.Flows[first+(step-1)*n+(r+n-1)%n].RecvDone = received
			p.after(received, src, dst, size)
		}
	}
}

// chunk returns the bytes of chunk c of n: the first ones are larger by a byte where n does not
// divide the whole.
func chunk(bytes uint64, n, c int) uint64 {
	size := bytes / uint64(n)
	if uint64(c) < bytes%uint64(n) {
		size++
	}
	return size
}
