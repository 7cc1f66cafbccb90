package rocev2

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/rocev2/wire"
)

func testEnv() Env {
	return Env{LineRateBps: 400e9, BaseRTT: 12 * us, PayloadMTU: 4096, WireMTU: 4234, Data: 2, Control: 3, Seed: 9}
}

func TestDefaults(t *testing.T) {
	c, err := testConfig().complete()
	require.NoError(t, err)
	require.Equal(t, wire.AckTimeout(14), c.Timeout)
	require.Equal(t, 7, c.RetryCount)
	require.Equal(t, 64, c.AckReqEvery)
	require.Equal(t, 50*us, c.CNPInterval)
	require.Equal(t, 1, c.QPs)
	require.Equal(t, 1024, c.ReorderWindow, "8 BDP of 112 packets, rounded up")
	require.Equal(t, wire.MaxWindow-1, c.MaxOutstanding)
}

func TestBadConfigs(t *testing.T) {
	for field, edit := range map[string]func(*Config){
		"Path has rate":            func(c *Config) { c.Path.LineRateBps = 0 },
		"Path has MSS":             func(c *Config) { c.Path.MSS = 100 },
		"Path has MSS 4086":        func(c *Config) { c.Path.MSS, c.Path.MTU = 4086, 4150 },
		"QPs":                      func(c *Config) { c.QPs = 257 },
		"Ports":                    func(c *Config) { c.Ports = -1 },
		"Stripe":                   func(c *Config) { c.Stripe = -5 },
		"Timeout":                  func(c *Config) { c.Timeout = -1 },
		"AdaptiveFirst":            func(c *Config) { c.AdaptiveFirst = 2000 * instantMs },
		"Stall":                    func(c *Config) { c.Stall = -1 },
		"FirstPSN":                 func(c *Config) { c.FirstPSN = 1 << 24 },
		"ReorderWindow":            func(c *Config) { c.ReorderWindow = -2 },
		"Data":                     func(c *Config) { c.Data = 16 },
		"selective retransmission": func(c *Config) { c.Loss = Selective },
	} {
		c := testConfig()
		edit(&c)
		_, err := New(1, c)
		require.ErrorContains(t, err, "rocev2: "+field)
	}
}

// Every mode makes a valid configuration, with the rules that docs/ROCE.md states.
func TestPresets(t *testing.T) {
	for _, mode := range Modes {
		require.NotEmpty(t, Doc(mode))
		for _, loss := range append([]string{""}, Losses...) {
			for _, lossless := range []bool{true, false} {
				e := testEnv()
				e.Lossless = lossless
				c, err := Preset(mode, loss, e)
				require.NoError(t, err)
				_, err = New(1, c)
				require.NoError(t, err, "%s %s", mode, loss)
				require.Equal(t, loss == LossSelective, c.Loss == Selective)
			}
		}
	}
	_, err := Preset("ideal", "", testEnv())
	require.ErrorContains(t, err, `unknown mode "ideal"; expected one of standard, hardware, favourable, adaptive`)
	_, err = Preset(ModeStandard, "some", testEnv())
	require.ErrorContains(t, err, `unknown way to recover from loss "some"; expected gobackn or selective`)
	require.Empty(t, Doc("ideal"))
	require.False(t, WantsAdaptiveRouting("ideal"))
}

func TestModeRules(t *testing.T) {
	preset := func(mode, loss string, lossless bool) Config {
		e := testEnv()
		e.Lossless = lossless
		c, err := Preset(mode, loss, e)
		require.NoError(t, err)
		c, err = c.complete()
		require.NoError(t, err)
		return c
	}
	hw := preset(ModeHardware, LossGoBackN, true)
	require.True(t, hw.CNPOnNAK)
	require.Equal(t, 20*us, hw.Stall)
	require.Equal(t, "4.194304ms", hw.AdaptiveFirst.String())
	require.Equal(t, "469.762048ms", hw.RetryFor.String())

	fav := preset(ModeFavourable, LossGoBackN, false)
	require.Equal(t, 320*us, fav.Timeout)
	require.Equal(t, 213, fav.MaxOutstanding, "one and a half BDP of 142 packets")
	require.False(t, fav.CNPOnNAK)
	require.Zero(t, fav.Stall)
	require.Equal(t, 7, fav.ProbeAfter)
	require.Zero(t, hw.ProbeAfter)
	require.Equal(t, instantMs, preset(ModeFavourable, LossGoBackN, true).Timeout)

	ad := preset(ModeAdaptive, LossGoBackN, true)
	require.Equal(t, OutOfOrder, ad.Placement)
	require.Equal(t, GoBackN, ad.Loss)
	require.Equal(t, 48*us, ad.ReorderTimer)
	require.Equal(t, 2048, ad.MaxOutstanding)
	require.Equal(t, 48*us, preset(ModeAdaptive, LossSelective, true).ReorderTimer)

	irn := preset(ModeStandard, LossSelective, false)
	require.Equal(t, Selective, irn.Loss)
	require.Equal(t, 142, irn.MaxOutstanding, "BDP-FC")
	require.Equal(t, 320*us, irn.Timeout)
	require.Equal(t, 100*us, irn.TimeoutLow)
	require.Equal(t, 3, irn.FewInFlight)
	require.Zero(t, irn.ReorderTimer)
	require.Equal(t, 1, irn.AckReqEvery)
	require.Zero(t, preset(ModeStandard, LossSelective, true).TimeoutLow, "over PFC, silence is a pause")

	require.Equal(t, irn, preset(ModeFavourable, LossSelective, false), "the same IRN from either")

	sel := preset(ModeHardware, LossSelective, false)
	require.Equal(t, 128, sel.MaxOutstanding)
	require.True(t, sel.CNPOnNAK)

	require.True(t, WantsAdaptiveRouting(ModeAdaptive))
	require.False(t, WantsAdaptiveRouting(ModeFavourable))
	require.True(t, WantsLossless(ModeStandard, LossGoBackN))
	require.False(t, WantsLossless(ModeStandard, LossSelective))
}

func TestTrailerBytes(t *testing.T) {
	for payload, want := range map[uint32]int64{0: 4, 1: 7, 3: 5, 4: 4, 4096: 4} {
		require.Equal(t, want, TrailerBytes(payload))
	}
}
