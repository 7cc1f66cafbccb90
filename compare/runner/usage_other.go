//go:build !linux

package runner

import "time"

// Processor time by thread and peak memory are not measured on this system; results show 0.
func cpuTime() time.Duration { return 0 }
func peakRSS() int64         { return 0 }
