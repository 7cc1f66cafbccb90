package congestion

import (
	"math"

	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// NSCC: network-signal-based congestion control, the sender's half (UE Specification 1.0,
// section 3.6.13). One byte window spans all paths of a context. The sprayer answers trouble on
// a single path; NSCC answers only when the trouble is general:
//
//	                 delay < target                delay >= target
//	  not marked     proportional increase,        fair increase: the same small
//	                 fast when delay is near zero  step for every flow
//	  marked         nothing: a queue just begins  multiplicative decrease, at most
//	                 to grow, on this path only    once per round trip
//
// The increases are collected in bytes squared and turned into window by fulfil, after eight
// full packets or one period; a period also brings the constant increase eta. Quick adapt
// replaces the window by what the network delivered in a period in which nearly everything was
// lost, and then digests the marks of the packets sent before.
//
// The variant parameter chooses where the specification and its reference simulator part. The
// simulator's behaviour is needed to compare with results published from it.
//
//	                                   spec                    htsim
//	period of quick adapt ends         at its end              after its end
//	bytes ignored after quick adapt    in flight               in flight and the trimmed packet
//	inferred loss                      window -= packet        window kept
//	timeout                            also counts as ignored  only window -= packet
//	trim on the last hop with credits  nothing                 quick adapt, no other decrease
//	high delay starts quick adapt      without trimming only   always
//	a trimmed packet's RTT             not used                may lower the base RTT
//
// Both: an acknowledgement without an RTT sample runs with the average delay (noSample=skip is for
// comparison: it leaves a sender that goes back, and resends the same packets, without any increase); the
// average delay is fed before the window is decided; a trim feeds it one configured
// RTT, as marked; only base RTT and largest window follow measurements down, while target, gains
// and period stay at the configured RTT; fair increase leaves the run of zero-delay bytes alone.

func init() {
	Registry.Register(param.Entry[Maker]{
		Name:   "nscc",
		Doc:    "Ultra Ethernet sender-based control: one window over all paths from ECN marks, delay and trims.",
		Source: "UE Specification 1.0, section 3.6.13; uet-htsim uec.cpp for variant=htsim",
		Params: nsccParamList,
		New: func(v param.Values) (Maker, error) {
			p := readNSCC(v)
			p.credits = v.Bool("credits")
			return func(path Path) Controller { return newNSCC(p, path) }, nil
		},
	})
}

// nscc is the state of one context. It is kept under 200 bytes: a run may hold a million.
type nscc struct {
	p          *nsccParams
	window     int64 // bytes
	maxWindow  int64 // bytes; falls with baseRTT
	rateBps    int64
	baseRTT    Time // smallest round-trip time known
	leastRTT   Time // as Path.LeastRTT
	networkRTT Time // as configured: unit of periods and gains
	target     Time // queueing delay aimed at
	scale      float64
	mtu, mss   int32

	avgDelay   Time
	lastSample Time
	increase   float64 // collected increase, bytes squared: divided by the window when applied
	quietBytes int64   // bytes acknowledged in a row with next to no delay
	received   int64   // bytes acknowledged since the last fulfil
	lastAdjust Time    // last eta
	lastCut    Time    // last multiplicative decrease

	adaptEnd Time  // end of the quick-adapt period
	achieved int64 // bytes acknowledged in it
	toIgnore int64 // bytes in flight at the last quick adapt, whose marks are old news
	ignored  int64 // bytes heard of since

	saved int64 // window before the receiver's penalty; 0: none

	recent [4]uint32 // delays of the last samples, units of 1.024 ns, the newest at seen-1; for delay=median
	seen   uint8     // samples, counting up to 4 and then from 4 to 7 again

	started   bool // the periods count from the first packet
	armed     bool // adaptEnd is set
	fast      bool // fast increase is on
	adaptNow  bool // a trim asks for quick adapt
	rcvLimits bool // the receiver is the bottleneck: no increase
	trimming  bool // as Path.Trimming
}

func newNSCC(p *nsccParams, path Path) *nscc {
	c := &nscc{
		p: p, rateBps: path.LineRateBps, baseRTT: path.BaseRTT, leastRTT: path.LeastRTT, networkRTT: path.BaseRTT,
		target: p.targetFor(path), trimming: path.Trimming, mtu: int32(path.MTU), mss: int32(path.MSS),
		scale: float64(path.BDP()) / p.referenceBDP(),
	}
	c.setMaxWindow()
	c.window = c.maxWindow
	if p.window.Has("window") {
		c.window = p.window.Bytes("window", path.BDP())
	}
	c.clamp()
	return c
}

// setMaxWindow makes the largest window follow the base RTT.
func (c *nscc) setMaxWindow() {
	bdp := Path{LineRateBps: c.rateBps, BaseRTT: c.baseRTT, MTU: int64(c.mtu)}.BDP()
	c.maxWindow = max(int64(c.p.maxWindow*float64(bdp)), c.minWindow())
}

func (c *nscc) minWindow() int64 { return c.p.minWindow * int64(c.mtu) }

func (c *nscc) clamp() { c.window = min(max(c.window, c.minWindow()), c.maxWindow) }

func (c *nscc) Window() int64  { return c.window }
func (c *nscc) Rate() int64    { return 0 }
func (c *nscc) Deadline() Time { return instant.Never }
func (c *nscc) OnTimeout(Time) {}

func (c *nscc) adjustPeriod() Time { return c.p.adjustPeriodFor(c.networkRTT) }

// payloads returns k payloads of a full packet, scaled to the network, in bytes.
func (c *nscc) payloads(k float64) float64 { return k * float64(c.mss) * c.scale }

// OnSent starts the periods with the first packet, so that a context behaves the same whenever
// it is made.
func (c *nscc) OnSent(now Time, bytes, inFlight int64) {
	if !c.started {
		c.started = true
		c.lastAdjust, c.lastCut, c.lastSample = now, now, now
	}
}

func (c *nscc) OnAck(now Time, a Ack) {
	c.received += a.Delivered
	c.achieved += a.Delivered
	c.ignored += a.Delivered
	c.penalise(a)
	delay, known := c.sample(now, a)
	if !known && !c.p.averageForMissing {
		c.clamp()
		return
	}
	if c.quickAdapt(now, a.InFlight, a.Marked, false, delay) {
		c.clamp()
		return
	}
	c.quadrant(now, a.Delivered, a.Marked, delay)
	c.clamp()
	if c.received > c.p.adjustPackets*int64(c.mtu) || now-c.lastAdjust > c.adjustPeriod() {
		c.fulfil(now)
	}
	c.clamp()
}

// penalise follows the receiver's request for less (destination flow control): 64 about halves
// the window in one round trip of acknowledgements, 127 leads to the floor. The first request also
// takes off what is not in flight, once: repeated, it would chase the bytes in flight to nothing.
func (c *nscc) penalise(a Ack) {
	if a.Penalty == 0 {
		c.rcvLimits = false
		if a.Restore && c.saved != 0 {
			c.window = max(c.window, c.saved)
			c.saved = 0
		}
		return
	}
	if c.saved == 0 {
		c.saved = c.window
	}
	if !c.rcvLimits {
		c.window = min(c.window, a.InFlight+a.Delivered)
		c.rcvLimits = true
	}
	c.window = max(c.window-int64(a.Penalty)*a.Delivered>>7, c.minWindow())
}

// sample turns the RTT of an acknowledgement into a queueing delay and feeds the average. Without
// a sample the average itself is the best guess.
func (c *nscc) sample(now Time, a Ack) (delay Time, known bool) {
	if a.RTT <= 0 {
		return c.avgDelay, false
	}
	c.lowerBase(a.RTT)
	delay = max(a.RTT-c.baseRTT, 0)
	if c.p.median {
		delay = c.median(delay)
	}
	c.average(now, delay, a.Marked)
	return delay, true
}

// median returns the median, of an even number the lower one, of the last min(window/2, 4) samples, window in packets
// (M-NSCC): one slow path among many does not move it.
func (c *nscc) median(delay Time) Time {
	c.recent[c.seen&3] = uint32(min(delay>>10, math.MaxUint32))
	if c.seen++; c.seen == 8 {
		c.seen = 4
	}
	var sorted [4]uint32
	n := int(min(c.window/int64(c.mtu)/2, 4, int64(c.seen)))
	for k := range max(n, 1) {
		v, at := c.recent[(c.seen-1-uint8(k))&3], k
		for ; at > 0 && sorted[at-1] > v; at-- {
			sorted[at] = sorted[at-1]
		}
		sorted[at] = v
	}
	return Time(sorted[(max(n, 1)-1)/2]) << 10
}

// lowerBase takes a smaller round-trip time for the base. Below rttFloor it is a glitch of some
// clock: believing it would make every later sample look like a queue.
func (c *nscc) lowerBase(rtt Time) {
	if rtt <= 0 || rtt < c.p.rttFloor {
		return
	}
	if rtt = max(rtt, c.leastRTT); rtt >= c.baseRTT {
		return
	}
	c.baseRTT = rtt
	c.setMaxWindow()
}

// average feeds the delay average. Delay without a mark is a queue that drains already: it
// must not push the average up.
func (c *nscc) average(now, delay Time, marked bool) {
	x := float64(delay)
	if !marked && delay > c.target {
		x = c.p.drainSample * float64(c.baseRTT)
	}
	w := c.p.weight
	if c.p.weightByTime {
		w = min(1, float64(now-c.lastSample)/float64(c.baseRTT))
		c.lastSample = now
	}
	c.avgDelay = Time(float64(w*x) + float64((1-w)*float64(c.avgDelay)))
}

// quadrant acts on mark and delay as the table at the top of the file says.
func (c *nscc) quadrant(now Time, delivered int64, marked bool, delay Time) {
	high := delay >= c.target
	switch {
	case marked && high:
		c.decrease(now)
	case marked || c.rcvLimits: // the path is the sprayer's business, the receiver's limit its own
	case high:
		c.increase += float64(c.payloads(c.p.fair) * float64(delivered))
	default:
		c.proportional(delivered, delay)
	}
}

// proportional increases by the distance from the target; after a whole window with next to no
// delay, fast: at once and in proportion to what was acknowledged.
func (c *nscc) proportional(delivered int64, delay Time) {
	if delay < c.p.fastDelay {
		c.quietBytes += delivered
		if c.quietBytes > c.window || c.fast {
			c.window = int64(float64(c.window) + float64(float64(delivered)*c.p.fast*c.scale))
			c.fast = true
			return
		}
	} else {
		c.quietBytes = 0
	}
	c.fast = false
	perTime := c.payloads(c.p.alpha) / float64(c.p.referenceRTT)
	c.increase += float64(perTime * float64(delivered) * float64(c.target-delay))
}

// decrease cuts by how far the average delay is above the target, at most once per round trip.
func (c *nscc) decrease(now Time) {
	c.fast = false
	c.quietBytes = 0
	if c.avgDelay <= c.target || now-c.lastCut <= c.baseRTT {
		return
	}
	over := float64(c.avgDelay-c.target) / float64(c.avgDelay)
	factor := max(1-float64(c.p.gamma*over), 1-c.p.maxCut)
	c.window = max(int64(float64(c.window)*factor), c.minWindow())
	c.lastCut = now
}

// fulfil turns the collected increase into window, and adds eta once per period.
func (c *nscc) fulfil(now Time) {
	c.window += int64(c.increase / float64(c.window))
	if now-c.lastAdjust >= c.adjustPeriod() {
		if !c.rcvLimits {
			c.window += int64(c.payloads(c.p.eta))
		}
		c.lastAdjust = now
	}
	c.increase = 0
	c.received = 0
}

// quickAdapt jumps to what the network delivered in the last period if that was very little and
// there was loss; it reports whether the caller has nothing more to decide.
//
//	            first news             period over
//	(not armed) ----------> (counting) ------------> restart the period, and
//	                            ^                    achieved < max/2^gate, and trouble:
//	                            |                      window = achieved, then
//	                            +--------------------  ignore marks for the bytes in flight
func (c *nscc) quickAdapt(now Time, inFlight int64, marked, loss bool, delay Time) bool {
	if !c.p.quickAdapt {
		return false
	}
	done := false
	if marked && c.ignored < c.toIgnore {
		done = true
	} else if c.periodOver(now) {
		if c.armed && (loss || c.adaptNow || c.delayTriggers(delay)) && c.achieved < c.maxWindow>>c.p.gate {
			c.window = max(c.achieved, c.minWindow())
			c.toIgnore, c.ignored = inFlight, 0
			c.adaptNow = false
			done = true
		}
		c.achieved = 0
		c.armed = true
		c.adaptEnd = now + c.baseRTT + c.target
	}
	if done {
		c.increase = 0
		c.received = 0
	}
	return done
}

func (c *nscc) periodOver(now Time) bool {
	if c.p.htsim {
		return !c.armed || now > c.adaptEnd
	}
	return !c.armed || now >= c.adaptEnd
}

// delayTriggers tells whether the delay alone is trouble enough for quick adapt.
func (c *nscc) delayTriggers(delay Time) bool {
	limit := c.p.adaptDelayFor(c.trimming)
	return limit > 0 && float64(delay) > limit*float64(c.target)
}

func (c *nscc) OnSignal(now Time, s Signal) {
	switch s.Cause {
	case Trimmed:
		c.onTrim(now, s)
	case Inferred:
		if !c.p.htsim {
			c.ignored += s.Bytes
			c.window -= s.Bytes
		}
	case TimedOut:
		if !c.p.htsim {
			c.ignored += s.Bytes
		}
		c.window -= s.Bytes
	}
	c.clamp()
}

// onTrim reacts to a packet that met a full queue: that queue held about one round trip's worth.
func (c *nscc) onTrim(now Time, s Signal) {
	c.ignored += s.Bytes
	inFlight := s.InFlight
	if c.p.htsim {
		c.lowerBase(s.RTT)
		inFlight += s.Bytes
	}
	c.average(now, c.networkRTT, true)
	repairedByCredits := s.LastHop && c.p.credits
	if repairedByCredits && !c.p.htsim {
		return
	}
	c.adaptNow = true
	if !c.quickAdapt(now, inFlight, true, true, 0) && !repairedByCredits {
		c.window -= s.Bytes
	}
}
