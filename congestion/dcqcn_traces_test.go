package congestion

import (
	"fmt"
	"math"
	"math/rand"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/instant"
)

// Rate traces of DCQCN as adapters have it, k senders of 100 Gb/s into one link of 100 Gb/s, under the switch and sender
// settings of two artifacts (ns-3). A golden trace shows every half millisecond; what must hold of them is derived below.
//
// They also show what both settings have in common: cuts in a row leave the target at line rate (clampTarget=false), so the
// first timed increase takes all senders to half of it at once, and the queue that follows is longer than that of the first burst.
//
// The queue takes packets of 1000 bytes from all senders, which start at line rate at once, and marks at dequeue. A
// receiver notifies each sender every 4 us at most; news takes 6 us from the queue to the sender. Nothing is lost: this is
// the lossless fabric, without the pauses, and once more with those that a buffer under a dynamic threshold asks for
// (dcqcn_pauses_test.go).

type redSettings struct {
	name             string
	kmin, kmax, pmax float64
	given            map[string]string
	buffer           sharedBuffer
}

var redOfArtifacts = []redSettings{
	{"hpcc", 400e3, 1600e3, 0.2, map[string]string{"form": "nic"},
		sharedBuffer{bytes: 32e6, alpha: 1. / 8, reserve: 4e3, headroom: 37.5e3, hysteresis: 3e3}},
	{"conweave", 100e3, 400e3, 0.2, map[string]string{"form": "nic", "rateAI": "40Mbps", "rateHAI": "100Mbps"},
		sharedBuffer{bytes: 9e6, alpha: 1. / 16, reserve: 1e3, headroom: 27e3, hysteresis: 16e3}},
}

const (
	tracePacket   = 1000
	traceStep     = 80 * instant.Nanosecond // a packet at 100 Gb/s
	traceFeedback = 6 * us
	traceCNP      = 4 * us
)

// A tracedFlow is a sender with what is on its way back to it.
type tracedFlow struct {
	c        Controller
	credit   float64 // bytes that its rate has earned
	lastCNP  Time
	hearsAt  []Time
	received int
	port     ingressPort
}

type rateTrace struct {
	set       redSettings
	flows     []*tracedFlow
	queue     []int // flow of each packet, first to be served first
	peak      int
	served    int
	rnd       *rand.Rand
	firstMark Time
	pool      *pool // nil: no pauses
}

func newRateTrace(t *testing.T, set redSettings, k int) *rateTrace {
	maker, _, err := Registry.Make("dcqcn", set.given)
	require.NoError(t, err)
	r := &rateTrace{set: set, rnd: rand.New(rand.NewSource(1)), firstMark: instant.Never}
	for range k {
		r.flows = append(r.flows, &tracedFlow{c: maker(Path{LineRateBps: 100e9, BaseRTT: 8400 * instant.Nanosecond, MTU: tracePacket, MSS: tracePacket}), lastCNP: -us * 100})
	}
	return r
}

func (r *rateTrace) marks() bool {
	q := float64(len(r.queue) * tracePacket)
	switch {
	case q <= r.set.kmin:
		return false
	case q > r.set.kmax:
		return true
	}
	return r.rnd.Float64() < r.set.pmax*(q-r.set.kmin)/(r.set.kmax-r.set.kmin)
}

// step is the time of one packet.
func (r *rateTrace) step(now Time) {
	for i := range r.flows {
		f := r.flows[(i+int(now/traceStep))%len(r.flows)]
		for len(f.hearsAt) > 0 && f.hearsAt[0] <= now {
			f.hearsAt = f.hearsAt[1:]
			f.c.OnSignal(now, Signal{Cause: CNP})
		}
		if f.c.Deadline() <= now {
			f.c.OnTimeout(now)
		}
		f.credit += float64(f.c.Rate()) / 8 * traceStep.Seconds()
		if f.port.holds(now) {
			f.credit = min(f.credit, tracePacket)
			continue
		}
		if f.credit >= tracePacket {
			f.credit -= tracePacket
			f.c.OnSent(now, tracePacket, 0)
			r.queue = append(r.queue, (i+int(now/traceStep))%len(r.flows))
			r.pool.enters(now, &f.port)
		}
	}
	r.peak = max(r.peak, len(r.queue))
	if len(r.queue) == 0 {
		return
	}
	f := r.flows[r.queue[0]]
	r.pool.takes(&f.port)
	marked := r.marks()
	r.queue = r.queue[1:]
	r.served++
	f.received++
	r.pool.leaves(now, r.flows)
	if !marked {
		return
	}
	r.firstMark = min(r.firstMark, now)
	if now-f.lastCNP >= traceCNP {
		f.lastCNP = now
		f.hearsAt = append(f.hearsAt, now+traceFeedback)
	}
}

// row is one line of the golden trace.
func (r *rateTrace) row(now Time) string {
	low, high, sum := math.Inf(1), 0.0, 0.0
	for _, f := range r.flows {
		rate := float64(f.c.Rate()) / gbps
		low, high, sum = min(low, rate), max(high, rate), sum+rate
	}
	return fmt.Sprintf("%6.0f %9.3f %9.3f %9.2f %8d\n", now.Microseconds(), low, high, sum, len(r.queue)*tracePacket/1000)
}

// burstBound is the longest that the queue can get before the first timed increase, 300 us after the first cut. It passes Kmax after the senders have had time to fill it; from then on every
// packet is marked, the oldest packet of each sender is served within the queue's own length in time, and news of it is
// back after the feedback time and the wait for the next check. Every check then cuts by alpha/2. Alpha begins at 1 and falls by g in each of
// three silent ticks of four at most, so in n checks it is above (1-g)^(3n) and a cut leaves 1 - that/2. A notification every 4 us and
// a check every 4 us may miss each other once, so a cut takes two periods at most.
func (r *rateTrace) burstBound() float64 {
	const c = 100e9 / 8 // bytes per second
	k := float64(len(r.flows))
	hears := traceFeedback + traceCNP + Time(k)*traceStep
	bound := r.set.kmax + (k-1)*c*hears.Seconds()
	for n, left := 1.0, k; left > 1; n++ {
		left *= 1 - math.Pow(1-1./256, 3*n)/2
		bound += max(0, left-1) * c * (2 * traceCNP).Seconds()
	}
	return bound
}

func TestDCQCNRateTraces(t *testing.T) {
	for _, set := range redOfArtifacts {
		for _, k := range []int{2, 16, 60} {
			r := newRateTrace(t, set, k)
			name := fmt.Sprintf("dcqcn_trace_%s_%d", set.name, k)
			burst, use := r.run(t, name, fmt.Sprintf("# DCQCN, %d to 1 at 100 Gb/s, %s settings: lowest and highest rate, sum (Gb/s), queue (KB)\n# us\n", k, set.name))
			peak := float64(r.peak * tracePacket)
			require.LessOrEqual(t, burst, r.burstBound(), "%s: the queue of the first burst", name)
			unheard := float64(k-1) * 100e9 / 8 * traceFeedback.Seconds()
			require.GreaterOrEqual(t, burst, set.kmin+unheard, "%s: nobody can hear of the first mark sooner", name)
			require.InDelta(t, set.kmin/(float64(k-1)*12.5e9), r.firstMark.Seconds(), set.kmax/(float64(k-1)*12.5e9), "%s: marks begin above Kmin", name)
			t.Logf("%s: burst %.0f KB of %.0f, peak %.0f, use %.3f, jain %.3f", name, burst/1000, r.burstBound()/1000, peak/1000, use, jain(r.flows))
			if k <= 16 { // 60 have not found their shares in 10 ms: their queue, which no pause bounds here, has not drained
				require.Greater(t, jain(r.flows), 0.99, "%s: equal senders", name)
			}
			require.Greater(t, use, 0.95, "%s: the link is used", name)
		}
	}
}

// run plays ten milliseconds, holds them against the golden trace, and returns the longest queue before the first timed increase
// and the use of the link in the second half.
func (r *rateTrace) run(t *testing.T, name, head string) (burst, use float64) {
	const length = 10 * instant.Millisecond
	half := 0
	for now := Time(0); now < length; now += traceStep {
		if now%(500*us) < traceStep {
			head += r.row(now)
		}
		if now < 300*us {
			burst = float64(r.peak * tracePacket)
		}
		if now == length/2 {
			half = r.served
		}
		r.step(now)
	}
	requireGolden(t, name, head)
	return burst, float64(r.served-half) / float64((length/2)/traceStep)
}

// jain is the fairness index of what the flows got.
func jain(flows []*tracedFlow) float64 {
	sum, squares := 0.0, 0.0
	for _, f := range flows {
		x := float64(f.received)
		sum, squares = sum+x, squares+float64(x*x)
	}
	return sum * sum / squares / float64(len(flows))
}

func requireGolden(t *testing.T, name, text string) {
	t.Helper()
	file := "testdata/" + name + ".txt"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, strings.TrimSpace(string(want)), strings.TrimSpace(text))
}
