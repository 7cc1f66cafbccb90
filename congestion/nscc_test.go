package congestion

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/instant"
)

const (
	us   = instant.Microsecond
	gbps = 1_000_000_000
	base = 12 * us
)

// path100 and path400 are the networks of the unit vectors: 12 us, trimming, so a target of 9 us.
var (
	path100 = Path{LineRateBps: 100 * gbps, BaseRTT: base, MTU: 4160, MSS: 4096, Trimming: true}
	path400 = Path{LineRateBps: 400 * gbps, BaseRTT: base, MTU: 4160, MSS: 4096, Trimming: true}
)

func makeNSCC(t *testing.T, p Path, given map[string]string) *nscc {
	t.Helper()
	maker, _, err := Registry.Make("nscc", given)
	require.NoError(t, err)
	return maker(p).(*nscc)
}

// ack acknowledges bytes with a queueing delay, with a full window still in flight.
func ack(c *nscc, now Time, bytes int64, delay Time, marked bool) {
	c.OnAck(now, Ack{Delivered: bytes, InFlight: c.window, RTT: c.baseRTT + delay, Marked: marked})
}

func TestNSCCConstants(t *testing.T) {
	for _, v := range []struct {
		path                     Path
		alpha, fair, eta         float64
		maxWindow, adjust, below int64
	}{
		{path100, 1365.33, 20480, 614.4, 225_000, 33_280, 28_125},
		{path400, 5461.33, 81_920, 2457.6, 900_000, 33_280, 112_500},
	} {
		c := makeNSCC(t, v.path, nil)
		require.Equal(t, 9*us, c.target)
		require.InDelta(t, v.alpha, c.payloads(c.p.alpha)/c.p.referenceRTT.Microseconds(), 0.01)
		require.InDelta(t, v.fair, c.payloads(c.p.fair), 1e-6)
		require.InDelta(t, v.eta, c.payloads(c.p.eta), 1e-6)
		require.Equal(t, v.maxWindow, c.maxWindow)
		require.Equal(t, v.maxWindow, c.Window(), "starts with the largest window")
		require.Equal(t, v.adjust, c.p.adjustPackets*int64(c.mtu))
		require.Equal(t, v.below, c.maxWindow>>c.p.gate)
	}
	lossy := path100
	lossy.Trimming = false
	require.Equal(t, base, makeNSCC(t, lossy, nil).target)
}

// The ninth acknowledgement of 4096 bytes is the first to exceed eight packets: only then is the
// collected increase applied.
func TestNSCCProportionalIncrease(t *testing.T) {
	c := makeNSCC(t, path100, map[string]string{"window": "100000"})
	for i := range 9 {
		require.Equal(t, int64(100_000), c.Window(), "before acknowledgement %d", i+1)
		ack(c, us, 4096, 3*us, false)
	}
	require.InDelta(t, 103_019.9, float64(c.Window()), 1)
	require.Zero(t, c.increase)
}

func TestNSCCFairIncrease(t *testing.T) {
	c := makeNSCC(t, path100, map[string]string{"window": "100000"})
	for range 9 {
		ack(c, us, 4096, 12*us, false)
	}
	require.InDelta(t, 107_549.7, float64(c.Window()), 1)
}

// Eight acknowledgements collect; the ninth comes a period later and brings eta as well.
func TestNSCCFairIncreaseWithEta(t *testing.T) {
	c := makeNSCC(t, path100, map[string]string{"window": "100000"})
	for range 8 {
		ack(c, us, 4096, 12*us, false)
	}
	ack(c, 12*us, 4096, 12*us, false)
	require.InDelta(t, 108_164.1, float64(c.Window()), 1.5)
}

func TestNSCCMultiplicativeDecrease(t *testing.T) {
	for _, v := range []struct {
		average Time
		want    int64
	}{{18 * us, 60_000}, {10 * us, 92_000}, {100 * us, 50_000}, {9 * us, 100_000}} {
		c := makeNSCC(t, path100, map[string]string{"window": "100000"})
		c.avgDelay = v.average
		c.decrease(20 * us)
		require.InDelta(t, v.want, c.Window(), 1, "average %v", v.average)
		c.decrease(32 * us)
		require.InDelta(t, v.want, c.Window(), 1, "a second cut within one RTT")
		c.window = 100_000
		c.decrease(32*us + 1)
		require.InDelta(t, v.want, c.Window(), 1, "after one RTT it may cut again")
	}
}

func TestNSCCFastIncrease(t *testing.T) {
	c := makeNSCC(t, path100, map[string]string{"window": "10000"})
	for i, want := range []int64{10_000, 10_000, 11_024, 12_048, 13_072} {
		ack(c, us, 4096, 0, false)
		require.Equal(t, want, c.Window(), "acknowledgement %d", i+1)
	}
	ack(c, us, 4096, 2*us, false)
	require.False(t, c.fast, "any delay ends it")
	require.Zero(t, c.quietBytes)
}

func TestNSCCMarkWithoutDelayIsLeftToTheSprayer(t *testing.T) {
	c := makeNSCC(t, path100, map[string]string{"window": "100000"})
	ack(c, us, 4096, 3*us, false)
	collected := c.increase
	ack(c, us, 4096, 3*us, true)
	require.Equal(t, int64(100_000), c.Window())
	require.Equal(t, collected, c.increase)
}

// The first acknowledgement arms a period of 12 + 9 us. A trim after its end finds how much was
// achieved: below 28 125 bytes the window jumps there, above only the trimmed packet is taken off.
func TestNSCCQuickAdapt(t *testing.T) {
	for _, v := range []struct {
		achieved, want int64
		adapts         bool
	}{{20_000, 20_000, true}, {30_000, 200_000 - 4160, false}} {
		c := makeNSCC(t, path100, map[string]string{"window": "200000"})
		ack(c, 0, 4096, 3*us, true)
		require.Equal(t, 21*us, c.adaptEnd)
		ack(c, 5*us, v.achieved, 3*us, true)
		c.OnSignal(22*us, Signal{Cause: Trimmed, Bytes: 4160, InFlight: 150_000})
		require.Equal(t, v.want, c.Window())
		if v.adapts {
			require.Equal(t, int64(150_000), c.toIgnore)
			require.Zero(t, c.ignored)
		}
		require.Zero(t, c.achieved, "a new period")
		require.Equal(t, 43*us, c.adaptEnd)
	}
}

// After a quick adapt the marks of the packets that were in flight are old news.
func TestNSCCIgnoresMarksOfTheOldFlight(t *testing.T) {
	c := makeNSCC(t, path100, map[string]string{"window": "200000"})
	ack(c, 0, 4096, 0, true)
	c.OnSignal(22*us, Signal{Cause: Trimmed, Bytes: 4160, InFlight: 12_000})
	adapted := c.Window()
	c.avgDelay = 100 * us
	ack(c, 40*us, 6000, 50*us, true)
	c.OnSignal(41*us, Signal{Cause: Trimmed, Bytes: 4160, InFlight: 100})
	require.Equal(t, adapted, c.Window(), "10 160 of 12 000 bytes heard of")
	ack(c, 42*us, 6000, 50*us, true)
	require.Equal(t, int64(4160+614), c.Window(), "the floor of one packet, and eta")
	require.Equal(t, 42*us, c.lastCut, "this mark counts again")
}

func TestNSCCDelayAverage(t *testing.T) {
	c := makeNSCC(t, path100, nil)
	for range 80 {
		ack(c, us, 0, 12*us, true)
	}
	require.InDelta(t, 7.613, c.avgDelay.Microseconds(), 0.001)
}

func TestNSCCDelayAverageDistrustsUnmarkedDelay(t *testing.T) {
	c := makeNSCC(t, path100, map[string]string{"weight": "0.5"})
	ack(c, us, 0, 20*us, false)
	require.Equal(t, 3*us/2, c.avgDelay, "half of a quarter of the base RTT")
}

// Of the last four delays the lower middle one counts; of fewer while the window is small.
func TestNSCCMedianDelay(t *testing.T) {
	c := makeNSCC(t, path100, map[string]string{"delay": "median"})
	for i, v := range []struct{ delay, want Time }{{8, 8}, {50, 8}, {6, 8}, {4, 6}, {5, 5}, {60, 5}, {70, 5}, {80, 60}, {1, 60}} {
		require.InDelta(t, float64(v.want*us), float64(c.median(v.delay*us)), 1100, "sample %d", i)
	}
	c.window = 4 * 4160
	require.InDelta(t, float64(us), float64(c.median(2*us)), 1100, "2 and 1: the lower")
	c.window = 4160
	require.InDelta(t, float64(90*us), float64(c.median(90*us)), 1100, "one packet: the newest")
	for range 20 {
		ack(c, us, 4160, 3*us, false)
	}
	require.InDelta(t, float64(3*us), float64(c.median(100*us)), 4200)
}

func TestNSCCDelayAverageByTime(t *testing.T) {
	c := makeNSCC(t, path100, map[string]string{"average": "time"})
	c.OnSent(0, 4160, 4160)
	ack(c, 6*us, 0, 8*us, true)
	require.Equal(t, 4*us, c.avgDelay, "half an RTT weighs half")
	ack(c, 60*us, 0, 8*us, true)
	require.Equal(t, 8*us, c.avgDelay, "more than an RTT replaces")
}

// A penalty of 64 takes about half of the window in one round trip; 25 packets of 4096 bytes are
// one window of 100 000.
func TestNSCCReceiverPenaltyAndRestore(t *testing.T) {
	c := makeNSCC(t, path100, map[string]string{"window": "100000"})
	for range 25 {
		c.OnAck(us, Ack{Delivered: 4096, InFlight: 150_000, RTT: base, Penalty: 64})
	}
	require.Equal(t, int64(48_800), c.Window())
	c.OnAck(us, Ack{InFlight: 20_000, RTT: base})
	require.Equal(t, int64(48_800), c.Window(), "the end of the penalty alone restores nothing")
	c.OnAck(us, Ack{Delivered: 128, InFlight: 19_872, RTT: base, Penalty: 1})
	require.Equal(t, int64(19_999), c.Window(), "a new one first takes off what is not in flight")
	c.OnAck(us, Ack{Delivered: 128, InFlight: 10_000, RTT: base, Penalty: 1})
	require.Equal(t, int64(19_998), c.Window(), "once")
	c.OnAck(us, Ack{InFlight: 20_000, RTT: base})
	c.OnAck(us, Ack{InFlight: 19_000, RTT: base, Restore: true})
	require.Equal(t, int64(100_000), c.Window())
	require.Zero(t, c.saved)
}

func TestNSCCPenaltyStopsEveryIncrease(t *testing.T) {
	c := makeNSCC(t, path100, map[string]string{"window": "100000"})
	for i := range 50 {
		c.OnAck(Time(i)*us, Ack{Delivered: 100, InFlight: 150_000, RTT: base + Time(i%20)*us, Penalty: 1})
		require.LessOrEqual(t, c.Window(), int64(100_000))
	}
	require.Zero(t, c.increase)
}

func TestNSCCPenaltyReachesTheFloor(t *testing.T) {
	c := makeNSCC(t, path100, map[string]string{"window": "100000"})
	for range 200 {
		c.OnAck(us, Ack{Delivered: 4096, InFlight: c.Window(), RTT: base, Penalty: 127})
	}
	require.Equal(t, int64(4160), c.Window())
}

func TestNSCCBaseRTTOnlyFalls(t *testing.T) {
	c := makeNSCC(t, path100, nil)
	c.OnAck(us, Ack{InFlight: 1, RTT: 20 * us})
	require.Equal(t, base, c.baseRTT)
	c.OnAck(us, Ack{InFlight: 1, RTT: 10 * us})
	require.Equal(t, 10*us, c.baseRTT)
	require.Equal(t, int64(187_500), c.maxWindow)
	require.LessOrEqual(t, c.Window(), c.maxWindow)
	require.Equal(t, 9*us, c.target, "the target stays with the network")
	require.Equal(t, base, c.adjustPeriod())

	guarded := makeNSCC(t, path100, map[string]string{"rttFloor": "11us"})
	guarded.OnAck(us, Ack{InFlight: 1, RTT: 10 * us})
	require.Equal(t, base, guarded.baseRTT, "a glitch is not believed")

	hosts := path100
	hosts.LeastRTT = 11 * us
	slow := makeNSCC(t, hosts, nil)
	slow.OnAck(us, Ack{InFlight: 1, RTT: 10 * us})
	require.Equal(t, 11*us, slow.baseRTT, "a round trip that was short by chance is no room for the others")
}

func TestNSCCLossesTakeTheirBytes(t *testing.T) {
	for _, cause := range []Cause{Inferred, TimedOut} {
		c := makeNSCC(t, path100, map[string]string{"window": "100000"})
		c.OnSignal(us, Signal{Cause: cause, Bytes: 4160, InFlight: 50_000})
		require.Equal(t, int64(95_840), c.Window())
		require.Equal(t, int64(4160), c.ignored)
		for range 100 {
			c.OnSignal(us, Signal{Cause: cause, Bytes: 4160, InFlight: 0})
		}
		require.Equal(t, int64(4160), c.Window())
	}
}

func TestNSCCTrimOnTheLastHopIsLeftToCredits(t *testing.T) {
	c := makeNSCC(t, path100, map[string]string{"window": "100000", "credits": "true"})
	c.OnSignal(us, Signal{Cause: Trimmed, Bytes: 4160, LastHop: true})
	require.Equal(t, int64(100_000), c.Window())
	c.OnSignal(us, Signal{Cause: Trimmed, Bytes: 4160})
	require.Equal(t, int64(95_840), c.Window())
}

// An acknowledgement without an RTT sample runs with the average delay, unless it is told to only
// count.
func TestNSCCWithoutSample(t *testing.T) {
	for _, c := range []struct {
		noSample string
		grows    bool
	}{{"average", true}, {"skip", false}} {
		n := makeNSCC(t, path100, map[string]string{"window": "100000", "noSample": c.noSample})
		n.OnAck(us, Ack{Delivered: 40_000, InFlight: 1, RTT: NoSample})
		require.Equal(t, c.grows, n.Window() > 100_000, c.noSample)
	}
}

// Each line of the table of variants in nscc.go.
func TestNSCCVariants(t *testing.T) {
	both := func(check func(c *nscc, htsim bool)) {
		for _, variant := range []string{"spec", "htsim"} {
			check(makeNSCC(t, path100, map[string]string{"window": "100000", "variant": variant}), variant == "htsim")
		}
	}
	both(func(c *nscc, htsim bool) { // the end of the period
		ack(c, 0, 0, 0, true)
		c.OnSignal(21*us, Signal{Cause: Trimmed, Bytes: 4160, InFlight: 1000})
		require.Equal(t, !htsim, c.Window() == 4160)
	})
	both(func(c *nscc, htsim bool) { // bytes ignored after quick adapt
		ack(c, 0, 0, 0, true)
		c.OnSignal(22*us, Signal{Cause: Trimmed, Bytes: 4160, InFlight: 1000})
		require.Equal(t, htsim, c.toIgnore == 5160)
		require.Equal(t, !htsim, c.toIgnore == 1000)
	})
	both(func(c *nscc, htsim bool) { // inferred loss
		c.OnSignal(us, Signal{Cause: Inferred, Bytes: 4160})
		require.Equal(t, htsim, c.Window() == 100_000)
	})
	both(func(c *nscc, htsim bool) { // timeout
		c.OnSignal(us, Signal{Cause: TimedOut, Bytes: 4160})
		require.Equal(t, int64(95_840), c.Window())
		require.Equal(t, htsim, c.ignored == 0)
	})
	both(func(c *nscc, htsim bool) { // a long delay alone
		ack(c, 0, 0, 0, true)
		ack(c, 22*us, 4096, 37*us, true)
		require.Equal(t, htsim, c.Window() == 4160)
	})
	both(func(c *nscc, htsim bool) { // a trimmed packet's RTT
		c.OnSignal(us, Signal{Cause: Trimmed, Bytes: 4160, RTT: 11 * us})
		require.Equal(t, htsim, c.baseRTT == 11*us)
	})
}

func TestNSCCIsIndifferentToWhenItStarts(t *testing.T) {
	run := func(start Time) (windows []int64) {
		c := makeNSCC(t, path100, nil)
		c.OnSent(start, 4160, 4160)
		for i := range 200 {
			now := start + base + Time(i)*us
			ack(c, now, 4160, Time(i%25)*us, i%3 == 0)
			windows = append(windows, c.Window())
		}
		return windows
	}
	require.Equal(t, run(0), run(instant.Second))
}

func TestNSCCStateIsSmall(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(nscc{}), uintptr(200))
}
