package core

import (
	"math/bits"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/wire"
)

// Two rules for packets that others overtook, beside the count in loss.go. They ask when packets left and not how
// many came between, so what matters is how far ways can differ in delay, and not how fast the sender is.

// heard is what one acknowledgement tells of transmissions: which packet it names, if it is clear which
// of its transmissions arrived, and which its map names for the first time.
type heard struct {
	named  bool
	psn    uint32
	base   uint32 // PSN of the first bit of mapped
	mapped uint64
}

// hear notes what an acknowledgement names, before its packets leave the window.
func (e *Endpoint) hear(pd *sendPDC, a *wire.AckCC) {
	e.heard = heard{}
	if !e.cfg.FastLoss.On || a.Flags&wire.AckProbe != 0 || !within(a.PSN(), pd.una, pd.next) {
		return
	}
	r := e.packet(pd, a.PSN())
	tries := uint8(1)
	if a.Flags&wire.AckRetx != 0 {
		tries = 2
	}
	if r.flags&packetDone == 0 && r.tries == tries {
		e.heard.named, e.heard.psn = true, a.PSN()
		pd.youngest = max(pd.youngest, r.sentAt)
	}
}

// inferFromTime holds lost every packet that left before one that was acknowledged, and a smoothed round trip and the
// reordering window ago; the timer looks again when that will be true of the next.
func (e *Endpoint) inferFromTime(now Time, i uint32) {
	pd := &e.pdcs[i]
	pd.overdue = Never
	c := &e.contexts[pd.context]
	after := e.cfg.FastLoss.Window
	if after == 0 {
		after = c.baseRTT
	}
	after += c.expectedRTT()
	for psn := pd.una; psn != pd.next; psn++ {
		if !e.outstanding(pd, psn) {
			continue
		}
		r := e.packet(pd, psn)
		if r.flags&packetClose != 0 {
			continue
		}
		due := r.sentAt + after
		switch overtaken := r.sentAt < pd.youngest; {
		case overtaken && due <= now:
			e.inferred(now, pd, psn, congestion.Inferred)
			continue
		case overtaken:
			pd.overdue = min(pd.overdue, due)
		}
		if r.tries == 1 {
			break // all that follow left later
		}
	}
}

// inferFromEntropy holds lost what left before an acknowledged packet on the same entropy value. Of a packet that was
// sent again the map does not say which transmission arrived, and only a name does.
func (e *Endpoint) inferFromEntropy(now Time, i uint32) {
	pd := &e.pdcs[i]
	if e.heard.named {
		e.overtook(now, pd, e.heard.psn)
	}
	for set := e.heard.mapped; set != 0; set &= set - 1 {
		if psn := e.heard.base + uint32(bits.TrailingZeros64(set)); e.packet(pd, psn).tries == 1 {
			e.overtook(now, pd, psn)
		}
	}
}

// overtook holds lost what an acknowledged packet overtook on its own way.
func (e *Endpoint) overtook(now Time, pd *sendPDC, acked uint32) {
	front := *e.packet(pd, acked)
	end := pd.next
	if front.tries == 1 {
		end = acked // what follows left later
	}
	for psn := pd.una; before(psn, end); psn++ {
		if !e.outstanding(pd, psn) {
			continue
		}
		if r := e.packet(pd, psn); r.ev == front.ev && r.sentAt < front.sentAt && r.flags&packetClose == 0 {
			e.inferred(now, pd, psn, congestion.Inferred)
		}
	}
}
