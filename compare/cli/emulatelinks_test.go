package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/emulator/live"
)

// Of the links with a netem those are printed that carried most, and the others that carried something are counted.
func TestShapedLinksAreThoseThatCarriedMost(t *testing.T) {
	var out bytes.Buffer
	printShaped(&out, make([]live.Shaped, 20))
	require.Empty(t, out.String(), "none carried anything")
	all := make([]live.Shaped, 20)
	for i := range 10 {
		all[2*i] = live.Shaped{Link: "idle", Packets: 1}
	}
	all[18] = live.Shaped{Link: "busy", Packets: 1000}
	printShaped(&out, all)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 9)
	require.Contains(t, lines[0], "busy ")
	require.Equal(t, "... and 2 more links with a netem", strings.TrimSpace(lines[8]))
}

// Rates of a network that is slower than the wall are its own.
func TestDilatedTimes(t *testing.T) {
	require.Equal(t, "2.5s", (&linkTable{dilation: 1}).since(2501*time.Millisecond))
	slow := &linkTable{dilation: 5}
	require.Equal(t, "2.5s (500ms of the network)", slow.since(2501*time.Millisecond))
	require.Equal(t, time.Second, slow.network(5*time.Second))
}
