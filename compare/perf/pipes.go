package perf

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// A pipe is one connection of a protocol of byte streams.
type pipe interface {
	io.ReadWriteCloser
	SetDeadline(t time.Time) error
}

// pipes is the end of protocols of byte streams: one pipe for each flow and direction, all dialled by the client.
//
//	client                     pipe                     server
//	greeting: direction, flow ─────────────────────────►
//	who begins: messages of Size bytes ────────────────►
//	            first byte 1: the last of a run
//	            ◄───────────────────── one byte: all is here
//
// In a ping-pong every message is answered by one as long.
type pipes struct {
	t     *Test
	place place

	mu      sync.Mutex
	all     [2][]pipe // by direction and flow
	left    int       // to come
	failed  error
	arrived chan struct{} // closed when all are there, or failed is set
	once    sync.Once

	accepting sync.WaitGroup
	dial      func(ctx context.Context, o offer) (pipe, error)
	mine      offer
	totals    func() Counters
	shut      func() error
}

const (
	greetingSize = 8
	chunkSize    = 256 << 10 // bytes of a read, at most
	lastOfRun    = 1
)

func newPipes(t *Test, p place) *pipes {
	e := &pipes{t: t, place: p, arrived: make(chan struct{})}
	for d := range e.all {
		e.all[d] = make([]pipe, t.Flows)
	}
	e.left = len(e.directions()) * t.Flows
	e.totals = func() Counters { return Counters{} }
	return e
}

// directions are 0, where the client begins operations, and 1, where the server does.
func (e *pipes) directions() []int {
	switch e.t.Direction {
	case Forward:
		return []int{0}
	case Reverse:
		return []int{1}
	}
	return []int{0, 1}
}

// accept takes pipes until all are there or next fails, which it must when the end is closed.
func (e *pipes) accept(next func() (pipe, error)) {
	e.accepting.Go(func() {
		for range e.left {
			p, err := next()
			if err != nil {
				e.settle(err)
				return
			}
			e.accepting.Go(func() {
				if err := e.greeted(p); err != nil {
					p.Close()
					e.settle(err)
				}
			})
		}
	})
}

// settle ends the wait for pipes.
func (e *pipes) settle(err error) {
	e.once.Do(func() {
		e.mu.Lock()
		e.failed = err
		e.mu.Unlock()
		close(e.arrived)
	})
}

func (e *pipes) greeted(p pipe) error {
	var b [greetingSize]byte
	p.SetDeadline(time.Now().Add(patience))
	if _, err := io.ReadFull(p, b[:]); err != nil {
		return err
	}
	p.SetDeadline(time.Time{})
	direction, flow := binary.BigEndian.Uint32(b[:4]), binary.BigEndian.Uint32(b[4:])
	e.mu.Lock()
	defer e.mu.Unlock()
	if direction > 1 || flow >= uint32(e.t.Flows) || e.all[direction][flow] != nil {
		return errors.New("a connection that does not belong to the test")
	}
	e.all[direction][flow] = p
	if e.left--; e.left == 0 {
		go e.settle(nil)
	}
	return nil
}

func (e *pipes) offer() offer { return e.mine }

// meet dials all pipes, or waits until all have come.
func (e *pipes) meet(ctx context.Context, o offer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("connections for data do not come through"))
	defer cancel()
	if !e.place.server {
		for _, d := range e.directions() {
			for i := range e.all[d] {
				p, err := e.dial(ctx, o)
				if err != nil {
					return fmt.Errorf("connection for data to %s: %w", o.Address, plain(err))
				}
				e.all[d][i] = p
				var b [greetingSize]byte
				binary.BigEndian.PutUint32(b[:4], uint32(d))
				binary.BigEndian.PutUint32(b[4:], uint32(i))
				if _, err := p.Write(b[:]); err != nil {
					return plain(err)
				}
			}
		}
		return nil
	}
	select {
	case <-e.arrived:
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.failed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// begins returns the pipe of a flow where this end begins operations, or where the other one does.
func (e *pipes) begins(here bool, flow int) pipe {
	d := 0
	if e.place.server == here {
		d = 1
	}
	return e.all[d][flow]
}

// bind ends reads and writes when ctx does.
func bind(ctx context.Context, p pipe) (undo func() bool) {
	return context.AfterFunc(ctx, func() { p.SetDeadline(time.Unix(1, 0)) })
}

func (e *pipes) source(ctx context.Context, flow int) (source, error) {
	s := &pipeSource{pipe: e.begins(true, flow), message: make([]byte, e.t.Size), ctx: ctx}
	bind(ctx, s.pipe)
	return s, nil
}

// A pipeSource writes messages. Each has ended when the pipe has taken it.
type pipeSource struct {
	ctx     context.Context
	pipe    pipe
	message []byte
	taken   int
}

func (s *pipeSource) post(n int) (int, error) {
	if _, err := s.pipe.Write(s.message); err != nil {
		return 0, ended(s.ctx, err)
	}
	s.taken++
	return 1, nil
}

func (s *pipeSource) wait() (n int, err error) {
	n, s.taken = s.taken, 0
	return n, nil
}

func (s *pipeSource) finish() error {
	s.message[0] = lastOfRun
	_, err := s.pipe.Write(s.message)
	s.message[0] = 0
	var answer [1]byte
	if err == nil {
		_, err = io.ReadFull(s.pipe, answer[:])
	}
	return ended(s.ctx, err)
}

// ended prefers the reason that a context has ended.
func ended(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

func (e *pipes) pinger(ctx context.Context, flow int) (func() error, error) {
	p, b := e.begins(true, flow), make([]byte, e.t.Size)
	bind(ctx, p)
	return func() error {
		_, err := p.Write(b)
		if err == nil {
			_, err = io.ReadFull(p, b)
		}
		return ended(ctx, err)
	}, nil
}

func (e *pipes) serve(ctx context.Context, flow int) error {
	p := e.begins(false, flow)
	defer bind(ctx, p)()
	if e.t.Metric == Latency {
		for b := make([]byte, e.t.Size); ; {
			if _, err := io.ReadFull(p, b); err != nil {
				return atEnd(err)
			}
			if _, err := p.Write(b); err != nil {
				return atEnd(err)
			}
		}
	}
	size := e.t.Size
	for b, at := make([]byte, max(min(size, chunkSize), 64<<10)), 0; ; { // at: within a message
		n, err := p.Read(b)
		for first := (size - at) % size; first < n; first += size {
			if b[first] != lastOfRun {
				continue
			}
			if _, err := io.CopyN(io.Discard, p, int64(size-(n-first))); err != nil {
				return atEnd(err)
			}
			at, n = 0, 0
			if _, err := p.Write([]byte{0}); err != nil {
				return atEnd(err)
			}
		}
		at = (at + n) % size
		if err != nil {
			return atEnd(err)
		}
	}
}

// atEnd is nil where the other end has closed the pipe: it says on the control connection why.
func atEnd(error) error { return nil }

func (e *pipes) counters() Counters { return e.totals() }

func (e *pipes) close() error {
	err := e.shut()
	for _, flows := range e.all {
		for _, p := range flows {
			if p != nil {
				p.Close()
			}
		}
	}
	e.accepting.Wait()
	return err
}
