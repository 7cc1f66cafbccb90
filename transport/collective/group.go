package collective

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/weft-transport/weft/transport"
)

// ErrSize says that a buffer does not fit the group or the operation.
var ErrSize = errors.New("size does not fit")

// A Group is one member's view of those that take part.
type Group struct {
	endpoint *transport.Endpoint
	rank     int
	peers    []*transport.Peer // by rank; nil: this one
	queue    *transport.Queue
	memory   *transport.Memory // work room, grown as needed
	calls    uint32            // collective operations so far: part of every tag
	done     []transport.Completion
	pending  int
	requests []transport.Request
	broken   error // why the group is of no use any more
}

// Join makes the view of the member with that rank. names are all endpoints, as Dial takes them; one process may be in several
// groups if their members call them in one order. Nothing is sent.
func Join(ctx context.Context, e *transport.Endpoint, rank int, names []string) (*Group, error) {
	if rank < 0 || rank >= len(names) {
		return nil, fmt.Errorf("collective: rank %d of %d: %w", rank, len(names), ErrSize)
	}
	g := &Group{endpoint: e, rank: rank, peers: make([]*transport.Peer, len(names)), queue: e.NewQueue(4*len(names) + 64), done: make([]transport.Completion, 64)}
	for i, name := range names {
		if i == rank {
			continue
		}
		p, err := e.Dial(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("collective: rank %d: %w", i, err)
		}
		g.peers[i] = p
	}
	return g, nil
}

// Rank is this member's, from 0.
func (g *Group) Rank() int { return g.rank }

// Size is how many members there are.
func (g *Group) Size() int { return len(g.peers) }

// Close gives the group's memory back. After an operation that failed some of it may still be in use, until the endpoint is
// closed or its peers have answered: ErrBusy.
func (g *Group) Close() error {
	if g.memory == nil {
		return nil
	}
	g.queue.Cancel()
	if err := g.memory.Deregister(); err != nil {
		return fmt.Errorf("collective: rank %d of %d: %w", g.rank, len(g.peers), err)
	}
	g.memory = nil
	return nil
}

// A block is a part of the work room that goes to or comes from a member, in a step of the operation.
type block struct {
	rank, step     int
	offset, length int
}

// tag names a block: those of one operation by their step, which is below 2^24.
func (g *Group) tag(step int) uint64 { return 1<<63 | uint64(g.calls)<<24 | uint64(step) }

// begin starts a collective operation, with registered work room of n bytes, which is its own until the next one.
func (g *Group) begin(n int) ([]byte, error) {
	if g.broken != nil {
		return nil, g.broken
	}
	g.calls++
	if g.memory == nil || len(g.memory.Bytes()) < n {
		if err := g.Close(); err != nil {
			return nil, err
		}
		m, err := g.endpoint.Register(make([]byte, 1<<bits.Len(uint(max(n, 4096)-1))), transport.Local)
		if err != nil {
			return nil, g.fail(err)
		}
		g.memory = m
	}
	return g.memory.Bytes()[:n], nil
}

func (g *Group) receive(b block) {
	g.requests = append(g.requests, transport.Request{Op: transport.OpReceive, Local: g.memory.Slice(b.offset, b.length), User: uint64(b.step)<<lengthBits | uint64(b.length),
		Match: transport.Match{Tagged: true, Tag: g.tag(b.step), From: g.peers[b.rank]}})
}

var deferrable = []transport.Option{transport.Deferrable}

func (g *Group) send(b block) {
	g.requests = append(g.requests, transport.Request{Op: transport.OpTaggedSend, Peer: g.peers[b.rank], Local: g.memory.Slice(b.offset, b.length),
		User: sent, Remote: transport.Remote{Key: g.tag(b.step)}, Options: deferrable})
}

// Request.User is sent for sends; a receive has its step and its length, in these bits.
const (
	sent       = ^uint64(0)
	lengthBits = 40
)

// flush posts what was asked for. What there is no room for waits for completions, which arrived hears of.
func (g *Group) flush(ctx context.Context, arrived func(step int)) error {
	for len(g.requests) > 0 {
		n, err := g.queue.Post(g.requests...)
		g.pending += n
		g.requests = append(g.requests[:0], g.requests[n:]...)
		if err != nil && !errors.Is(err, transport.ErrBusy) {
			return g.fail(err)
		}
		if len(g.requests) > 0 {
			if err := g.wait(ctx, arrived); err != nil {
				return err
			}
		}
	}
	return nil
}

// wait hears of some completions.
func (g *Group) wait(ctx context.Context, arrived func(step int)) error {
	n, err := g.queue.Wait(ctx, g.done)
	if err != nil {
		return g.fail(err)
	}
	g.pending -= n
	for _, c := range g.done[:n] {
		if c.Err != nil {
			return g.fail(c.Err)
		}
		if c.User == sent {
			continue
		}
		if want := int(c.User & (1<<lengthBits - 1)); c.Message.Length != want {
			return g.fail(fmt.Errorf("%s has sent a block of %d bytes; expected %d: %w", c.Message.From.Name(), c.Message.Length, want, ErrSize))
		}
		if arrived != nil {
			arrived(int(c.User >> lengthBits))
		}
	}
	return nil
}

// finish waits until everything that was posted is over.
func (g *Group) finish(ctx context.Context, arrived func(step int)) error {
	if err := g.flush(ctx, arrived); err != nil {
		return err
	}
	for g.pending > 0 {
		if err := g.wait(ctx, arrived); err != nil {
			return err
		}
	}
	return nil
}

// fail leaves an operation, and takes back what is under way of it. The group is of no use afterwards, and says so: what its
// members have done differs.
func (g *Group) fail(err error) error {
	g.broken = fmt.Errorf("collective: rank %d of %d: %w", g.rank, len(g.peers), err)
	g.queue.Cancel()
	return g.broken
}

// bytesOf looks at numbers as bytes, in the order of the machine.
func bytesOf(v []float32) []byte {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), 4*len(v))
}

// floatsOf is the inverse; b is aligned, since work room begins at a page and blocks at multiples of four.
func floatsOf(b []byte) []float32 {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&b[0])), len(b)/4)
}
