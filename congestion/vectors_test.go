package congestion

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/instant"
)

// Single steps of the controllers that are compared with, worked out by hand from the formulas at the top of
// their files. All at 100 Gb/s and 12 us: a BDP is 150,000 bytes, a full packet 4160.

func makeController[T Controller](t *testing.T, name string, given map[string]string) T {
	t.Helper()
	maker, _, err := Registry.Make(name, given)
	require.NoError(t, err)
	return maker(path100).(T)
}

// acked is an acknowledgement of one full packet in a full window.
func acked(c Controller, rtt Time, marked bool) Ack {
	return Ack{Delivered: path100.MTU, InFlight: c.Window(), RTT: rtt, Marked: marked}
}

func TestSwiftFlowScaling(t *testing.T) {
	c := makeController[*swift](t, "swift", map[string]string{"target": "20us", "fsRange": "100us", "fsMin": "0.1", "fsMax": "100"})
	for packets, want := range map[float64]float64{0.1: 100, 1: 29.39, 10: 7.06, 100: 0, 0.01: 100, 1000: 0} {
		c.cwnd = packets
		require.InDelta(t, want, float64(c.scaled()-20*us)/float64(us), 0.005, "%v packets", packets)
	}
}

func TestSwiftSteps(t *testing.T) {
	given := map[string]string{"target": "24us", "fsRange": "0", "maxWindow": "1MB"}
	c := makeController[*swift](t, "swift", given)
	c.cwnd = 20
	c.OnAck(100*us, acked(c, 20*us, false))
	require.InDelta(t, 20+1./20, c.cwnd, 1e-9, "one packet per window")
	c.OnAck(100*us, acked(c, 30*us, false))
	require.InDelta(t, 20.05*(1-0.8*6/30), c.cwnd, 1e-9, "by the relative excess over the target")
	c.OnAck(129*us, acked(c, 40*us, false))
	require.InDelta(t, 20.05*(1-0.8*6/30), c.cwnd, 1e-9, "once per round trip")
	c.OnAck(200*us, acked(c, 100*us, false))
	require.InDelta(t, 20.05*(1-0.8*6/30)/2, c.cwnd, 1e-9, "by half at most")
	for k := range Time(5) {
		require.Greater(t, c.cwnd, 0.1)
		for range 10 {
			c.OnSignal((201+100*k)*us, Signal{Cause: TimedOut, Bytes: 4160})
		}
	}
	require.Equal(t, 0.001, c.cwnd, "the fifth timeout in a row, however many packets each takes")
	require.Equal(t, path100.MTU, c.Window())
	require.Equal(t, int64(8*4160/(100e-6*1000)), c.Rate(), "one packet in 1000 round trips")
	c.OnAck(300*us, acked(c, 20*us, false))
	require.InDelta(t, 1.001, c.cwnd, 1e-9, "below one packet every acknowledged packet adds one")
	require.Zero(t, c.Rate())
}

// A window in which half of the bytes are marked; alpha falls from 1 first.
func TestDCTCPWindow(t *testing.T) {
	c := makeController[*dctcp](t, "dctcp", map[string]string{"window": "100000B"})
	c.ssthresh = 0
	c.window.start(0)
	c.acked, c.marked = 4160, 0 // the acknowledgement below makes F = 1/2
	c.OnAck(0, acked(c, base, true))
	require.InDelta(t, 0.96875, c.alpha, 1e-12)
	require.InDelta(t, 100_000*0.515625, c.cwnd, 1e-6)
	before := c.cwnd
	c.OnAck(us, acked(c, base, false))
	require.Equal(t, before, c.cwnd, "no growth in the window after a cut")
}

func TestDCTCPPacket(t *testing.T) {
	c := makeController[*dctcpPacket](t, "dctcp", map[string]string{"flavour": "packet"})
	require.Equal(t, int64(225_000), c.Window(), "starts with 1.5 BDP")
	c.cwnd = 100_000
	c.OnAck(0, acked(c, base, false))
	require.InDelta(t, 100_000+4160.*4160/100_000, c.cwnd, 1e-6)
	c.cwnd = 100_000
	c.OnAck(0, acked(c, base, true))
	require.InDelta(t, 100_000-1040, c.cwnd, 1e-6)
	c.OnSignal(0, Signal{Cause: Trimmed, Bytes: 4160})
	require.InDelta(t, 100_000-1040-4160, c.cwnd, 1e-6)
	third := makeController[*dctcpPacket](t, "dctcp", map[string]string{"flavour": "packet", "cut": "1/3"})
	third.cwnd = 100_000
	third.OnAck(0, acked(third, base, true))
	require.InDelta(t, 100_000-4160./3, third.cwnd, 1e-6, "htsim's")
}

func TestMPRDMASteps(t *testing.T) {
	c := makeController[*mprdma](t, "mprdma", nil)
	require.Equal(t, path100.MTU, c.Window())
	c.cwnd = 20 * 4160
	c.OnAck(0, acked(c, base, false))
	require.InDelta(t, 20.05*4160, c.cwnd, 1e-6)
	c.OnAck(0, acked(c, base, true))
	require.InDelta(t, 19.55*4160, c.cwnd, 1e-6)
	c.OnSignal(0, Signal{Cause: TimedOut, Bytes: 4160})
	require.Equal(t, path100.MTU, c.Window())
}

func TestTimelySteps(t *testing.T) {
	c := makeController[*timely](t, "timely", map[string]string{"segment": "4160B"})
	require.Equal(t, []Time{30 * us, 300 * us}, []Time{c.low, c.high}, "2.5 and 25 base RTTs")
	step := func(rtt Time) float64 {
		c.rate = 50e9
		c.OnAck(0, acked(c, rtt, false))
		return c.rate / 1e9
	}
	require.Equal(t, 50.0, step(20*us), "the first sample only starts the difference")
	require.InDelta(t, 50.1, step(20*us), 1e-9, "below low: 1/1000 of the line rate more")
	c.diff, c.last = 0, 20*us
	require.InDelta(t, 10, step(40*us), 1e-9, "a gradient above 1 counts as 1")
	c.diff, c.last = 0, 100*us
	require.InDelta(t, 50*(1-0.8*0.875*6/12), step(106*us), 1e-9, "gradient 0.4375")
	c.diff, c.last = 0, 100*us
	for i := range 7 {
		want := 50.1
		if i >= 4 {
			want = 50.5
		}
		require.InDelta(t, want, step(100*us), 1e-9, "even RTT, increase %d", i+1)
	}
	require.InDelta(t, 50*(1-0.8*0.25), step(400*us), 1e-9, "above high")
	for range 20 {
		c.OnAck(0, acked(c, 10*instant.Millisecond, false))
	}
	require.Equal(t, int64(100e6), c.Rate(), "1/1000 of the line rate")
}

func TestTimelyPatched(t *testing.T) {
	c := makeController[*timely](t, "timely", map[string]string{"segment": "4160B", "form": "patched", "low": "50us", "high": "500us"})
	c.rate, c.last, c.diff = 50e9, 60*us, 0
	c.OnAck(0, acked(c, 60*us, false))
	require.InDelta(t, 50*(1-0.8*0.5*0.2)+0.1*0.5, c.rate/1e9, 1e-9, "at gradient 0 both sides weigh half")
}

// twoHops is telemetry of two ports at an instant; the second is the bottleneck.
func twoHops(at Time, sent, queue int64) []Hop {
	return []Hop{{Port: 1, RateBps: 400e9, Stamp: at, SentBytes: sent}, {Port: 2, RateBps: 100e9, Stamp: at + us, SentBytes: sent, QueueBytes: queue}}
}

// Over one base RTT the second port sent at 95 % of its rate while 0.95 BDP waited: U is 1.9.
func TestHPCCSteps(t *testing.T) {
	c := makeController[*hpcc](t, "hpcc", nil)
	require.Equal(t, []int64{150_000, 100e9}, []int64{c.Window(), c.Rate()}, "starts with line rate for one base RTT")
	ai := 40e6 / 8 * 12e-6
	ack := func(at Time, sent, queue int64) {
		c.OnAck(at, Ack{Delivered: 4160, InFlight: 100_000, RTT: base, Hops: twoHops(at, sent, queue)})
	}
	ack(0, 0, 142_500)
	require.Equal(t, int64(150_000), c.Window(), "nothing to compare with yet")
	c.round.start(0)
	ack(base, 142_500, 142_500)
	require.InDelta(t, 1.9, c.u, 1e-9)
	require.InDelta(t, 75_000+ai, c.window, 1e-6)
	require.InDelta(t, (75_000+ai)*8/12e-6, float64(c.Rate()), 1)
	ack(base+6*us, 142_500+71_250, 142_500)
	require.InDelta(t, 1.9, c.u, 1e-9)
	require.InDelta(t, (75_000+ai)/2+ai, c.window, 1e-6, "from the reference window")
	ack(base+9*us, 142_500+71_250+35_625, 142_500)
	require.InDelta(t, (75_000+ai)/2+ai, c.window, 1e-6, "and again from the same in that round trip")
	require.InDelta(t, 75_000+ai, c.ref, 1e-6)
	ack(base+8*us, 0, 0)
	require.InDelta(t, 1.9, c.u, 1e-9, "an overtaken report is old news")
}

func TestHPCCAdditiveStages(t *testing.T) {
	c := makeController[*hpcc](t, "hpcc", nil)
	c.window, c.ref = 100_000, 100_000
	ai := 40e6 / 8 * 12e-6
	sent, at := int64(0), Time(0)
	for i := range 8 {
		c.round.start(0)
		c.OnAck(at, Ack{Delivered: 4160, RTT: base, Hops: twoHops(at, sent, 0)})
		switch {
		case i == 0:
			require.Equal(t, 100_000.0, c.window)
		case i <= 5:
			require.InDelta(t, 100_000+float64(i)*ai, c.window, 1e-6, "additive step %d at 80 %%", i)
		case i == 6:
			require.InDelta(t, (100_000+5*ai)/(0.8/0.95)+ai, c.window, 1e-6, "multiplicative after five")
		}
		at, sent = at+base, sent+120_000
	}
	other := twoHops(at, sent, 1_000_000)
	other[0].Port = 7
	before := c.window
	c.OnAck(at, Ack{Delivered: 4160, RTT: base, Hops: other})
	require.Equal(t, before, c.window, "reports of other ports are not compared")
	c.OnAck(at, Ack{Delivered: 4160, RTT: base})
	require.Equal(t, before, c.window, "nor is an acknowledgement without any")
}

// The table of smartt.go at a window of 100,000 bytes, two thirds of a BDP, and a target RTT of 18 us.
func TestSMaRTTQuadrants(t *testing.T) {
	for _, v := range []struct {
		rtt    Time
		marked bool
		want   float64
		what   string
	}{
		{15 * us, false, 100_000 + 2*(3./15)*4160*4160/100_000 + 0.25*4160*4160/100_000, "multiplicative and fair increase"},
		{24 * us, false, 100_000 + 0.25*4160*4160/100_000, "fair increase"},
		{15 * us, true, 100_000 - 0.8*100_000/150_000*4160, "fair decrease"},
		{20 * us, true, 100_000 - 2*(2./20)*4160 - 0.8*100_000/150_000*4160, "both decreases"},
		{24 * us, true, 100_000 - 4160, "at most what was acknowledged"},
	} {
		c := makeController[*smartt](t, "smartt", nil)
		c.cwnd, c.marked = 100_000, 1
		c.OnAck(0, acked(c, v.rtt, v.marked))
		require.InDelta(t, v.want, c.cwnd, 1e-6, v.what)
	}
}

func TestSMaRTTWaitsToDecrease(t *testing.T) {
	c := makeController[*smartt](t, "smartt", map[string]string{"window": "100000B"})
	for i, share := range []float64{0.125, 0.234375} {
		c.OnAck(0, acked(c, 24*us, true))
		require.InDelta(t, share, c.marked, 1e-12)
		require.Equal(t, 100_000.0, c.cwnd, "mark %d", i+1)
	}
	c.OnAck(0, acked(c, 24*us, true))
	require.Equal(t, 100_000.0-4160, c.cwnd, "the third mark in a row exceeds a quarter")
}

func TestSMaRTTFastIncreaseAndQuickAdapt(t *testing.T) {
	c := makeController[*smartt](t, "smartt", map[string]string{"window": "8320B"})
	for range 2 {
		c.OnAck(0, acked(c, 24*us, true)) // arms the period; below the share to wait for
	}
	c.marked, c.quiet = 0, c.cwnd-4160
	before := c.cwnd
	c.OnAck(us, acked(c, 12*us, false))
	require.InDelta(t, before+(2*0.5+0.25)*4160*4160/before, c.cwnd, 1e-6, "not yet")
	before, c.quiet = c.cwnd, c.cwnd-4159
	c.OnAck(2*us, acked(c, 12*us, false))
	require.InDelta(t, before+2*4160, c.cwnd, 1e-6, "after a whole window without queue")
	c.cwnd, c.achieved = 100_000, 40_000
	c.OnSignal(17*us, Signal{Cause: Trimmed, Bytes: 4160, InFlight: 60_000})
	require.InDelta(t, 95_840, c.cwnd, 1e-6, "the period is not over")
	c.OnSignal(18*us, Signal{Cause: Trimmed, Bytes: 4160, InFlight: 55_840})
	require.InDelta(t, 32_000, c.cwnd, 1e-6, "0.8 of what was acknowledged")
	c.OnSignal(19*us, Signal{Cause: Trimmed, Bytes: 4160, InFlight: 51_680})
	c.OnAck(19*us, acked(c, 40*us, true))
	require.InDelta(t, 32_000, c.cwnd, 1e-6, "what was in flight then is old news")
}

// STrack runs the engine of NSCC: the quadrants are checked there, here what differs.
func TestSTrack(t *testing.T) {
	c := makeController[*nscc](t, "strack", nil)
	require.Equal(t, 12*us, c.target, "one base RTT")
	c.window = 10_000
	for range 10 {
		c.OnAck(0, acked(c, base, false))
	}
	require.False(t, c.fast, "no fast increase")
	c.window, c.achieved = 100_000, 20_000-4160
	c.armed, c.adaptEnd = true, 30*us
	c.OnAck(31*us, acked(c, base+25*us, true))
	require.Equal(t, int64(20_000), c.window, "delay above two targets: what was achieved")
}

func TestRenoSteps(t *testing.T) {
	c := makeController[*reno](t, "reno", nil)
	require.Equal(t, 10*path100.MTU, c.Window())
	c.OnAck(0, acked(c, base, false))
	require.Equal(t, 11*path100.MTU, c.Window(), "slow start adds what was acknowledged")
	c.OnAck(0, acked(c, base, true))
	require.InDelta(t, 5.5*4160, c.cwnd, 1e-6)
	c.OnAck(0, acked(c, base, true))
	c.OnSignal(0, Signal{Cause: Inferred, Bytes: 4160, InFlight: 20_000})
	require.InDelta(t, 5.5*4160, c.cwnd, 1e-6, "once per window")
	c.recovering = false
	c.OnAck(0, acked(c, base, false))
	require.InDelta(t, (5.5+1/5.5)*4160, c.cwnd, 1e-6, "then one packet per window")
	c.OnAck(0, Ack{Delivered: 4160, InFlight: 0, RTT: base})
	require.InDelta(t, (5.5+1/5.5)*4160, c.cwnd, 1e-6, "nothing for a window that is not used")
	c.OnSignal(0, Signal{Cause: TimedOut, Bytes: 4160, InFlight: 20_000})
	require.Equal(t, path100.MTU, c.Window())
	require.InDelta(t, (5.5+1/5.5)*4160/2, c.ssthresh, 1e-6)
	c.OnSignal(0, Signal{Cause: TimedOut, Bytes: 4160, InFlight: 16_000})
	require.InDelta(t, (5.5+1/5.5)*4160/2, c.ssthresh, 1e-6, "the packets of one timeout count once")
}

// The cubic of RFC 9438 around its plateau, at a round trip long enough for it to matter.
func TestCubicCurve(t *testing.T) {
	c := makeController[*cubic](t, "cubic", map[string]string{"window": "416000B", "maxWindow": "1GB"})
	c.ssthresh = 0
	c.rtt = 100 * instant.Millisecond
	c.OnSignal(0, Signal{Cause: Inferred, Bytes: 4160, InFlight: 0})
	require.InDelta(t, 70*4160, c.cwnd, 1e-6)
	require.Equal(t, 100.0, c.wMax)
	c.OnAck(0, acked(c, c.rtt, false)) // ends the recovery, begins the epoch
	require.InDelta(t, math.Cbrt(30/0.4), c.k, 1e-9)
	require.InDelta(t, 70, c.at(0), 1e-9)
	require.InDelta(t, 100, c.at(c.k), 1e-9)
	require.InDelta(t, 100.4, c.at(c.k+1), 1e-9)
	c.prior, c.reno = 100, 0
	half := Time(c.k / 2 * 1e12)
	w := c.cwnd / 4160
	c.OnAck(half, acked(c, c.rtt, false))
	target := min(c.at(c.k/2+0.1), 1.5*w)
	require.InDelta(t, w+(target-w)/w, c.cwnd/4160, 1e-6, "towards where the cubic is one round trip later")
	c.recovering = false
	c.OnSignal(half, Signal{Cause: Inferred, Bytes: 4160})
	require.InDelta(t, (w+(target-w)/w)*1.7/2, c.wMax, 1e-6, "fast convergence below the last maximum")
}

func TestCubicFollowsRenoAtShortRoundTrips(t *testing.T) {
	c := makeController[*cubic](t, "cubic", map[string]string{"window": "416000B"})
	c.ssthresh = 0
	c.OnSignal(0, Signal{Cause: Inferred, Bytes: 4160, InFlight: 0})
	for i := range 70 { // one window of acknowledgements in one base RTT
		c.OnAck(base*Time(i)/70, acked(c, base, false))
	}
	require.InDelta(t, 70+3*0.3/1.7, c.cwnd/4160, 0.005)
}

func TestCubeRoot(t *testing.T) {
	for _, x := range []float64{1e-300, 1e-9, 0.3, 1, 2, 8, 75, 27e12, 1e300} {
		require.InEpsilon(t, math.Cbrt(x), cubeRoot(x), 1e-14, "%v", x)
	}
	for _, x := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		require.Zero(t, cubeRoot(x))
	}
}

// One flow alone: startup doubles the pace per round until the link is full, drains, and probes in eights.
func TestBBRPhases(t *testing.T) {
	c := makeController[*bbr](t, "bbr", nil)
	require.Equal(t, 10*path100.MTU, c.Window())
	require.InDelta(t, 2.89*41_600*8/12e-6, float64(c.Rate()), 1)
	now, queue := Time(0), int64(0)
	c.OnSent(0, 4160, 4160)
	round := func() { // all of a window comes back at no more than line rate
		packets := c.Window() / path100.MTU
		span := max(base, Time(packets)*332_800)
		for i := range packets {
			c.OnAck(now+span*Time(i+1)/Time(packets), Ack{Delivered: 4160, InFlight: queue + (packets-1)*4160, RTT: base})
		}
		now += span
	}
	for range 12 {
		round()
	}
	require.GreaterOrEqual(t, c.rate, 0.9*100e9)
	require.GreaterOrEqual(t, c.stalled, 3, "full")
	c.OnAck(now, Ack{Delivered: 4160, InFlight: 0, RTT: base})
	require.Equal(t, bbrProbeBandwidth, c.state, "drained")
	gains := map[float64]int{}
	for i := range Time(8) {
		c.OnAck(now+(i+1)*base, Ack{Delivered: 4160, InFlight: 100_000, RTT: 2 * base})
		gains[c.gain()]++
	}
	require.Equal(t, map[float64]int{1.25: 1, 0.75: 1, 1: 6}, gains)
	now += 11 * instant.Millisecond
	c.OnAck(now, Ack{Delivered: 4160, InFlight: 100_000, RTT: 2 * base})
	require.Equal(t, bbrProbeRTT, c.state)
	require.Equal(t, int64(4*4160), c.Window())
	require.Equal(t, 2*base, c.rtt, "measured anew")
}
