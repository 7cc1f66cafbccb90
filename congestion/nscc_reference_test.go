package congestion

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Recorded in the reference simulator: what one flow's NSCC was told, and window and delay average
// after it. Told the same, the htsim variant decides the same; the window may differ by the two
// bytes by which the simulator rounds its largest window differently.
//
// Its base RTT is that of the longest path, 14.02272 us; flows between near hosts find out.
func TestNSCCDecidesAsTheReferenceSimulator(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "reference_*.txt"))
	require.NoError(t, err)
	require.Len(t, files, 4)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			path := Path{LineRateBps: 100 * gbps, BaseRTT: 14_022_720, MTU: 4150, MSS: 4086}
			path.Trimming = !strings.Contains(file, "without_trimming")
			c := makeNSCC(t, path, map[string]string{"variant": "htsim"})
			c.OnSent(0, path.MTU, path.MTU)
			replay(t, c, file)
		})
	}
}

func replay(t *testing.T, c *nscc, file string) {
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	lines, rows := bufio.NewScanner(f), 0
	for lines.Scan() {
		var kind string
		var now, bytes, inFlight, rtt, flag, window, average int64
		if n, _ := fmt.Sscan(lines.Text(), &kind, &now, &bytes, &inFlight, &rtt, &flag, &window, &average); n < 8 {
			continue // a comment or the heading
		}
		rows++
		switch kind {
		case "A":
			c.OnAck(Time(now), Ack{Delivered: bytes, InFlight: inFlight, RTT: Time(rtt), Marked: flag != 0})
		case "N":
			c.OnSignal(Time(now), Signal{Cause: Trimmed, Bytes: bytes, InFlight: inFlight - bytes, RTT: Time(rtt), LastHop: flag != 0})
		case "T":
			c.OnSignal(Time(now), Signal{Cause: TimedOut, Bytes: bytes, InFlight: inFlight})
		}
		require.InDelta(t, window, c.Window(), 2, lines.Text())
		require.Equal(t, Time(average), c.avgDelay, lines.Text())
	}
	require.NoError(t, lines.Err())
	require.Greater(t, rows, 100)
}
