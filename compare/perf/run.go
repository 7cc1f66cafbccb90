package perf

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A run is a Test at an end that begins operations.
type run struct {
	t        *Test
	e        end
	mark     func(begin bool)
	interval func(Interval)

	flows []flow
	stop  atomic.Bool // no further operations
	keep  atomic.Bool // latencies count
}

// A flow is what one goroutine does; the others only read done.
type flow struct {
	source source
	ping   func() error
	trips  *hdrhistogram.Histogram
	done   atomic.Int64 // operations that have ended
	_      [64]byte     // of a cache line of its own
}

// drainTime bounds how long no operation may end of those that are under way when a test is over.
const drainTime = 20 * time.Second

// measure runs the Test. The Summary holds what was measured also when there is an error.
func (r *run) measure(ctx context.Context) (s Summary, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.flows = make([]flow, r.t.Flows)
	for i := range r.flows {
		f := &r.flows[i]
		if r.t.Metric == Latency {
			f.trips = newHistogram()
			f.ping, err = r.e.pinger(ctx, i)
		} else {
			f.source, err = r.e.source(ctx, i)
		}
		if err != nil {
			return s, err
		}
	}
	if r.t.Iterations > 0 {
		s, err = r.counted(ctx, cancel)
	} else {
		s, err = r.timed(ctx, cancel)
	}
	s.Bytes = s.Operations * int64(r.t.Size)
	if r.t.Metric == Latency {
		all := newHistogram()
		for i := range r.flows {
			all.Merge(r.flows[i].trips)
		}
		parts := 1.0
		if r.t.answered() {
			parts = 2
		}
		s.Latency = distribution(all, parts)
	}
	return s, err
}

// timed measures for Duration, with operations under way at its beginning and its end.
func (r *run) timed(ctx context.Context, cancel context.CancelCauseFunc) (s Summary, err error) {
	running := r.start(ctx, cancel, false)
	pause(ctx, r.t.Warmup)
	m := r.begin()
	m.watch(ctx, r.t.Duration)
	s = m.end()
	s.Cut = ctx.Err() != nil
	r.stop.Store(true)
	return s, running()
}

// counted measures Iterations, from the first beginning to the last end.
func (r *run) counted(ctx context.Context, cancel context.CancelCauseFunc) (s Summary, err error) {
	if r.t.Warmup > 0 {
		running := r.start(ctx, cancel, false)
		pause(ctx, r.t.Warmup)
		r.stop.Store(true)
		if err := running(); err != nil {
			return s, err
		}
		r.stop.Store(false)
	}
	m := r.begin()
	running := r.start(ctx, cancel, true)
	over, finished := context.WithCancel(ctx)
	defer finished()
	result := make(chan error, 1)
	go func() {
		result <- running()
		finished()
	}()
	m.watch(over, MaxDuration)
	s = m.end()
	s.Cut = ctx.Err() != nil
	r.stop.Store(true)
	return s, <-result
}

// start lets all flows run, and returns a function that waits for their end.
func (r *run) start(ctx context.Context, cancel context.CancelCauseFunc, counted bool) (wait func() error) {
	var all sync.WaitGroup
	var failed atomic.Pointer[error]
	for i := range r.flows {
		all.Go(func() {
			limit := int64(-1)
			if counted {
				limit = r.t.share(i)
			}
			f := &r.flows[i]
			err := error(nil)
			if f.ping != nil {
				err = r.pings(f, limit)
			} else {
				err = r.keepBusy(f, limit)
			}
			if err != nil && failed.CompareAndSwap(nil, &err) {
				cancel(err)
			}
		})
	}
	return func() error {
		over := make(chan struct{})
		go func() {
			all.Wait()
			close(over)
		}()
		r.drain(over, drainTime, cancel)
		if err := failed.Load(); err != nil {
			return *err
		}
		return nil
	}
}

// drain waits until over, and gives up when a test is to end and nothing ends for a while.
func (r *run) drain(over <-chan struct{}, patience time.Duration, cancel context.CancelCauseFunc) {
	look := time.NewTicker(patience)
	defer look.Stop()
	for before := int64(-1); ; {
		select {
		case <-over:
			return
		case <-look.C:
		}
		done := r.total()
		if r.stop.Load() && done == before {
			cancel(errors.New("operations that are under way do not end"))
		}
		before = done
	}
}

// keepBusy keeps Depth operations under way until limit have begun (-1: any number) or stop is set, and waits for the
// last of them.
func (r *run) keepBusy(f *flow, limit int64) error {
	depth, begun, under := r.t.Depth, int64(0), 0
	for {
		more := !r.stop.Load() && (limit < 0 || begun < limit)
		if room := depth - under; more && room > 0 {
			if limit >= 0 {
				room = int(min(int64(room), limit-begun))
			}
			n, err := f.source.post(room)
			if err != nil {
				return err
			}
			begun, under = begun+int64(n), under+n
		}
		if under == 0 {
			if more {
				continue
			}
			return f.source.finish()
		}
		n, err := f.source.wait()
		if err != nil {
			return err
		}
		under -= n
		f.done.Add(int64(n))
	}
}

// pings carries out one operation after the other.
func (r *run) pings(f *flow, limit int64) error {
	last := time.Now()
	for n := int64(0); !r.stop.Load() && (limit < 0 || n < limit); n++ {
		if err := f.ping(); err != nil {
			return err
		}
		now := time.Now()
		if r.keep.Load() {
			f.trips.RecordValue(min(int64(now.Sub(last)), longest))
			f.done.Add(1)
		}
		last = now
	}
	return nil
}

// pause sleeps, unless ctx ends.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
