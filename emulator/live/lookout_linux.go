package live

import (
	"net"
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A lookout knows the sockets that datagrams enter the network by. The loop reads them itself, between its other steps: there is no
// thread to be woken, which takes longer than all the rest, and while it does something else, datagrams gather for the next call.
type lookout struct {
	epoll  int
	events [8]unix.EpollEvent // no more sockets at a time: the network must go on
	ready  int                // of these
	in     *intake
	stuck  []*inlet // they wait for room in front of a link, and are not watched

	mu     sync.Mutex
	inlets map[int32]*inlet
	last   int32 // number that one got
	ended  bool
}

func newLookout() (*lookout, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return &lookout{epoll: epoll, in: newIntake(), inlets: make(map[int32]*inlet)}, nil
}

// add begins to read from the socket of an inlet.
func (l *lookout) add(i *inlet) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	i.number = l.last
	l.inlets[i.number] = i
	err := l.watch(i)
	if err != nil {
		delete(l.inlets, i.number)
	}
	return err
}

// watch has peek tell when there is something to read. The caller holds mu.
func (l *lookout) watch(i *inlet) (err error) {
	if l.ended {
		return ErrClosed
	}
	open := i.socket.do(func(fd int) {
		err = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: i.number})
	})
	if !open {
		err = net.ErrClosed
	}
	return err
}

// remove forgets an inlet, whose socket is closed.
func (l *lookout) remove(i *inlet) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.inlets, i.number)
}

// The loop's part. It may be nil.

// peek tells whether poll has something to do.
func (l *lookout) peek() bool {
	if l == nil {
		return false
	}
	if l.ready == 0 {
		n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(l.epoll), uintptr(unsafe.Pointer(&l.events)), uintptr(len(l.events)), 0, 0, 0)
		if errno == 0 {
			l.ready = int(n)
		}
	}
	return l.ready > 0 || slices.ContainsFunc(l.stuck, (*inlet).free)
}

// poll carries what there is into the network.
func (l *lookout) poll() {
	if !l.peek() {
		return
	}
	l.stuck = slices.DeleteFunc(l.stuck, func(i *inlet) bool {
		passed := i.pass()
		if passed {
			l.mu.Lock()
			_ = l.watch(i) // it fails when the socket is closed
			l.mu.Unlock()
		}
		return passed
	})
	for _, e := range l.events[:l.ready] {
		l.mu.Lock()
		i := l.inlets[e.Fd]
		l.mu.Unlock()
		if i == nil || !i.carry(l.in) || len(i.waiting) == 0 {
			continue
		}
		l.stuck = append(l.stuck, i)
		i.socket.do(func(fd int) { _ = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_DEL, fd, nil) })
	}
	l.ready = 0
}

// descriptor can be waited for.
func (l *lookout) descriptor() int {
	if l == nil {
		return -1
	}
	return l.epoll
}

// close is for the end of the loop.
func (l *lookout) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	_ = unix.Close(l.epoll)
}
