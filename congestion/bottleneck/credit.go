package bottleneck

import (
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/instant"
)

// Credits, for controllers that are congestion.Credited. All flows have one receiver, behind the queue, and it grants with the
// Granter of the controllers, as an endpoint does. While the queue serves at the line rate it is the receiver's own link: it
// does not mark, and a trim there is one of the last hop (UE Specification 1.0, section 3.6.17). When a Step slows it down it
// is somewhere before.
//
//	drop, with its target ──► queue ──► receiver: OnTarget, or OnTrimmed
//	flow ◄── rest of the base RTT ── CREDIT ── Next, when it is due
//
// Messages that carry credit take no bandwidth and are not lost. A flow that nothing reaches asks by itself (CREDIT_REQ).

// endless is the backlog of a flow that always has something to send.
const endless = int64(1) << 40

// patience is how many round trips a flow that is owed credit waits for it before it asks.
const patience = 4

// A word is a message about credit on its way.
type word struct {
	at    instant.Time
	units uint32 // granted, or asked for
}

// A creditFlow is what a flow on credit has beside the others.
type creditFlow struct {
	account congestion.Credited
	grants  []word // on their way here, in the order of their arrival
	asks    []word // CREDIT_REQs on their way there
	heard   instant.Time
}

// openCredit makes the receiver grant, if the controllers want it to.
func (w *world) openCredit() {
	first, ok := w.flows[0].c.(congestion.Credited)
	if !ok {
		return
	}
	w.granter = first.Granter(w.Path)
	for i := range w.flows {
		f := &w.flows[i]
		f.account, _ = f.c.(congestion.Credited)
		w.granter.Open(source(i))
	}
}

// source is the number of a flow at the granter.
func source(flow int) uint32 { return uint32(flow) + 1 }

// lastHop tells whether the queue is the receiver's link.
func (w *world) lastHop() bool { return w.granter != nil && w.capacity >= w.Path.LineRateBps }

// lookCredit finds out what happens next to the credit of a flow.
func (w *world) lookCredit(f *flow, consider func(at instant.Time, what int)) {
	if len(f.grants) > 0 {
		consider(f.grants[0].at, crediting)
	}
	if len(f.asks) > 0 {
		consider(f.asks[0].at, asking)
	}
	if f.stopped || f.account.Credit() > 0 || len(f.asks) > 0 {
		return
	}
	wait := f.rtt
	if f.account.Owed() {
		wait *= patience
	}
	consider(max(w.now, f.start, f.heard+wait), starving)
}

// target is what a drop of a flow carries.
func (f *flow) target() uint32 {
	if f.account == nil {
		return 0
	}
	return f.account.Ask(endless, 1)
}

// restate sends a CREDIT_REQ.
func (w *world) restate(f *flow) {
	backlog := endless
	if f.stopped {
		backlog = 0
	}
	f.heard = w.now
	f.asks = append(f.asks, word{w.now + f.rtt - w.wayBack(f), f.account.Restate(backlog)})
}

// arrivesAtReceiver takes the target of a drop.
func (w *world) arrivesAtReceiver(d drop, trimmed bool) {
	if w.granter == nil {
		return
	}
	w.granter.OnTarget(w.now, source(int(d.flow)), d.target)
	if trimmed {
		w.granter.OnTrimmed(w.now, source(int(d.flow)), w.Path.MTU)
	}
}

// grant sends the next CREDIT, and returns the flow it is for; nil: none is due after all.
func (w *world) grant() *flow {
	number, granted, ok := w.granter.Next(w.now)
	if !ok {
		return nil
	}
	f := &w.flows[number-1]
	at := w.now + w.wayBack(f)
	if n := len(f.grants); n > 0 {
		at = max(at, f.grants[n-1].at) // the capacity may just have changed
	}
	f.grants = append(f.grants, word{at, granted})
	return f
}

// hear takes the first CREDIT that is on its way.
func (w *world) hear(f *flow) {
	f.heard = w.now
	f.account.OnCredit(w.now, f.grants[0].units)
	f.grants = f.grants[1:]
}

// asked lets a CREDIT_REQ arrive.
func (w *world) asked(f *flow, who int) {
	w.granter.OnRequest(w.now, source(who), f.asks[0].units)
	f.asks = f.asks[1:]
}
