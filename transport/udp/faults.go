package udp

import "syscall"

// faults make system calls fail, for tests of what happens then.
type faults struct {
	gso, gro, mmsg syscall.Errno
	busy           syscall.Errno // the first send only
	all            syscall.Errno // every send
	short          int           // messages that a call takes at most; 0: as many as it likes
}
