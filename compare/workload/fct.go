package workload

import (
	"bufio"
	"fmt"
	"io"

	"github.com/weft-transport/weft/transport/instant"
)

// An FCTRow is one finished flow for the plotting scripts of HPCC.
type FCTRow struct {
	Src, Dst     int32
	Sport, Dport uint16
	Bytes        uint64
	Start, FCT   instant.Time
	Ideal        instant.Time // completion time on an idle fabric
}

// WriteFCT writes rows "sip dip sport dport bytes start_ns fct_ns ideal_fct_ns" as HPCC does:
// addresses as eight hexadecimal digits, host n being 11.(n/256).(n%256).1, and times rounded to
// nanoseconds.
func WriteFCT(to io.Writer, rows []FCTRow) error {
	w := bufio.NewWriter(to)
	for _, r := range rows {
		fmt.Fprintf(w, "%08x %08x %d %d %d %d %d %d\n", hpccAddress(r.Src), hpccAddress(r.Dst), r.Sport, r.Dport, r.Bytes,
			wholeNanoseconds(r.Start), wholeNanoseconds(r.FCT), wholeNanoseconds(r.Ideal))
	}
	return w.Flush()
}

func hpccAddress(host int32) uint32 {
	return 11<<24 + uint32(host/256)<<16 + uint32(host%256)<<8 + 1
}

func wholeNanoseconds(t instant.Time) int64 {
	return int64((t + instant.Nanosecond/2) / instant.Nanosecond)
}
