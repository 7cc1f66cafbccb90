package transport

import (
	"context"
	"fmt"
	"sync"

	"github.com/weft-transport/weft/transport/core"
)

// A Request is an operation for a Queue.
type Request struct {
	Op     Op     // OpWrite, OpRead, OpAtomic, OpFetchAtomic, OpSend, OpTaggedSend, OpDatagram or OpReceive
	Peer   *Peer  // of all but OpReceive
	Local  Slice  // where bytes come from or go to; it belongs to the endpoint until the Completion
	Remote Remote // where they go to or come from; Key is the tag of OpTaggedSend
	Match  Match  // of OpReceive
	User   uint64 // comes back in the Completion

	Options []Option // see there
	// Of atomics: the operation, and its operand; of compare-and-swap also what is compared.
	Atomic           AtomicOp
	Type             DataType
	Operand, Compare uint64
}

// A Completion says that an operation of a Queue is over.
type Completion struct {
	Op      Op
	User    uint64
	Err     error   // nil: it was carried out; an *OpError
	Message Message // what an OpReceive has got
	Fetched uint64  // what an OpFetchAtomic found
}

// A Queue keeps operations under way, and collects their Completions. One goroutine waits in it at a time; Post is safe
// for concurrent use.
type Queue struct {
	endpoint *Endpoint
	depth    int
	waiter   core.Waiter

	posting sync.Mutex
	batch   batch

	mu   sync.Mutex
	done []Completion
	used int // operations under way, and Completions that were not collected
}

// A batch is what one Post brings to the loop; a Queue has one, so that Post allocates nothing. It is guarded by posting.
type batch struct {
	requests []Request
	n        int
	err      error
	message  core.Message        // the one that is begun
	begin    func(now core.Time) // all of them
	full     *OpError            // that there is no room, as it was said last
}

// NewQueue makes a queue for so many operations at once, those included whose Completion was not collected.
func (e *Endpoint) NewQueue(depth int) *Queue {
	q := &Queue{endpoint: e, depth: max(depth, 1), waiter: e.driver.Waiter()}
	q.batch.full = new(OpError)
	q.batch.begin = func(now core.Time) {
		b := &q.batch
		for b.n < len(b.requests) && b.err == nil {
			if b.err = q.post(now, &b.requests[b.n]); b.err == nil {
				b.n++
			}
		}
	}
	return q
}

// Post begins operations, and returns how many. The error, an *OpError, says what is wrong with the next: ErrBusy if there
// is no room for it until Completions are collected. It never blocks.
func (q *Queue) Post(requests ...Request) (n int, err error) {
	q.posting.Lock()
	defer q.posting.Unlock()
	q.mu.Lock()
	room := min(q.depth-q.used, len(requests))
	q.used += room
	q.mu.Unlock()
	b := &q.batch
	b.requests, b.n, b.err = requests[:room], 0, nil
	closed := q.endpoint.do(b.begin)
	for closed == nil && b.err == errEvicted {
		if b.err = q.endpoint.redial(requests[b.n].Peer); b.err == nil {
			closed = q.endpoint.do(b.begin)
		}
	}
	n, err = b.n, firstOf(closed, b.err)
	b.requests, b.err = nil, nil
	q.mu.Lock()
	q.used -= room - n
	idle := q.used == 0
	q.mu.Unlock()
	if idle {
		q.waiter.Wake() // who waits there has nothing to wait for
	}
	if err == nil && n == len(requests) || len(requests) == 0 {
		return n, err
	}
	r := &requests[min(n, len(requests)-1)]
	peer := ""
	if r.Peer != nil {
		peer = r.Peer.name // as it was dialled: to ask the Driver would be a way round for each time the queue is full
	}
	if err != nil {
		return n, &OpError{Op: r.Op, Peer: peer, Err: err}
	}
	if b.full.Op != r.Op || b.full.Peer != peer || b.full.Err == nil {
		b.full = &OpError{Op: r.Op, Peer: peer, Err: errFull}
	}
	return n, b.full
}

var errFull = fmt.Errorf("%w: the queue is full", ErrBusy)

// post begins one operation. It runs where the Host is driven.
func (q *Queue) post(now core.Time, r *Request) error {
	e := q.endpoint
	if e.closed || e.draining {
		return ErrClosed
	}
	i := e.begin(r.Op)
	if i == 0 {
		return fmt.Errorf("%w: %d operations of the endpoint", ErrBusy, e.cfg.MaxPending)
	}
	e.pending[i].queue, e.pending[i].peer, e.pending[i].user = q, r.Peer, r.User
	err := q.start(now, r, e.cookie(i))
	if err != nil {
		e.release(i)
		return err
	}
	if m := r.Local.memory; m != nil {
		e.pending[i].memory = m
		m.users++
	}
	return nil
}

func (q *Queue) start(now core.Time, r *Request, cookie uint64) error {
	e := q.endpoint
	local := r.Local.memory
	if local != nil && local.endpoint != e {
		return fmt.Errorf("%w: memory of another endpoint", ErrConfig)
	}
	buffer := uint32(0)
	if local != nil {
		buffer = local.buffer
	}
	if r.Op == OpReceive {
		v, err := r.Match.receive(e, uint64(r.Local.length))
		if err != nil {
			return err
		}
		v.Buffer, v.Offset, v.Cookie = buffer, uint64(r.Local.offset), cookie
		return mistake(e.host.PostReceive(now, v))
	}
	if r.Op > OpDatagram {
		return fmt.Errorf("%w: no operation of a queue", ErrConfig)
	}
	if r.Peer == nil || r.Peer.endpoint != e {
		return fmt.Errorf("%w: a request needs a peer of the same endpoint", ErrConfig)
	}
	if err := r.Peer.usable(); err != nil {
		return err
	}
	m := &q.batch.message
	*m = core.Message{To: r.Peer.addr, Op: coreOps[r.Op], Buffer: buffer, Offset: uint64(r.Local.offset), Length: uint64(r.Local.length),
		RemoteKey: r.Remote.Key, RemoteOffset: r.Remote.Offset, Cookie: cookie, Atomic: r.Atomic, Type: r.Type, Operand: r.Operand, Data: r.Compare}
	if r.Op == OpDatagram {
		m.Mode = core.UUD
	}
	for _, o := range r.Options {
		o(m)
	}
	return mistake(e.host.Send(now, *m))
}

var coreOps = [...]core.Op{core.OpWrite, core.OpRead, core.OpAtomic, core.OpFetchAtomic, core.OpSend, core.OpTaggedSend, core.OpDatagram}

// push adds a Completion. It runs where the Host is driven.
func (q *Queue) push(e *Endpoint, p *pending, v *core.Event) {
	c := Completion{Op: p.op, User: p.user}
	if p.op == OpReceive && v.Err != core.Cancelled {
		c.Message = e.message(v)
	}
	if p.op == OpFetchAtomic {
		c.Fetched = v.Data
	}
	err := reason(v)
	if e.closed {
		err = ErrClosed
	}
	if err != nil {
		o := &OpError{Op: p.op, Remote: v.Remote, Err: err}
		if p.peer != nil {
			o.Peer = p.peer.name // the Driver must not be asked here
		}
		c.Err = o
	}
	q.mu.Lock()
	q.done = append(q.done, c)
	q.mu.Unlock()
	q.waiter.Wake()
}

// Cancel takes back what is under way, as the end of a context does in the blocking form, and returns how much of it has not
// ended yet. Everything has its Completion: with context.Canceled, unless it turns out to be carried out. Receives that
// nothing has come for, and what has not begun, end at once; the rest when what is under way of it has been answered. A
// receive whose message is then given up by its sender waits again, until the next Cancel. The queue takes new operations.
func (q *Queue) Cancel() (left int) {
	e := q.endpoint
	e.do(func(now core.Time) {
		for i := 1; i < len(e.pending); i++ {
			p := &e.pending[i]
			if !p.busy || p.queue != q {
				continue
			}
			cookie := e.cookie(uint32(i))
			if p.op != OpReceive {
				e.host.Cancel(now, cookie)
			} else if e.host.CancelReceive(cookie) {
				e.finish(uint32(i), &core.Event{Err: core.Cancelled, Cookie: cookie})
			}
		}
		e.notify(now)
		for i := range e.pending {
			if e.pending[i].busy && e.pending[i].queue == q {
				left++
			}
		}
	})
	return left
}

// Poll moves Completions into buf, oldest first, and returns how many. It never blocks.
func (q *Queue) Poll(buf []Completion) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := copy(buf, q.done)
	q.done = append(q.done[:0], q.done[n:]...)
	q.used -= n
	return n
}

// Wait is Poll that waits for a Completion. It returns 0 when ctx ended, and when nothing is under way. What is under way
// then goes on; Cancel takes it back.
func (q *Queue) Wait(ctx context.Context, buf []Completion) (int, error) {
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, q.waiter.Wake)()
	}
	for {
		if n := q.Poll(buf); n > 0 || len(buf) == 0 || q.idle() {
			return n, nil
		}
		if err := context.Cause(ctx); err != nil {
			return 0, err
		}
		if !q.waiter.Wait(core.Never) {
			return 0, ErrClosed
		}
	}
}

func (q *Queue) idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.used == 0
}
