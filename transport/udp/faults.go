package udp

import "syscall"

// faults make system calls fail, for tests of what happens then.
type faults struct {
	gso, gro, mmsg syscall.Errno
	busy           syscall.Errno // the first send only
}
