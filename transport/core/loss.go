package core

import (
	"math/bits"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/spray"
	"github.com/weft-transport/weft/transport/wire"
)

// A packet is held lost by one of four rules, and by nothing else:
//
//	a NACK says so                                  nack.go
//	its timeout has passed since it was last sent   rto.go
//	later packets arrived (if configured)           here, by their number; overtaken.go
//	a probe overtook it (if configured)             probe.go
//
// A clear bit of a selective map alone declares nothing: under spraying, packets overtake each
// other all the time.

// lose holds an outstanding PSN lost: it leaves the flight and waits to be sent again.
func (e *Endpoint) lose(pd *sendPDC, psn uint32) {
	units := int32(e.packet(pd, psn).units)
	pd.room.set(e.lostMap, psn)
	pd.lost++
	if before(psn, pd.lostFrom) || pd.lost == 1 {
		pd.lostFrom = psn
	}
	pd.flight -= units
	e.contexts[pd.context].inFlight -= int64(units)
}

// loseFrom holds everything outstanding from psn on lost: an ordered context goes back.
func (e *Endpoint) loseFrom(pd *sendPDC, psn uint32) {
	for ; psn != pd.next; psn++ {
		if e.outstanding(pd, psn) && e.packet(pd, psn).flags&packetClose == 0 {
			e.lose(pd, psn)
		}
	}
}

// lowestLost returns the first PSN that is held lost; there is one.
func (e *Endpoint) lowestLost(pd *sendPDC) uint32 {
	for psn := pd.lostFrom; before(psn, pd.next); psn += blockPSNs {
		set := pd.room.get64(e.lostMap, psn)
		if left := pd.next - psn; left < blockPSNs {
			set &= 1<<left - 1
		}
		if set != 0 {
			pd.lostFrom = psn + uint32(bits.TrailingZeros64(set))
			return pd.lostFrom
		}
	}
	panic("core: a context counts lost packets that its bitmap does not have")
}

// inferred holds a PSN lost by inference and tells controller and sprayer.
func (e *Endpoint) inferred(now Time, pd *sendPDC, psn uint32, cause congestion.Cause) {
	r := e.packet(pd, psn)
	e.lose(pd, psn)
	if pd.mode == RUD {
		e.algorithms[pd.context].sprayer.Report(now, r.ev, spray.Lost, congestion.NoSample)
	}
	e.signal(now, pd.context, congestion.Signal{Cause: cause}, r.units)
}

// infer holds lost what later packets prove to be, by the rule that was configured.
func (e *Endpoint) infer(now Time, i uint32, a *wire.AckCC) {
	if !e.cfg.FastLoss.On {
		return
	}
	switch e.cfg.FastLoss.Rule {
	case ByOrder:
		e.inferFromOrder(now, i, a)
	case ByTime:
		e.inferFromTime(now, i)
	case ByEntropy:
		e.inferFromEntropy(now, i)
	}
}

// inferFromOrder is fast loss recovery by out-of-order count (SLEEK). A recovery begins when
// more has arrived beyond a gap than spraying can reorder, and ends when everything that was
// sent by then is acknowledged; within it a PSN is held lost once.
func (e *Endpoint) inferFromOrder(now Time, i uint32, a *wire.AckCC) {
	pd := &e.pdcs[i]
	if pd.flags&pdcRecovering != 0 && !before(pd.una-1, pd.recovery) {
		pd.flags &^= pdcRecovering
	}
	if pd.flags&pdcRecovering == 0 && pd.lost == 0 && a.OOO != wire.NoOOOCount && int64(a.OOO) >= e.reorderLimit(pd) {
		e.enterRecovery(pd)
	}
	if pd.flags&pdcRecovering != 0 {
		e.recover(now, pd)
	}
}

// reorderLimit is how many packets beyond a gap are blamed on spraying.
func (e *Endpoint) reorderLimit(pd *sendPDC) int64 {
	c := &e.contexts[pd.context]
	bdp := int64(float64(float64(e.cfg.LineRateBps)/8) * c.baseRTT.Seconds())
	limit := min(int64(float64(e.cfg.FastLoss.Factor*float64(c.window))), bdp+bdp/2)
	if e.cfg.LearnRTT { // the line rate is a guess then: a long path must not ask for more than the peer takes beyond a gap
		limit = min(limit, int64(pd.reach/2)*e.nominalMTU)
	}
	return max(limit/e.nominalMTU, int64(e.cfg.FastLoss.MinPackets))
}

func (e *Endpoint) enterRecovery(pd *sendPDC) {
	pd.flags |= pdcRecovering
	pd.recovery = pd.next - 1
	pd.scanned = pd.una
	if pd.epoch++; pd.epoch == 0 {
		pd.epoch = 1 // 0 is that of packets that were never held lost this way
	}
}

// recover holds missing packets lost, from the cumulative acknowledgement up to where the recovery
// began and at most a window; it stops at the first that was sent less than a round trip ago, or as many
// as it was sent times: what arrived beyond a gap since a trimmed packet was sent again says little
// of the second copy.
func (e *Endpoint) recover(now Time, pd *sendPDC) {
	c := &e.contexts[pd.context]
	if before(pd.scanned, pd.una) {
		pd.scanned = pd.una
	}
	end := pd.una + uint32(max(1, c.window/e.nominalMTU))
	if before(pd.recovery+1, end) {
		end = pd.recovery + 1
	}
	for ; before(pd.scanned, end); pd.scanned++ {
		r := e.packet(pd, pd.scanned)
		if !e.outstanding(pd, pd.scanned) || r.epoch == pd.epoch || r.flags&packetClose != 0 {
			continue
		}
		if now-r.sentAt < Time(r.tries)*c.expectedRTT() {
			return
		}
		r.epoch = pd.epoch
		e.inferred(now, pd, pd.scanned, congestion.Inferred)
	}
}
