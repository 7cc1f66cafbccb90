package perf

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/weft-transport/weft/transport"
	"github.com/weft-transport/weft/transport/collective"
	"github.com/weft-transport/weft/transport/udp"
)

// A rank is one member of a Job.
type rank struct {
	job   *Job
	ep    *transport.Endpoint
	group *collective.Group

	size    int // that there are buffers for
	values  []float32
	in, out []byte

	first, end int // of values that hold results
}

// A batch is what rank 0 has all ranks do next.
type batch struct {
	Size  int   `json:"size"`
	N     int64 `json:"n"`
	Check bool  `json:"check,omitempty"` // fill the buffers before, and compare them after it; N is 1
}

// openRank opens the endpoint of a rank on an address of this host.
func openRank(ctx context.Context, j *Job, number int, local netip.Addr) (*rank, error) {
	p, _, err := lookup(j.Protocol)
	if err != nil {
		return nil, err
	}
	c := transport.Config{MaxPending: 8*j.Ranks + 128, UDP: udp.Config{Fate: j.Impairment.fate(uint64(number) + 1)}}
	c.Core.Resources = 1
	ep, err := p.listen(ctx, netip.AddrPortFrom(local, 0).String(), c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", j.Protocol, err)
	}
	return &rank{job: j, ep: ep, size: -1}, nil
}

func (r *rank) meet(ctx context.Context, number int, names []string) (err error) {
	r.group, err = collective.Join(ctx, r.ep, number, names)
	return err
}

func (r *rank) close() { r.ep.Close() }

// do carries out a batch, after a barrier: so that all begin together.
func (r *rank) do(ctx context.Context, b *batch) (m Measured, err error) {
	if b.Size != r.size {
		r.resize(b.Size)
	}
	if b.Check {
		r.fill()
	}
	if err := r.group.Barrier(ctx); err != nil {
		return m, err
	}
	from := r.snapshot()
	begin := time.Now()
	last := begin
	for ; m.Operations < b.N; m.Operations++ {
		if err := r.once(ctx); err != nil {
			return m, err
		}
		now := time.Now()
		took := now.Sub(last)
		if m.Max = max(m.Max, took); m.Operations == 0 || took < m.Min {
			m.Min = took
		}
		last = now
	}
	m.Elapsed = last.Sub(begin)
	to := r.snapshot()
	m.Usage = Usage{to.cpu - from.cpu, to.machine - from.machine, to.counters.minus(from.counters)}
	if b.Check {
		m.Wrong = r.wrong()
		clear(r.values) // sums of sums would grow beyond all bounds
	}
	return m, nil
}

func (r *rank) snapshot() snapshot {
	e := uetEnd{ep: r.ep}
	return snapshot{processorTime(), machineTime(), e.counters()}
}

// resize makes buffers.
func (r *rank) resize(size int) {
	r.size = size
	r.values, r.in, r.out = nil, nil, nil
	switch r.job.Collective {
	case "allreduce", "reducescatter":
		r.values = make([]float32, size/element)
		r.first, r.end = 0, len(r.values)
	case "alltoall":
		r.in, r.out = make([]byte, size), make([]byte, size)
	case "allgather":
		r.in, r.out = make([]byte, size), make([]byte, size/r.job.Ranks)
	case "broadcast":
		r.in = make([]byte, size)
	}
}

// once carries out one operation.
func (r *rank) once(ctx context.Context) error {
	op := map[string]collective.Op{"sum": collective.Sum, "min": collective.Min, "max": collective.Max}[r.job.Reduction]
	switch r.job.Collective {
	case "allreduce":
		switch r.job.Algorithm {
		case "ring":
			return r.group.AllReduceRing(ctx, r.values, op)
		case "tree":
			return r.group.AllReduceTree(ctx, r.values, op)
		}
		return r.group.AllReduce(ctx, r.values, op)
	case "reducescatter":
		var err error
		r.first, r.end, err = r.group.ReduceScatter(ctx, r.values, op)
		return err
	case "alltoall":
		return r.group.AllToAll(ctx, r.in, r.out)
	case "allgather":
		return r.group.AllGather(ctx, r.in, r.out)
	case "broadcast":
		return r.group.Broadcast(ctx, r.in, 0)
	}
	return r.group.Barrier(ctx)
}

// period is after how many elements the values of a check repeat: prime, so that no block looks like another.
const period = 97

// value is what a rank brings to a reduction: a small whole number, so that sums are exact in any order.
func value(number, i int) float32 { return float32((number*31+i*7)%period - period/2) }

// octet is what rank from has for rank to.
func octet(from, to, i int) byte { return byte(from*89 + to*53 + i%period*7 + 1) }

// fill puts into the buffers what a check begins with.
func (r *rank) fill() {
	me := r.group.Rank()
	for i := range r.values {
		r.values[i] = value(me, i)
	}
	clear(r.in)
	switch r.job.Collective {
	case "broadcast":
		if me == 0 {
			fillOctets(r.in, 0, 0)
		}
	case "allgather":
		fillOctets(r.out, me, 0)
	case "alltoall":
		part := len(r.out) / r.job.Ranks
		for to := range r.job.Ranks {
			fillOctets(r.out[to*part:][:part], me, to)
		}
	}
}

func fillOctets(b []byte, from, to int) {
	for i := range b {
		b[i] = octet(from, to, i)
	}
}

func wrongOctets(b []byte, from, to int) (n int64) {
	for i := range b {
		if b[i] != octet(from, to, i) {
			n++
		}
	}
	return n
}

// wrong counts the elements that are not what a check must end with.
func (r *rank) wrong() (n int64) {
	me, part := r.group.Rank(), len(r.in)/r.job.Ranks
	switch r.job.Collective {
	case "broadcast":
		return wrongOctets(r.in, 0, 0)
	case "allgather", "alltoall":
		to := 0
		if r.job.Collective == "alltoall" {
			to = me
		}
		for from := range r.job.Ranks {
			n += wrongOctets(r.in[from*part:][:part], from, to)
		}
		return n
	}
	var want [period]float32
	for i := range want {
		want[i] = value(0, i)
		for number := 1; number < r.job.Ranks; number++ {
			switch v := value(number, i); r.job.Reduction {
			case "sum":
				want[i] += v
			case "min":
				want[i] = min(want[i], v)
			default:
				want[i] = max(want[i], v)
			}
		}
	}
	for i := r.first; i < r.end; i++ {
		if r.values[i] != want[i%period] {
			n++
		}
	}
	return n
}
