//go:build !linux

package perf

import "time"

// machineTime is not known here.
func machineTime() time.Duration { return 0 }
