package core

import (
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/wire"
)

// Receiver credits at the source, for controllers that are congestion.Credited (RCCC; UE Specification, section
// 3.6.14). Requests are RUD_CC_REQ and ROD_CC_REQ then, and say how far their context wants to be granted; the answers
// are CREDIT control packets, and ACK_CC of cc_type CREDIT where acknowledgements need not tell of a window.
//
//	room in the window, credit above 0        a packet leaves, with the target
//	no credit, and owed some                  the destination's turn; CREDIT_REQ if it stays away for a timeout, which
//	                                          doubles: a grant, or the packets that asked, may be lost
//	no credit, and nothing asked for          CREDIT_REQ at once, but no more than one a round trip
//	messages given up                         CREDIT_REQ gives back what they had asked for
//
// The count begins at 0, and with a speculative window, with the first PDC of a context, and anew with the next when there
// was none for a time, since the destination has forgotten it by then. ccc_id tells one count from the next.

// A creditLine is what a context on credit has beside its ccc.
type creditLine struct {
	account congestion.Credited
	due     Time  // of CREDIT_REQ; Never
	asked   Time  // last CREDIT_REQ
	pdcs    int32 // that are not closed
	life    uint8 // ccc_id
	tries   uint8 // CREDIT_REQs since more credit came
	silent  uint8 // and since anything came
	shares  bool  // counts in Endpoint.sharing
}

// onCredit tells whether this endpoint's contexts need credit.
func (e *Endpoint) onCredit() bool { return e.requestSize != wire.RequestSize }

// openCredit opens the account of a new context.
func (e *Endpoint) openCredit(ci uint32) {
	for len(e.credits) <= int(ci) {
		e.credits = append(e.credits, creditLine{})
	}
	e.credits[ci] = creditLine{account: e.algorithms[ci].controller.(congestion.Credited), due: Never, life: e.lifeUsed}
}

// usesCredit notes that a PDC of a context was opened.
func (e *Endpoint) usesCredit(ci uint32) {
	if !e.onCredit() {
		return
	}
	l := &e.credits[ci]
	if l.pdcs++; l.pdcs == 1 {
		l.life = max(1, l.life+1)
		l.tries, l.silent, l.due = 0, 0, Never
		l.account.Begin()
		e.refresh(ci)
	}
}

// leavesCredit notes that a PDC of a context is gone.
func (e *Endpoint) leavesCredit(ci uint32) {
	if e.onCredit() {
		e.credits[ci].pdcs--
	}
}

// opens tells whether a PDC may send although there is no credit: its first packet, since its peer, not knowing it, cannot
// grant anything.
func (e *Endpoint) opens(i uint32) bool {
	pd := &e.pdcs[i]
	return pd.state == stateSynSent && e.contexts[pd.context].inFlight <= 0
}

// await sets the timer of a context, and PDC, that only its rate or its credit holds back.
func (e *Endpoint) await(now Time, ci, i uint32) {
	e.awaitRelease(now, ci)
	if c := &e.contexts[ci]; c.credit <= 0 {
		e.awaitCredit(now, ci, i)
		e.unshare(ci)
	}
}

func (e *Endpoint) awaitCredit(now Time, ci, i uint32) {
	l, c := &e.credits[ci], &e.contexts[ci]
	if l.due != Never || e.waitsForCredit(ci) == 0 {
		return // nobody can ask: the answer to what opens the PDC, or its timeout, goes on
	}
	l.due = now + e.backedOff(&e.pdcs[i], l.tries)
	if !l.account.Owed() {
		l.due = now
		if l.asked != 0 {
			l.due = max(now, l.asked+c.expectedRTT())
		}
	}
	e.arm(timerContext|ci, &c.scheduled, l.due)
}

// fireCredit sends CREDIT_REQ if it is due.
func (e *Endpoint) fireCredit(now Time, ci uint32) {
	l, c := &e.credits[ci], &e.contexts[ci]
	if l.due <= now {
		l.due = Never
		if i := e.waitsForCredit(ci); i != 0 && c.credit <= 0 {
			e.requestCredit(now, ci, i)
		}
	}
	if l.due != Never {
		e.arm(timerContext|ci, &c.scheduled, l.due)
	}
}

// requestCredit sends CREDIT_REQ, or gives the PDC up if the peer answers none.
func (e *Endpoint) requestCredit(now Time, ci, i uint32) {
	l, pd := &e.credits[ci], &e.pdcs[i]
	if limit := e.cfg.RTO.MaxRetries; limit >= 0 && int(l.silent) > limit {
		l.silent = 0
		e.giveUp(now, i)
		return
	}
	e.command(now, i, wire.ControlCreditReq, 0, 0, e.restate(ci))
	l.asked = now
	l.tries, l.silent = min(l.tries+1, 100), min(l.silent+1, 100)
	l.due = now + e.backedOff(pd, l.tries)
}

// waitsForCredit returns a PDC with something to send whose peer knows it; 0: none.
func (e *Endpoint) waitsForCredit(ci uint32) uint32 {
	c := &e.contexts[ci]
	for _, w := range [2]struct {
		chain chain
		link  []uint32
	}{{c.rtx, e.rtxLink}, {c.data, e.dataLink}} {
		for i, n := w.chain.head(w.link), 0; i != 0 && (i != w.chain.head(w.link) || n == 0); i, n = w.link[i], n+1 {
			if pd := &e.pdcs[i]; pd.sending() && pd.state != stateSynSent && pd.remote != 0 && (pd.lost > 0 || pd.first != 0) {
				return i
			}
		}
	}
	return 0
}

// askIn makes a request one that asks for credit.
func (e *Endpoint) askIn(h *wire.Request, ci uint32) {
	if h.Type == wire.TypeROD {
		h.Type = wire.TypeRODCC
	} else {
		h.Type = wire.TypeRUDCC
	}
	l := &e.credits[ci]
	h.CCC, h.CreditTarget = l.life, l.account.Ask(e.backlog(ci), e.sharing)
}

// restate returns the payload of a CREDIT_REQ: the word that requests have, ccc_id over the target. The destination may
// have had no request of this count yet.
func (e *Endpoint) restate(ci uint32) uint32 {
	l := &e.credits[ci]
	return uint32(l.life)<<24 | l.account.Restate(e.backlog(ci))
}

// handleCredit takes a CREDIT.
func (e *Endpoint) handleCredit(now Time, p *Packet, h *wire.Control) {
	i := e.source(h.DPDCID, p.From)
	if i == 0 || !e.pdcs[i].sending() || !e.establish(&e.pdcs[i], h.SPDCID) {
		e.counters.Malformed++
		return
	}
	if e.onCredit() {
		ci := e.pdcs[i].context
		e.takeCredit(now, ci, h.Payload)
		e.refresh(ci)
		e.wake(i)
	}
}

func (e *Endpoint) takeCredit(now Time, ci, granted uint32) {
	l := &e.credits[ci]
	l.silent = 0
	if l.account.OnCredit(now, granted) {
		l.tries, l.due = 0, Never
	}
}

// heardInAck takes what an acknowledgement says of credit, and be it that the peer lives.
func (e *Endpoint) heardInAck(now Time, ci uint32, a *wire.AckCC) {
	if a.CCType == wire.CCCredit {
		e.takeCredit(now, ci, a.Credit)
	}
	e.credits[ci].silent = 0
}

// returnCredit tells the destination, when messages were given up, how much less is wanted.
func (e *Endpoint) returnCredit(now Time, i uint32) {
	pd := &e.pdcs[i]
	l := &e.credits[pd.context]
	if pd.sending() && pd.remote != 0 && l.account.Owed() {
		e.command(now, i, wire.ControlCreditReq, 0, 0, e.restate(pd.context))
	}
}

// share counts a context that could send now; unshare takes it off when it cannot.
func (e *Endpoint) share(ci uint32) {
	l, c := &e.credits[ci], &e.contexts[ci]
	if ready := c.credit > 0 && (c.rtx.tail != 0 || c.data.tail != 0); ready && !l.shares {
		l.shares = true
		e.sharing++
	}
}

func (e *Endpoint) unshare(ci uint32) {
	if l := &e.credits[ci]; l.shares {
		l.shares = false
		e.sharing--
	}
}

// backlog returns the nominal bytes that a context has to send: what is held lost and what is new, as far as PDCs may
// send it. Beyond the first messages of a PDC it counts one unit for each: a packet that leaves counts again.
func (e *Endpoint) backlog(ci uint32) int64 {
	c := &e.contexts[ci]
	units := int64(0)
	for i, first := c.rtx.head(e.rtxLink), true; i != 0 && (first || i != c.rtx.head(e.rtxLink)); i, first = e.rtxLink[i], false {
		units += int64(e.pdcs[i].lost) * e.fullUnits
	}
	for i, first := c.data.head(e.dataLink), true; i != 0 && (first || i != c.data.head(e.dataLink)); i, first = e.dataLink[i], false {
		units += e.queuedUnits(&e.pdcs[i])
	}
	return e.bytes(units)
}

// countedMessages bounds the work of backlog.
const countedMessages = 32

func (e *Endpoint) queuedUnits(pd *sendPDC) (units int64) {
	counted := uint32(0)
	for mi := pd.first; mi != 0; mi = e.messages[mi].next {
		if counted == countedMessages {
			return units + int64(pd.queued-counted)
		}
		counted++
		m := &e.messages[mi]
		units += int64(m.chunks-m.sent-1) * e.fullUnits
		if m.extra != 0 {
			units += int64(e.operationUnits(m))
		} else {
			units += int64(e.cfg.units(e.requestSize+wire.StandardSize, int(m.chunkLength(m.chunks-1, e.cfg.PayloadMTU))))
		}
	}
	return units
}
