package rocev2

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/core"
)

// The hardware mode must not be a straw man. Under random loss its goodput is at least what was measured on real
// NICs (UCCL, OSDI 2026: 26-42 % less at losses of 1/16384 to 1/4096, 59-76 % less at 1/1024 to 1/256), less a
// tolerance that it needs at 1/256 only, where single timeouts count; and it is below the ideal.
func TestHardwareAgainstMeasured(t *testing.T) {
	nic, _, err := congestion.Registry.Make("dcqcn", map[string]string{"form": "nic"})
	require.NoError(t, err)
	for _, c := range []struct {
		inverse  int
		measured float64
	}{{16384, 0.74}, {4096, 0.58}, {1024, 0.41}, {256, 0.24}} {
		goodput := func(mode string, control congestion.Maker, slots int) float64 {
			config, err := Preset(mode, "", Env{LineRateBps: 400e9, BaseRTT: 12 * us, PayloadMTU: testMTU * 4, WireMTU: 4234, Seed: 1})
			require.NoError(t, err)
			config.Control, config.Make = ctlCl, control
			rng := rand.New(rand.NewPCG(1, uint64(c.inverse)))
			ch := newSlotted(t, config, 142, func() bool { return rng.IntN(c.inverse) == 0 })
			ch.slot = wireTime(4234, 400e9)
			require.NoError(t, ch.from.Send(0, core.Message{To: 2, Length: 1 << 44}))
			for k := 0; k < slots; k++ {
				ch.step(k)
			}
			return float64(ch.to.Counters().Delivered) / float64(slots)
		}
		what := fmt.Sprintf("loss 1/%d, measured %v", c.inverse, c.measured)
		alone, controlled := goodput(ModeHardware, nil, 500_000), goodput(ModeHardware, nic, 500_000)
		t.Logf("%s: %.3f without congestion control, %.3f with DCQCN", what, alone, controlled)
		require.Greater(t, alone, c.measured-0.12, what)
		require.Greater(t, controlled, c.measured-0.12, what)
		ideal := goodput(ModeFavourable, nil, 200_000)
		require.Greater(t, ideal, alone+0.01, what)
		p, timeout := 1/float64(c.inverse), 320/0.08468 // in packet times
		require.InEpsilon(t, 1/(1+142*p+timeout*p*p), ideal, 0.06, what)
	}
}
