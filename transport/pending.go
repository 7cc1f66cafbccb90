package transport

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// A pending is an operation between its beginning and its event. It belongs to a call that waits for it, to a Queue,
// or, when its call was given up, to nobody.
type pending struct {
	call   *call
	queue  *Queue
	stream *Stream
	part   span                // of the stream, that a remote write carries
	then   func(v *core.Event) // of the endpoint itself, for set-up
	peer   *Peer
	stage  *stage  // memory that goes back when nobody waits any more
	memory *Memory // of the application, which is in use
	user   uint64  // Request.User
	uses   uint32  // so that a cookie is not used twice
	next   uint32  // in the free list
	op     Op
	busy   bool
	own    bool // of the endpoint itself
}

// cookie is what the Host knows an operation by.
func (e *Endpoint) cookie(i uint32) uint64 {
	if i >= uint32(len(e.pending)) {
		return 0
	}
	return uint64(e.pending[i].uses)<<32 | uint64(i)
}

// begin takes a place for an operation of the application; 0: there is none, or others wait for it.
func (e *Endpoint) begin(op Op) uint32 {
	if e.open == e.cfg.MaxPending {
		return 0
	}
	e.open++
	return e.place(op, false)
}

// beginOwn takes a place for an operation of the endpoint itself, which does not count.
func (e *Endpoint) beginOwn(op Op) uint32 { return e.place(op, true) }

func (e *Endpoint) place(op Op, own bool) uint32 {
	i := e.free
	if i != 0 {
		e.free = e.pending[i].next
	} else {
		i = uint32(len(e.pending))
		e.pending = append(e.pending, pending{})
	}
	e.pending[i] = pending{uses: e.pending[i].uses + 1, op: op, busy: true, own: own}
	if op != OpReceive {
		e.unfinished++
	}
	return i
}

// finish ends an operation and tells whoever waits for it.
func (e *Endpoint) finish(i uint32, v *core.Event) {
	p := e.pending[i] // a copy: what is told may begin others
	e.release(i)
	switch {
	case p.call != nil:
		p.call.event = *v
		p.call.done.Store(true)
		p.call.waiter.Wake()
	case p.queue != nil:
		p.queue.push(e, &p, v)
	case p.stream != nil:
		p.stream.ended(v, p.part)
	case p.then != nil:
		p.then(v)
	case p.stage != nil:
		e.putStage(p.stage)
	}
}

func (e *Endpoint) release(i uint32) {
	own := e.pending[i].own
	if e.pending[i].op != OpReceive {
		e.unfinished--
	}
	if m := e.pending[i].memory; m != nil {
		m.users--
	}
	e.pending[i] = pending{uses: e.pending[i].uses, next: e.free}
	e.free = i
	if !own {
		e.passOn()
	}
}

// passOn gives a place that became free to the call that waits for one longest, so that nobody overtakes it.
func (e *Endpoint) passOn() {
	if len(e.starved) == 0 {
		e.open--
		return
	}
	c := e.starved[0]
	e.starved = append(e.starved[:0], e.starved[1:]...)
	c.granted = true
	c.waiter.Wake()
}

// A call is one blocking operation: a place to wait, and the event that ends it.
type call struct {
	waiter core.Waiter
	event  core.Event
	done   atomic.Bool
	// Of the loop, while it waits for a place:
	queued, granted bool
}

func (e *Endpoint) takeCall() *call {
	e.mu.Lock()
	defer e.mu.Unlock()
	if n := len(e.calls); n > 0 {
		c := e.calls[n-1]
		e.calls = e.calls[:n-1]
		c.done.Store(false)
		c.event = core.Event{}
		return c
	}
	return &call{waiter: e.driver.Waiter()}
}

func (e *Endpoint) putCall(c *call) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls = append(e.calls, c)
}

// An action is a blocking operation.
type action struct {
	op    Op
	peer  *Peer  // nil: none
	stage *stage // its memory; nil: none
	// start asks the Host for it under a cookie, where it is driven.
	start func(now core.Time, cookie uint64) error
	// cancel takes it back; nil: that cannot be done.
	cancel func(cookie uint64) bool
}

// cancelAgain is how long a receive, whose context has ended, waits for the message that it has a part of, before it looks
// whether the message was given up.
const cancelAgain = 10 * instant.Millisecond

// run carries a blocking operation out and gives its memory back. When ctx ends before it, it is taken back; what is
// under way of it then ends by itself.
func (e *Endpoint) run(ctx context.Context, a *action, take func(v *core.Event)) error {
	c := e.takeCall()
	defer e.putCall(c)
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, c.waiter.Wake)()
	}
	i, err := e.startWhenRoom(ctx, a, c)
	if err == nil {
		err = e.await(ctx, a, c, i)
	}
	if err == nil {
		if take != nil {
			take(&c.event)
		}
		err = reason(&c.event)
	}
	if a.stage != nil {
		e.putStage(a.stage)
	}
	if err == nil {
		return nil
	}
	if c.done.Load() && e.isClosed() {
		err = ErrClosed
	}
	o := &OpError{Op: a.op, Remote: c.event.Remote, Err: err}
	if a.peer != nil {
		o.Peer = a.peer.Name()
	}
	return o
}

func (e *Endpoint) isClosed() (closed bool) {
	return e.do(func(core.Time) { closed = e.closed }) != nil || closed
}

// startWhenRoom begins an operation, and waits until there is room for one.
func (e *Endpoint) startWhenRoom(ctx context.Context, a *action, c *call) (i uint32, err error) {
	if err = context.Cause(ctx); err != nil {
		return 0, err // nothing has begun
	}
	for {
		full := false
		closed := e.do(func(now core.Time) {
			if e.closed || e.draining && !c.queued && !c.granted {
				err = ErrClosed
				return
			}
			switch {
			case c.granted:
				i = e.place(a.op, false)
			case !c.queued:
				i = e.begin(a.op)
			}
			if full = i == 0; full {
				if !c.queued {
					c.queued = true
					e.starved = append(e.starved, c)
				}
				return
			}
			c.queued, c.granted = false, false
			if a.peer != nil {
				err = a.peer.usable()
			}
			if err == nil {
				err = a.start(now, e.cookie(i))
			}
			if err != nil {
				e.release(i)
				return
			}
			e.pending[i].call, e.pending[i].stage = c, a.stage
		})
		if err == errEvicted && closed == nil {
			if err = e.redial(a.peer); err == nil {
				continue
			}
		}
		if closed != nil || err != nil || !full {
			return i, firstOf(closed, err)
		}
		c.waiter.Wait(core.Never)
		if err = context.Cause(ctx); err != nil {
			e.do(func(core.Time) {
				e.starved = slices.DeleteFunc(e.starved, func(x *call) bool { return x == c })
				if c.granted {
					e.passOn()
				}
				c.queued, c.granted = false, false
			})
			return 0, err
		}
	}
}

// await waits for the end of operation i. When ctx ends first, it is taken back or left alone.
func (e *Endpoint) await(ctx context.Context, a *action, c *call, i uint32) error {
	until := core.Never
	for !c.done.Load() {
		woken := c.waiter.Wait(until)
		if c.done.Load() {
			break
		}
		err := context.Cause(ctx)
		if err == nil && woken {
			continue
		}
		left := false
		gone := e.do(func(now core.Time) {
			if !c.done.Load() {
				left = e.takeBack(now, a, i)
				until = now + cancelAgain
			}
		})
		if gone != nil {
			return ErrClosed
		}
		if left {
			return firstOf(err, ErrClosed)
		}
	}
	return nil
}

// takeBack ends operation i for its caller; false if it must be waited for.
func (e *Endpoint) takeBack(now core.Time, a *action, i uint32) bool {
	cookie := e.cookie(i)
	if a.cancel == nil { // its packets under way need the stage, which comes back with its event
		e.pending[i].call, a.stage = nil, nil
		e.host.Cancel(now, cookie)
		return true
	}
	if !a.cancel(cookie) {
		return false
	}
	e.pending[i].call, e.pending[i].stage = nil, nil
	e.release(i)
	return true
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
