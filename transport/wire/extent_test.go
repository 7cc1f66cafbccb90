package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/weft-transport/weft/transport/wire"
)

// TestHeaderLenAgreesWithThePacket reads every seed, and every length of it, both ways: what is header for
// the short look is header for the long one.
func TestHeaderLenAgreesWithThePacket(t *testing.T) {
	accepted := 0
	for _, s := range seeds {
		whole := append(unhex(t, s), make([]byte, 64)...)
		for n := range len(whole) + 1 {
			b := append(make([]byte, 0, n), whole[:n]...)
			size, why := HeaderLen(b)
			p, long := ParsePacket(b, CRCOff)
			if p.Has&HasTSS != 0 {
				require.Equal(t, BadType, why)
				continue
			}
			if long == OK {
				require.Equal(t, OK, why, "%x", b)
				require.Equal(t, p.Payload, size, "%x", b)
				accepted++
			}
			if long == Short {
				require.NotEqual(t, OK, why, "%x", b)
			}
		}
	}
	require.Greater(t, accepted, 100)
}
