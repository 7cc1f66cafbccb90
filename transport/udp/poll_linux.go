package udp

import (
	"encoding/binary"
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A poller is where a loop sleeps: until a socket can be read, a time has come, or somebody wakes it.
//
// Its epoll set holds the sockets, an eventfd and a timerfd, and is itself watched by the poller of
// the Go runtime, so that a sleeping loop is a parked goroutine and occupies no thread. A timerfd
// because the runtime rounds waits below a millisecond up to one (docs/PERFORMANCE.md). Sockets are watched only while
// the loop sleeps: else every packet for a loop that polls would wake a thread of the runtime.
type poller struct {
	file   *os.File // the epoll set
	raw    syscall.RawConn
	set    int
	event  int
	timer  int
	start  time.Time
	armed  time.Duration // since start, when the timer goes off; 0: it is off
	ready  int           // events of the last look
	look   func(uintptr) bool
	events [16]unix.EpollEvent
	ctl    unix.EpollEvent
	word   [8]byte
	spec   unix.ItimerSpec
}

// Tokens of the two descriptors that are not sockets.
const (
	tokenEvent = -1
	tokenTimer = -2
)

func newPoller() (*poller, error) {
	p := &poller{set: -1, event: -1, timer: -1, start: time.Now()}
	err := p.open()
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *poller) open() (err error) {
	if p.set, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	if p.event, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
		return os.NewSyscallError("eventfd", err)
	}
	if p.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC); err != nil {
		return os.NewSyscallError("timerfd_create", err)
	}
	if err = errors.Join(p.add(p.event, tokenEvent, true), p.add(p.timer, tokenTimer, true), unix.SetNonblock(p.set, true)); err != nil {
		return err
	}
	p.file = os.NewFile(uintptr(p.set), "epoll")
	p.raw, err = p.file.SyscallConn()
	p.look = func(uintptr) bool { return p.peek() > 0 }
	return err
}

// add makes a descriptor known; token comes back from wait once it is watched and can be read.
func (p *poller) add(fd int, token int32, watched bool) error {
	p.ctl = unix.EpollEvent{Fd: token}
	if watched {
		p.ctl.Events = unix.EPOLLIN
	}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(p.set, unix.EPOLL_CTL_ADD, fd, &p.ctl))
}

// watch has the next wait end when fd can be read, once, or no longer.
func (p *poller) watch(fd int, token int32, on bool) {
	p.ctl = unix.EpollEvent{Fd: token}
	if on {
		p.ctl.Events = unix.EPOLLIN | unix.EPOLLONESHOT
	}
	unix.EpollCtl(p.set, unix.EPOLL_CTL_MOD, fd, &p.ctl)
}

// peek collects what is ready now.
func (p *poller) peek() int {
	n, err := unix.EpollWait(p.set, p.events[:], 0)
	if err != nil {
		n = 0 // EINTR: looked at again
	}
	p.ready = n
	return n
}

// wait sleeps for at most d, less if it was asked to before, forever if d is negative, and returns the tokens of sockets
// that can be read; they are valid until the next call.
func (p *poller) wait(d time.Duration) []unix.EpollEvent {
	p.arm(d)
	if err := p.raw.Read(p.look); err != nil {
		return nil
	}
	ready := p.events[:0]
	for _, v := range p.events[:p.ready] {
		switch v.Fd {
		case tokenEvent:
			unix.Read(p.event, p.word[:])
		case tokenTimer:
			unix.Read(p.timer, p.word[:])
			p.armed = 0
		default:
			ready = append(ready, v)
		}
	}
	return ready
}

// arm sets the timer, unless it will go off before that anyway: deadlines mostly move on, an early look does no harm,
// and setting a timer costs more than the rest of going to sleep.
func (p *poller) arm(d time.Duration) {
	if d < 0 {
		return
	}
	d = max(d, 1)
	at := time.Since(p.start) + d
	if p.armed != 0 && p.armed <= at {
		return
	}
	p.armed = at
	p.spec.Value = unix.NsecToTimespec(int64(d))
	unix.TimerfdSettime(p.timer, 0, &p.spec, nil)
}

// wake ends a wait, the present one or the next. Safe for concurrent use until close.
func (p *poller) wake() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	unix.Write(p.event, one[:])
}

func (p *poller) close() {
	if p.file != nil {
		p.file.Close()
	} else if p.set >= 0 {
		unix.Close(p.set)
	}
	for _, fd := range [...]int{p.event, p.timer} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}
