package perf

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A session is one Test at one end.
type session struct {
	c      *control
	t      *Test
	end    end
	server bool
	live   func(Interval) // of operations that began here

	mu      sync.Mutex
	from    snapshot
	usage   Usage
	serving context.Context
	stop    context.CancelCauseFunc
	tasks   sync.WaitGroup
}

// A snapshot is what had been used at one time.
type snapshot struct {
	cpu      time.Duration
	machine  time.Duration
	counters Counters
}

func (s *session) snapshot() snapshot {
	return snapshot{processorTime(), machineTime(), s.end.counters()}
}

// mark notes the beginning or the end of what is measured.
func (s *session) mark(begin bool) {
	now := s.snapshot()
	s.mu.Lock()
	defer s.mu.Unlock()
	if begin {
		s.from = now
	} else {
		s.usage = Usage{now.cpu - s.from.cpu, now.machine - s.from.machine, now.counters.minus(s.from.counters)}
	}
}

func (s *session) used() *Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.usage
	return &u
}

// serve begins to serve all flows if the other end begins operations.
func (s *session) serve() {
	s.serving, s.stop = context.WithCancelCause(s.c.ctx)
	if !s.t.initiates(!s.server) {
		return
	}
	for i := range s.t.Flows {
		s.tasks.Go(func() {
			if err := s.end.serve(s.serving, i); err != nil && s.serving.Err() == nil {
				s.c.say(message{Kind: sayError, Text: err.Error()})
				s.c.cancel(err)
			}
		})
	}
}

// measure begins operations here, and tells the other end when.
func (s *session) measure(ctx context.Context) (Summary, error) {
	r := run{t: s.t, e: s.end, interval: s.live, mark: func(begin bool) {
		kind := sayEnd
		if begin {
			kind = sayBegin
		}
		s.mark(begin)
		s.c.say(message{Kind: kind})
	}}
	return r.measure(ctx)
}

// shut ends an end's part.
func (s *session) shut() {
	if s.stop != nil {
		s.stop(context.Canceled)
	}
	if s.end != nil {
		s.end.close()
	}
	s.tasks.Wait()
}

// reason turns the end of a context into what happened.
func (s *session) reason(err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(s.c.ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// fail tells the other end why it cannot go on.
func (s *session) fail(err error) error {
	var theirs errTheirs
	if err = s.reason(err); !errors.Is(err, errGone) && !errors.As(err, &theirs) {
		s.c.say(message{Kind: sayError, Text: err.Error()})
	}
	return err
}

// open makes the end.
func (s *session) open(p place) error {
	protocol, err := s.t.protocol()
	if err != nil {
		return err
	}
	p.server = s.server
	if s.end, err = protocol.open(s.c.ctx, p, s.t); err != nil {
		return fmt.Errorf("%s: %w", s.t.Protocol, err)
	}
	return nil
}
