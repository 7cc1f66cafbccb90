package udp

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/core"
)

// Receiver credits over sockets: the speculative window is a small part of what is moved, so grants move the rest, paced by
// the destination's timers.
func TestReceiverCredits(t *testing.T) {
	for _, name := range []string{"rccc", "nscc+rccc"} {
		t.Run(name, func(t *testing.T) {
			maker, _, err := congestion.Registry.Make(name, map[string]string{"start": "16KiB"})
			require.NoError(t, err)
			change := func(c *Config, u *core.Config) { u.NewController, u.LineRateBps = maker, 10e9 }
			a, b := open(t, "127.0.0.1", change), open(t, "127.0.0.1", change)
			move(t, a, b, 20, 100_000)
			move(t, b, a, 3, 300_000)
		})
	}
}
