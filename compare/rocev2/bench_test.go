package rocev2

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/core"
)

// BenchmarkPacket measures both ends of one data packet and its share of acknowledgements, codec included.
func BenchmarkPacket(b *testing.B) {
	for _, mode := range Modes {
		for _, control := range []string{"none", "dcqcn"} {
			b.Run(mode+"/"+control, func(b *testing.B) {
				c, err := Preset(mode, "", Env{LineRateBps: 1e12, BaseRTT: 64 * us, PayloadMTU: testMTU, WireMTU: testMTU + 100, Seed: 1})
				require.NoError(b, err)
				c.Control = ctlCl
				if control != "none" {
					c.Make, _, err = congestion.Registry.Make(control, nil)
					require.NoError(b, err)
				}
				ch := newSlotted(b, c, 64, func() bool { return false })
				require.NoError(b, ch.from.Send(0, core.Message{To: 2, Length: 1 << 44}))
				b.ReportAllocs()
				slot := 0
				for b.Loop() {
					ch.step(slot)
					slot++
				}
			})
		}
	}
}
