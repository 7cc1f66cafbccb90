//go:build !linux

package live

import "time"

// A sleeper lets one goroutine sleep for a time, or until it is woken.
type sleeper struct {
	timer *time.Timer
	woken chan struct{}
}

func newSleeper() (*sleeper, error) {
	return &sleeper{time.NewTimer(time.Hour), make(chan struct{}, 1)}, nil
}

func (*sleeper) prepare() (ahead bool) { return false }

func (s *sleeper) sleep(d time.Duration) {
	s.timer.Reset(d)
	select {
	case <-s.timer.C:
	case <-s.woken:
	}
}

// sleepOr is the same: a lookout has goroutines that wake.
func (s *sleeper) sleepOr(d time.Duration, _ *lookout) { s.sleep(d) }

func (s *sleeper) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

func (s *sleeper) close() { s.timer.Stop() }

// processorTime and threadTime are known on Linux only.
func processorTime() time.Duration { return 0 }
func threadTime() time.Duration    { return 0 }
