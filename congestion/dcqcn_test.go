package congestion

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/instant"
)

func makeDCQCN(t *testing.T, p Path, given map[string]string) Controller {
	t.Helper()
	maker, _, err := Registry.Make("dcqcn", given)
	require.NoError(t, err)
	return maker(p)
}

func cnp(c Controller, now Time) { c.OnSignal(now, Signal{Cause: CNP}) }

// One notification halves the rate; eight ticks of the timer bring it back, half of the rest each.
func TestDCQCNRecovery(t *testing.T) {
	c := makeDCQCN(t, path100, map[string]string{"fastSteps": "5", "rateAI": "40Mbps"})
	require.Equal(t, int64(100*gbps), c.Rate(), "starts at line rate")
	require.Equal(t, instant.Never, c.Deadline())
	cnp(c, 10*us)
	rates := []float64{float64(c.Rate()) / gbps}
	for tick := Time(1); tick <= 8; tick++ {
		require.Equal(t, 10*us+tick*55*us, c.Deadline())
		c.OnTimeout(c.Deadline() - 1)
		c.OnTimeout(c.Deadline())
		rates = append(rates, float64(c.Rate())/gbps)
	}
	want := []float64{50, 75, 87.5, 93.75, 96.875, 98.4375, 99.21875, 99.609, 99.805}
	require.InDeltaSlice(t, want, rates, 0.001)
}

func TestDCQCNAlphaDecays(t *testing.T) {
	d := makeDCQCN(t, path100, nil).(*dcqcnPaper)
	cnp(d, 10*us)
	require.Equal(t, 1.0, d.alpha)
	d.decay(10*us + 10*55*us)
	require.InDelta(t, 0.96162, d.alpha, 5e-6)
	d.decay(10*us + 11*55*us - 1)
	require.InDelta(t, 0.96162, d.alpha, 5e-6, "a period that is not over does not count")
}

// The second cut is smaller, because alpha decayed in between; the target follows the rate.
func TestDCQCNSecondCut(t *testing.T) {
	d := makeDCQCN(t, path100, nil).(*dcqcnPaper)
	cnp(d, 0)
	cnp(d, 551*us)
	alpha := power(255./256, 10)
	require.InEpsilon(t, 50e9*(1-alpha/2), d.rate, 1e-9)
	require.Equal(t, 50e9, d.target)
	require.InEpsilon(t, 255./256*alpha+1./256, d.alpha, 1e-12)
}

// The byte counter is as good as the timer, both together reach hyper increase.
//
//	timer  1 2 3 4 5   6        7        8
//	bytes              1 .. 5   6        7
//	                   additive hyper 1  hyper 2
func TestDCQCNByteCounterAndHyperIncrease(t *testing.T) {
	d := makeDCQCN(t, path100, map[string]string{
		"byteCounter": "1MB", "rateAI": "1Mbps", "rateHAI": "10Mbps"}).(*dcqcnPaper)
	cnp(d, 0)
	cnp(d, 0) // target is 50 Gb/s, rate 25 Gb/s
	for range 6 {
		d.OnTimeout(d.Deadline())
	}
	require.Equal(t, 50e9+1e6, d.target, "the sixth step is additive")
	d.OnSent(0, 999_999, 0)
	require.Zero(t, d.byteSteps)
	d.OnSent(0, 4_000_001, 0)
	require.Equal(t, int32(5), d.byteSteps)
	require.Equal(t, 50e9+6e6, d.target)
	d.OnSent(0, 1_000_000, 0)
	require.Equal(t, 50e9+16e6, d.target, "both above five: hyper")
	d.OnTimeout(d.Deadline())
	require.Equal(t, 50e9+26e6, d.target, "the lesser counter decides")
	d.OnSent(0, 1_000_000, 0)
	require.Equal(t, 50e9+46e6, d.target)
	cnp(d, d.Deadline())
	require.Zero(t, d.timerSteps+d.byteSteps)
	require.Zero(t, d.sent)
}

func TestDCQCNCutInterval(t *testing.T) {
	c := makeDCQCN(t, path100, map[string]string{"cutInterval": "50us"})
	cnp(c, 0)
	cnp(c, 49*us)
	require.Equal(t, int64(50*gbps), c.Rate())
	cnp(c, 50*us)
	require.Less(t, c.Rate(), int64(26*gbps))
}

func TestDCQCNReleasesItsLimiter(t *testing.T) {
	for _, form := range []string{"paper", "nic"} {
		c := makeDCQCN(t, path100, map[string]string{"form": form})
		cnp(c, 0)
		steps := 0
		for c.Deadline() != instant.Never {
			c.OnTimeout(c.Deadline())
			steps++
			require.Less(t, steps, 100)
		}
		require.Equal(t, int64(100*gbps), c.Rate(), form)
	}
}

func TestDCQCNScalesItsStepsToTheLineRate(t *testing.T) {
	at40 := Path{LineRateBps: 40 * gbps, BaseRTT: base, MTU: 1064, MSS: 1000}
	paper := makeDCQCN(t, at40, nil).(*dcqcnPaper)
	require.InEpsilon(t, 40e6, paper.p.rateAI.of(paper.line), 1e-12)
	require.InEpsilon(t, 400e6, paper.p.rateHAI.of(paper.line), 1e-12)
	require.InEpsilon(t, 10e6, paper.p.minRate.of(paper.line), 1e-12)
	nic := makeDCQCN(t, path400, map[string]string{"form": "nic"}).(*dcqcnNIC)
	require.InEpsilon(t, 80e6, nic.p.rateAI.of(nic.line), 1e-12)
	require.InEpsilon(t, 800e6, nic.p.rateHAI.of(nic.line), 1e-12)
	require.InEpsilon(t, 400e6, nic.p.minRate.of(nic.line), 1e-12)
}

// A notification at 10 us is acted on at the check at 14 us; one at 15 us at 18 us. In between the
// target stays, because there was no increase, and the rate is cut by alpha as ticked each us.
func TestDCQCNNicChecksPeriodically(t *testing.T) {
	d := makeDCQCN(t, path100, map[string]string{"form": "nic"}).(*dcqcnNIC)
	cnp(d, 10*us)
	require.Equal(t, int64(100*gbps), d.Rate(), "the rate waits for the check")
	require.Equal(t, 14*us, d.Deadline())
	cnp(d, 13*us)
	require.Equal(t, 14*us, d.Deadline())
	d.OnTimeout(14 * us)
	g := 1. / 256
	alpha := power(1-g, 2)  // ticks at 11 (noted), 12 and 13 us
	alpha = alpha*(1-g) + g // and at 14 us, noted at 13
	require.InEpsilon(t, alpha, d.alpha, 1e-12)
	require.InEpsilon(t, 100e9*(1-alpha/2), d.rate, 1e-12)
	require.Equal(t, 100e9, d.target)

	cnp(d, 15*us)
	require.Equal(t, 18*us, d.Deadline())
	d.OnTimeout(18 * us)
	require.Equal(t, 100e9, d.target, "no increase since the last cut")
	require.Equal(t, 318*us, d.Deadline(), "the increase timer restarts with the cut")
}

func TestDCQCNNicIncreases(t *testing.T) {
	d := makeDCQCN(t, path100, map[string]string{"form": "nic"}).(*dcqcnNIC)
	cnp(d, 0)
	d.OnTimeout(4 * us)
	d.target = 60e9
	d.rate = 50e9
	d.OnTimeout(304 * us)
	require.Equal(t, 55e9, d.rate, "one step of fast recovery")
	d.OnTimeout(604 * us)
	require.Equal(t, 60e9+20e6, d.target, "one additive")
	d.OnTimeout(1204 * us)
	require.Equal(t, 60e9+420e6, d.target, "then hyper, two at once")
	cnp(d, 1205*us)
	before := d.rate
	d.OnTimeout(1208 * us)
	require.Equal(t, before, d.target, "after increases a cut lowers the target")
}

// Each form is indifferent to how often and how late it is asked.
func TestDCQCNLateTimeoutsCatchUp(t *testing.T) {
	for _, form := range []string{"paper", "nic"} {
		run := func(step Time) int64 {
			c := makeDCQCN(t, path100, map[string]string{"form": form})
			for now := Time(0); now <= 6*instant.Millisecond; now += step {
				c.OnTimeout(now)
				if now == 1*instant.Millisecond || now == 3*instant.Millisecond {
					cnp(c, now)
				}
			}
			return c.Rate()
		}
		require.Equal(t, run(instant.Millisecond), run(us), form)
	}
}

func TestPower(t *testing.T) {
	require.Equal(t, 1.0, power(0.5, 0))
	require.Equal(t, 1.0/1024, power(0.5, 10))
	require.InEpsilon(t, 0.99609375*0.99609375*0.99609375, power(255./256, 3), 1e-15)
	require.Zero(t, power(0.5, 1<<40))
}

func TestDCQCNStateIsSmall(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(dcqcnPaper{}), uintptr(128))
	require.LessOrEqual(t, unsafe.Sizeof(dcqcnNIC{}), uintptr(128))
}
