package udp

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

func TestHeldPacketsComeInOrder(t *testing.T) {
	var h held
	r := rand.New(rand.NewPCG(1, 2))
	var want []due
	var seq uint64
	for range 2000 {
		if r.IntN(3) > 0 || len(want) == 0 {
			d := due{core.Time(r.IntN(50)), seq, uint32(seq)}
			seq++
			h.push(d)
			want = append(want, d)
			continue
		}
		first := slices.MinFunc(want, func(a, b due) int {
			if a.before(b) {
				return -1
			}
			return 1
		})
		require.Equal(t, first.at, h.next())
		require.Equal(t, first.slot, h.pop())
		want = slices.DeleteFunc(want, func(d due) bool { return d == first })
	}
	require.Len(t, h.heap, len(want))
}

// TestDelayKeepsOrderAndBytes holds every packet back for as long.
func TestDelayKeepsOrderAndBytes(t *testing.T) {
	for _, fate := range []Fate{{Late: 2 * instant.Millisecond}, {At: 5 * instant.Millisecond}} { // the second soon has passed
		a, b := both(t, "127.0.0.1", func(c *Config, u *core.Config) {
			c.Fate = func(*core.Packet) Fate { return fate }
			u.RTO.Init = instant.Second
		})
		move(t, a, b, 10, 50_000)
		for _, e := range []*end{a, b} {
			held, reordered := 0, uint64(0)
			require.Eventually(t, func() bool { // the last acknowledgements are on their way
				err := e.Do(func(core.Time) { held, reordered = len(e.held.heap), uint64(e.host.Counters().OutOfOrder) })
				return err == nil && held == 0
			}, 30*time.Second, time.Millisecond)
			require.Zero(t, reordered)
		}
	}
}
