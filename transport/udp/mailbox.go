package udp

import (
	"sync"
	"sync/atomic"

	"github.com/weft-transport/weft/transport/core"
)

// A mailbox brings calls from application goroutines into the loop. The loop looks at one atomic
// word a turn; a lock is taken only when there is mail.
type mailbox struct {
	mu      sync.Mutex
	letters []letter
	state   atomic.Uint32 // bits below
	reply   sync.Pool     // of chan struct{}
	taken   []letter      // of the loop
}

type letter struct {
	f    func(core.Time)
	done chan struct{}
}

// Bits of a mailbox's state.
const (
	hasMail = 1 << iota
	asleep  // the loop sleeps, or is about to
	closing
	running
)

// open notes that there is a loop.
func (m *mailbox) open() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state.Load()&(running|closing) != 0 {
		return ErrClosed
	}
	m.state.Or(running)
	return nil
}

// do brings f to the loop and waits until it has run. Before there is a loop, f runs here.
func (m *mailbox) do(f func(core.Time), wake func()) error {
	done, err := m.post(f, wake)
	if done != nil {
		m.await(done)
	}
	return err
}

// await returns when a letter has been dealt with.
func (m *mailbox) await(done chan struct{}) {
	<-done
	m.reply.Put(done)
}

// post puts f into the box; done is nil when f has run, or will not.
func (m *mailbox) post(f func(core.Time), wake func()) (done chan struct{}, err error) {
	m.mu.Lock()
	state := m.state.Load()
	if state&closing != 0 {
		m.mu.Unlock()
		return nil, ErrClosed
	}
	if state&running == 0 {
		defer m.mu.Unlock()
		f(0)
		return nil, nil
	}
	done = m.reply.Get().(chan struct{})
	m.letters = append(m.letters, letter{f, done})
	m.state.Or(hasMail)
	if m.state.Load()&asleep != 0 {
		wake() // under the lock: after close nobody wakes what is no more
	}
	m.mu.Unlock()
	return done, nil
}

// nudge ends the sleep of whoever drives.
func (m *mailbox) nudge(wake func()) {
	if m.state.Load()&asleep == 0 {
		return
	}
	m.mu.Lock()
	if m.state.Load()&closing == 0 {
		wake() // under the lock, as in post
	}
	m.mu.Unlock()
}

// pending tells whether the loop has mail, or is to end.
func (m *mailbox) pending() bool { return m.state.Load()&(hasMail|closing) != 0 }

// run runs what is in the box, on the loop; false when the loop is to end.
func (m *mailbox) run(now core.Time) bool {
	m.mu.Lock()
	m.taken, m.letters = m.letters, m.taken[:0]
	m.state.And(^uint32(hasMail))
	ending := m.state.Load()&closing != 0
	m.mu.Unlock()
	for i, l := range m.taken {
		l.f(now)
		l.done <- struct{}{}
		m.taken[i] = letter{}
	}
	return !ending
}

// close lets no more mail in. It tells whether there is a loop, and whether it was the first to close.
func (m *mailbox) close(wake func()) (loop, first bool) {
	m.mu.Lock()
	before := m.state.Or(closing)
	loop, first = before&running != 0, before&closing == 0
	if loop && first {
		wake()
	}
	m.mu.Unlock()
	return loop, first
}
