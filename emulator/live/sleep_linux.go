package live

import (
	"encoding/binary"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A sleeper lets one thread sleep for a time, or until it is woken. Go's timers are a millisecond coarse when the
// process is idle; ppoll with a timer slack of a nanosecond is as exact as the kernel's clock.
type sleeper struct{ event int }

func newSleeper() (*sleeper, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	return &sleeper{fd}, err
}

// prepare is called on the thread that sleeps. Where the system lets it (CAP_SYS_NICE), and there is another processor for
// the programs, the thread goes ahead of all others that are not real-time ones either: it is the clock.
func (*sleeper) prepare() (ahead bool) {
	first := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
	ahead = runtime.NumCPU() > 1 && unix.SchedSetAttr(0, &first, 0) == nil
	if !ahead {
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, -15) // of this thread
	}
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // without it sleeps are 50 us longer, and that is measured
	return ahead
}

// sleep keeps the thread's place among those that run Go when it is short: else others could take it, and, stopped by the
// system, keep it.
func (s *sleeper) sleep(d time.Duration) { s.sleepOr(d, nil) }

// sleepOr ends when there is something to read, too.
func (s *sleeper) sleepOr(d time.Duration, l *lookout) {
	const short = time.Millisecond
	t := unix.NsecToTimespec(int64(d))
	s.poll(l.descriptor(), &t, d <= short)
}

// await sleeps until there is something to read from a file, if one is given, or it is woken.
func (s *sleeper) await(fd int) { s.poll(fd, nil, false) }

func (s *sleeper) poll(fd int, t *unix.Timespec, raw bool) {
	fds := [2]unix.PollFd{{Fd: int32(s.event), Events: unix.POLLIN}, {Fd: int32(fd), Events: unix.POLLIN}}
	call := unix.Syscall6
	if raw {
		call = unix.RawSyscall6
	}
	n, _, errno := call(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds)), uintptr(len(fds)), uintptr(unsafe.Pointer(t)), 0, 0, 0)
	if errno == 0 && n > 0 && fds[0].Revents != 0 {
		var count [8]byte
		_, _ = unix.Read(s.event, count[:])
	}
}

// wake does not block, and the thread that calls it, the loop's too, keeps its place meanwhile.
func (s *sleeper) wake() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _, _ = unix.RawSyscall(unix.SYS_WRITE, uintptr(s.event), uintptr(unsafe.Pointer(&one)), uintptr(len(one))) // fails when it is closed, or full of wakes
}

func (s *sleeper) close() { _ = unix.Close(s.event) }

// processorTime is what all threads of the process have used.
func processorTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// threadTime is what the calling thread has used.
func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
