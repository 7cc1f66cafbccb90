package core

import (
	"math/bits"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/spray"
	"github.com/weft-transport/weft/transport/splitmix"
	"github.com/weft-transport/weft/transport/wire"
)

// A ccc is a congestion control context: everything to one destination in the data class. Its
// contexts share one window, one rate and one sprayer ("CCC", UE Specification, section 3.6.13).
//
// A context with something to send is in the Endpoint's chain for retransmissions, for data, or
// both. Whoever finds it blocked takes it out; an acknowledgement, a timer or new work puts it
// back.
type ccc struct {
	peer       Addr
	pdcs       uint32 // first PDC; linked by sibling
	rtx, data  chain  // PDCs with packets held lost, with new packets
	inFlight   int64  // units; below 0 for a moment when acknowledgements overtake estimates
	window     int64  // bytes, as the controller last said
	credit     int64  // bytes, likewise: nothing of a PDC leaves unless above 0 (credit.go)
	rate       int64  // bits per second; 0: not paced
	release    Time   // when paced: when it is no longer ahead of its rate
	due        Time   // the controller's deadline
	scheduled  Time
	baseRTT    Time
	madeFor    Time   // base RTT that the controller and the sprayer know
	guess      Time   // what a round trip takes at most, while there is no sample; 0: no idea
	srtt       Time   // smoothed; 0 before the first sample
	least      Time   // smallest sample; 0 before the first
	runEV      uint16 // entropy value of the current run
	runLeft    uint16 // packets it may still serve
	generation uint8  // of the peer's receive queues, as last heard
	marks      uint32 // marked acknowledgements so far
	tooFast    bool   // as far ahead as it may be: the next packet waits for release
	unwanted   bool   // forgotten when nothing uses it any more (release.go)
}

// An algorithms holds what a ccc cannot, because it has pointers.
type algorithms struct {
	controller congestion.Controller
	sprayer    spray.Sprayer
}

// contextTo finds or makes the context towards a peer.
func (e *Endpoint) contextTo(peer Addr) uint32 {
	key := uint64(peer) + 1
	if i := e.byPeer.get(key); i != 0 {
		return i
	}
	i := e.freeContext()
	e.contexts[i] = ccc{peer: peer, baseRTT: e.cfg.baseRTT(e.self, peer), scheduled: e.contexts[i].scheduled, due: Never, credit: congestion.Unlimited}
	e.makeAlgorithms(i)
	if e.onCredit() {
		e.openCredit(i)
	}
	e.byPeer.put(key, i)
	e.refresh(i)
	return i
}

// leastRTT is what hosts take, if it is known: round trips that were short by chance would leave too small a window for those
// that are not.
func (e *Endpoint) leastRTT(peer Addr) Time {
	if e.cfg.LearnRTT {
		return e.cfg.baseRTT(e.self, peer)
	}
	return 0
}

// makeAlgorithms gives a context the controller and the sprayer of its path.
func (e *Endpoint) makeAlgorithms(ci uint32) {
	c := &e.contexts[ci]
	c.madeFor = c.baseRTT
	path := congestion.Path{LineRateBps: e.cfg.LineRateBps, BaseRTT: c.baseRTT, LeastRTT: e.leastRTT(c.peer), MTU: e.nominalMTU, MSS: int64(e.cfg.PayloadMTU),
		Trimming: e.cfg.Trimming, Seed: splitmix.Mix(e.cfg.Seed ^ splitmix.Mix(uint64(e.self)<<32|uint64(c.peer)))}
	e.algorithms[ci] = algorithms{
		e.cfg.NewController(path),
		e.cfg.NewSprayer(spray.Path{BaseRTT: c.baseRTT, BDPPackets: max(1, int(path.BDP()/path.MTU)), Trimming: e.cfg.Trimming, Seed: splitmix.Mix(path.Seed)}),
	}
}

// learn takes a new RTT sample into the base RTT. Queues and sleeping peers make the first ones too long, so what follows from them is
// made again when they turn out to be.
func (e *Endpoint) learn(ci uint32) {
	c := &e.contexts[ci]
	c.baseRTT = max(e.cfg.baseRTT(e.self, c.peer), c.least)
	if !e.onCredit() && (c.baseRTT > 2*c.madeFor || 2*c.baseRTT < c.madeFor) {
		e.makeAlgorithms(ci)
	}
}

// freeContext finds a slot for a context.
func (e *Endpoint) freeContext() uint32 {
	if n := len(e.contextsFree); n > 0 {
		i := e.contextsFree[n-1]
		e.contextsFree = e.contextsFree[:n-1]
		return i
	}
	e.algorithms, e.contexts = append(e.algorithms, algorithms{}), append(e.contexts, ccc{scheduled: Never})
	e.rtxReadyLink, e.dataReadyLink = append(e.rtxReadyLink, 0), append(e.dataReadyLink, 0)
	return uint32(len(e.contexts) - 1)
}

// refresh reads the controller's answers after it was told something.
func (e *Endpoint) refresh(ci uint32) {
	c, cc := &e.contexts[ci], e.algorithms[ci].controller
	c.window, c.rate, c.due = cc.Window(), cc.Rate(), cc.Deadline()
	if e.onCredit() {
		c.credit = e.credits[ci].account.Credit()
	}
	if c.due != Never {
		e.arm(timerContext|ci, &c.scheduled, c.due)
	}
}

// bytes turns units into bytes as the controller knows them.
func (e *Endpoint) bytes(units int64) int64 {
	if e.plainUnits {
		return units * wire.BytesUnit
	}
	return units * e.nominalMTU / e.fullUnits
}

// admits tells whether a packet of that many units may leave now. An empty network takes one
// packet whatever the window.
func (e *Endpoint) admits(now Time, c *ccc, units uint8) bool {
	if c.waits(now) {
		return false
	}
	return c.inFlight <= 0 || e.bytes(c.inFlight+int64(units)) <= c.window
}

// waits tells whether a context's rate holds it back.
func (c *ccc) waits(now Time) bool { return c.rate != 0 && c.tooFast && now < c.release }

// awaitRelease sets the timer of a context that only its rate holds back.
func (e *Endpoint) awaitRelease(now Time, ci uint32) {
	if c := &e.contexts[ci]; c.waits(now) {
		e.arm(timerContext|ci, &c.scheduled, c.release)
	}
}

// booked accounts for a packet that leaves.
func (e *Endpoint) booked(now Time, ci uint32, units uint8) {
	c := &e.contexts[ci]
	c.inFlight += int64(units)
	size := e.bytes(int64(units))
	if c.rate != 0 {
		c.release = max(c.release, now) + serialisation(size, c.rate)
		c.tooFast = c.release >= now+e.cfg.PacingSlack
	}
	e.algorithms[ci].controller.OnSent(now, size, e.bytes(c.inFlight))
	e.refresh(ci)
}

// serialisation returns how long so many bytes take at a rate in bits per second, rounded up.
func serialisation(bytes, rateBps int64) Time {
	high, low := bits.Mul64(uint64(bytes)*8, 1e12)
	if high >= uint64(rateBps) {
		return Never / 2
	}
	q, r := bits.Div64(high, low, uint64(rateBps))
	if r != 0 {
		q++
	}
	return Time(min(q, uint64(Never/2)))
}

// kick puts a context with work back into the Endpoint's chains.
func (e *Endpoint) kick(ci uint32) {
	c := &e.contexts[ci]
	if c.rtx.tail != 0 {
		e.rtxReady.push(e.rtxReadyLink, ci)
	}
	if c.data.tail != 0 {
		e.dataReady.push(e.dataReadyLink, ci)
	}
	if e.onCredit() {
		e.share(ci)
	}
}

// wake puts a PDC with work back into the chains of its context, and that into the Endpoint's:
// other PDCs of the context may have waited for the room that this one's news made.
func (e *Endpoint) wake(i uint32) {
	pd := &e.pdcs[i]
	c := &e.contexts[pd.context]
	if pd.holdUntil == 0 && pd.sending() {
		if pd.lost != 0 {
			c.rtx.push(e.rtxLink, i)
		}
		if pd.first != 0 {
			c.data.push(e.dataLink, i)
		}
	}
	e.kick(pd.context)
}

// fireContext runs the controller's timer and releases a paced context.
func (e *Endpoint) fireContext(now, at Time, ci uint32) {
	c := &e.contexts[ci]
	if !fires(&c.scheduled, at) {
		return
	}
	switch {
	case c.due <= now:
		e.algorithms[ci].controller.OnTimeout(now)
		e.refresh(ci)
		if c.due <= now { // a controller that does not move its deadline must not stop the clock
			e.arm(timerContext|ci, &c.scheduled, now+1)
		}
	case c.due != Never: // it has moved
		e.arm(timerContext|ci, &c.scheduled, c.due)
	}
	if e.onCredit() {
		e.fireCredit(now, ci)
	}
	e.kick(ci)
}

// sample folds an RTT measurement into the smoothed one (RFC 6298, weight 1/8).
func (c *ccc) sample(rtt Time) {
	if c.srtt == 0 {
		c.srtt, c.least = rtt, rtt
		return
	}
	c.srtt += (rtt - c.srtt) / 8
	c.least = min(c.least, rtt)
}

// tooSoon tells whether an answer that comes so long after a packet was sent cannot be about
// that transmission: the configured base RTT says nothing of near peers, so it is measured.
func (c *ccc) tooSoon(after Time) bool { return after < c.least-c.least/4 }

// expectedRTT is the smoothed round trip, or the idle one before there is a sample.
func (c *ccc) expectedRTT() Time {
	if c.srtt == 0 {
		return c.baseRTT
	}
	return c.srtt
}

// signal tells controller and sprayer of a packet that is gone. Its units have left the flight.
func (e *Endpoint) signal(now Time, ci uint32, s congestion.Signal, units uint8) {
	s.Bytes, s.InFlight = e.bytes(int64(units)), e.bytes(e.contexts[ci].inFlight)
	e.algorithms[ci].controller.OnSignal(now, s)
	e.refresh(ci)
}
