//go:build !unix

package perf

import "time"

// processorTime is not known here.
func processorTime() time.Duration { return 0 }
