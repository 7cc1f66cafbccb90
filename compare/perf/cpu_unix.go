//go:build unix

package perf

import (
	"time"

	"golang.org/x/sys/unix"
)

// processorTime returns user and system time of this process.
func processorTime() time.Duration {
	var r unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
