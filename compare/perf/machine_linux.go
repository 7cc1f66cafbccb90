package perf

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// machineTime returns how long all processors together have been busy since the start of the machine, in steps of 10 ms.
func machineTime() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	fields := bytes.Fields(line) // cpu user nice system idle iowait irq softirq steal ...
	var ticks int64
	for _, i := range []int{1, 2, 3, 6, 7, 8} {
		if i < len(fields) {
			n, _ := strconv.ParseInt(string(fields[i]), 10, 64)
			ticks += n
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond // USER_HZ is 100 everywhere
}
