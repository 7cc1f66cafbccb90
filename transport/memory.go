package transport

import (
	"context"
	"fmt"
	"sync"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/splitmix"
)

// Access is what peers may do with registered memory.
type Access = core.Access

// Rights of peers. Local is none: memory for a Queue's operations. RemoteIdempotent is for Idempotent operations, besides
// the right to write or to read.
const (
	Local            Access = 0
	RemoteWrite             = core.RemoteWrite
	RemoteRead              = core.RemoteRead
	RemoteAtomic            = core.RemoteAtomic
	RemoteIdempotent        = core.Idempotent
)

// Memory is bytes that an endpoint knows. Peers that may write to it do so at any time: what they have written may be
// looked at once it is known to be there, from an Arrival, or from a message sent after their write was done.
type Memory struct {
	endpoint *Endpoint
	bytes    []byte
	buffer   uint32
	key      uint64
	stream   *Stream // it is the ring of a stream, and nobody else's
	users    int     // operations of Queues under way; of the loop
	arrivals arrivals
}

// Register makes memory known, by which peers may do what access says. The endpoint keeps b until Deregister.
func (e *Endpoint) Register(b []byte, access Access) (*Memory, error) {
	return e.RegisterKey(b, access, 0)
}

// newKey returns a key that nobody guesses by chance: one that a peer knew of this endpoint's predecessor at the same
// address names nothing here.
func (e *Endpoint) newKey(access Access) uint64 {
	key := splitmix.Next(&e.keys)&^core.IdempotentKey | 1<<62
	if access&core.Idempotent != 0 {
		key |= core.IdempotentKey
	}
	return key
}

// RegisterKey is Register with a key of the caller's choice, which must not be in use; 0: the endpoint chooses. Bit 63 is set in
// keys of memory with the access RemoteIdempotent, and in no others.
func (e *Endpoint) RegisterKey(b []byte, access Access, key uint64) (*Memory, error) {
	m := &Memory{endpoint: e, bytes: b}
	m.arrivals.waiter = e.driver.Waiter()
	var err error
	closed := e.do(func(core.Time) {
		if e.closed {
			err = ErrClosed
			return
		}
		if key == 0 && access != Local {
			key = e.newKey(access)
		}
		if m.buffer, m.key, err = e.host.RegisterRegion(core.Region{Bytes: b, Access: access, Key: key}); err != nil {
			err = wrap{ErrConfig, err}
			return
		}
		e.memories[m.key] = m
	})
	if err = firstOf(closed, err); err != nil {
		return nil, &OpError{Op: OpRegister, Err: err}
	}
	return m, nil
}

// Key is what peers name the memory by.
func (m *Memory) Key() uint64 { return m.key }

// Bytes are the bytes that were registered.
func (m *Memory) Bytes() []byte { return m.bytes }

// Deregister takes the memory back. Peers that use it from then on are refused with ErrKey. While operations of a Queue use
// it here, it is not taken back: ErrBusy. Further calls do nothing.
func (m *Memory) Deregister() (err error) {
	closed := m.endpoint.do(func(core.Time) {
		if m.users > 0 {
			err = &OpError{Op: OpRegister, Err: fmt.Errorf("%w: %d, with this memory", ErrBusy, m.users)}
			return
		}
		m.endpoint.host.Deregister(m.buffer)
		if all := m.endpoint.memories; all[m.key] == m { // else other memory has the key by now
			delete(all, m.key)
		}
		m.arrivals.end()
	})
	return firstOf(closed, err)
}

// A Slice is a part of registered memory, for a Queue's operations.
type Slice struct {
	memory         *Memory
	offset, length int
}

// Slice returns the bytes from offset on. It panics when they do not lie within the memory, as slicing does.
func (m *Memory) Slice(offset, length int) Slice {
	if offset < 0 || length < 0 || offset > len(m.bytes)-length {
		panic(fmt.Sprintf("transport: slice of %d bytes at %d of memory of %d", length, offset, len(m.bytes)))
	}
	return Slice{m, offset, length}
}

// Bytes are the bytes of the slice; none of the zero Slice.
func (s Slice) Bytes() []byte {
	if s.memory == nil {
		return nil
	}
	return s.memory.bytes[s.offset:][:s.length]
}

// An Arrival says that a peer has written to memory, with data.
type Arrival struct {
	From   *Peer
	Length int    // bytes written
	Data   uint64 // WithData
}

// arrivalsKept bounds the Arrivals of one memory that nobody asks for.
const arrivalsKept = 1 << 16

// arrivals is a queue of Arrivals. They come from the loop.
type arrivals struct {
	mu     sync.Mutex
	waiter core.Waiter
	queue  []core.Event
	taken  int // of queue
	lost   int
	ended  bool
}

func (a *arrivals) push(v *core.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.queue)-a.taken == arrivalsKept {
		a.lost++
		return
	}
	a.queue = append(a.queue, *v)
	a.waiter.Wake()
}

// pop takes the oldest. The caller holds mu, and knows that there is one. A little room is kept for the next.
func (a *arrivals) pop() core.Event {
	const kept = 64
	v := a.queue[a.taken]
	switch a.taken++; {
	case a.taken == len(a.queue) && cap(a.queue) > kept:
		a.queue, a.taken = nil, 0
	case a.taken == len(a.queue) || a.taken == arrivalsKept:
		a.queue, a.taken = append(a.queue[:0], a.queue[a.taken:]...), 0
	}
	return v
}

func (a *arrivals) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	a.waiter.Wake()
}

// Arrival waits for the next write with data to the memory; for one goroutine at a time. A memory keeps 65536 Arrivals;
// further ones are lost, and an error says so once.
func (m *Memory) Arrival(ctx context.Context) (Arrival, error) {
	a := &m.arrivals
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, a.waiter.Wake)()
	}
	for {
		a.mu.Lock()
		switch {
		case len(a.queue) > a.taken:
			v := a.pop()
			a.mu.Unlock()
			return Arrival{From: m.endpoint.peer(v.Peer), Length: int(v.Length), Data: v.Data}, nil
		case a.lost > 0:
			lost := a.lost
			a.lost = 0
			a.mu.Unlock()
			return Arrival{}, &OpError{Op: OpReceive, Err: fmt.Errorf("%w: %d arrivals were lost", ErrBusy, lost)}
		case a.ended:
			a.mu.Unlock()
			return Arrival{}, &OpError{Op: OpReceive, Err: ErrClosed}
		}
		a.mu.Unlock()
		if err := context.Cause(ctx); err != nil {
			return Arrival{}, &OpError{Op: OpReceive, Err: err}
		}
		if !a.waiter.Wait(core.Never) {
			a.end()
		}
	}
}
