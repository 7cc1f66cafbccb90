package core

import (
	"math/bits"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/spray"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/wire"
)

// This file is both halves of an acknowledgement: when a target sends one and what it says,
// and what its source learns from it.

// acknowledge decides whether a packet that was just received causes an ACK. There is no timer:
// the source asks for an ACK where nothing would follow. The rules (UE Specification, section 3.5.12):
//
//	the first packet of a context, so that the peer learns our PDCID
//	ACK_Gen_Trigger bytes since the last ACK, a packet counting at least ACK_Gen_Min_Pkt_Add
//	a request (ar), a retransmission, a congestion mark (ACK_On_ECN)
//	a response that must not be lost
//	the end of all gaps, if an ACK was requested while there was one
//	every packet, with Enb_ACK_Per_Pkt
func (e *Endpoint) acknowledge(now Time, p *Packet, t uint32, r *wire.Request, message uint16, length, stored uint32) {
	g := &e.targets[t]
	g.since += max(p.Payload.Length, uint32(e.cfg.ACK.MinAdd))
	if !e.ackDue(g, p, r, stored) {
		return
	}
	g.since = 0
	g.flags &^= targetFresh
	v := e.ackFor(now, p, t, r)
	v.message, v.length, v.result = message, length, wire.RCOK
	if stored != 0 {
		v.op, v.payload = e.responses[stored].op, stored
		v.flags |= uint8(wire.AckClear)
	}
}

func (e *Endpoint) ackDue(g *recvPDC, p *Packet, r *wire.Request, stored uint32) bool {
	asked := r.Flags&(wire.RequestAR|wire.RequestRetx) != 0
	gapsClosed := !g.gap() && g.flags&targetWantsAck != 0
	if gapsClosed {
		g.flags &^= targetWantsAck
	} else if asked && g.gap() {
		g.flags |= targetWantsAck
	}
	return asked || gapsClosed || g.since >= uint32(e.cfg.ACK.Trigger) || g.flags&targetFresh != 0 || stored != 0 ||
		p.ECN == CE && !e.cfg.ACK.IgnoreCE || e.cfg.ACK.PerPacket
}

// ackFor queues the ACK that answers a request, with the default response.
func (e *Endpoint) ackFor(now Time, p *Packet, t uint32, r *wire.Request) *controlEntry {
	v := e.control.add()
	*v = controlEntry{at: now, peer: p.From, psn: r.PSN, own: e.targets[t].own, remote: r.SPDCID, ev: p.EV, kind: sendAck,
		op: wire.RespDefault, flags: uint8(ackFlagsFor(p, r.Flags&wire.RequestRetx != 0))}
	if p.Telemetry != 0 && e.cfg.Telemetry != nil {
		v.reports, p.Telemetry = p.Telemetry, 0
	}
	return v
}

// dropReports gives back telemetry that will not be sent.
func (e *Endpoint) dropReports(handle uint32) {
	if handle != 0 {
		e.cfg.Telemetry.Release(handle)
	}
}

// hops returns the telemetry of a packet, nil without.
func (e *Endpoint) hops(p *Packet) []Hop {
	if p.Telemetry == 0 || e.cfg.Telemetry == nil {
		return nil
	}
	return e.cfg.Telemetry.Hops(p.Telemetry)
}

// ackFlagsFor echoes what the source needs to know of the packet that caused an ACK.
func ackFlagsFor(p *Packet, retx bool) (f wire.AckFlags) {
	if p.ECN == CE {
		f |= wire.AckMarked
	}
	if retx {
		f |= wire.AckRetx
	}
	return f
}

// putAck writes an ACK_CC as its context stands now, and the response behind it.
func (e *Endpoint) putAck(now Time, v *controlEntry, b []byte) int {
	t := uint32(v.own &^ targetBit)
	if v.own&targetBit == 0 {
		t = e.pdcs[t].twin
	}
	g := &e.targets[t]
	if g.state != stateEstablished || g.peer != v.peer || g.remote != v.remote || g.own != v.own {
		return 0
	}
	if e.cfg.ACK.Plain && v.kind != sendProbeAck {
		return e.putPlainAck(g, v, b)
	}
	h := wire.AckCC{Ack: wire.Ack{Flags: wire.AckFlags(v.flags), CumPSN: g.cack, SPDCID: v.own, DPDCID: v.remote},
		MPR: uint8(e.cfg.MPR), ServiceTime: serviceTime(now - v.at), RcvdBytes: g.received,
		Penalty: e.penalty, Restore: e.restore}
	if g.source != 0 && e.cfg.grantsInAcks {
		h.CCType, h.Credit = wire.CCCredit, e.grants.granter.Granted(g.source)
	}
	if g.gap() { // else what lies beyond CACK waits to be cleared and is in order
		h.OOO = uint16(min(g.beyond, wire.NoOOOCount-1))
	}
	base := e.mapBase(g, v)
	h.SackOffset = int16(base - g.cack)
	h.Sack = e.map64(g, base)
	e.named(g, base)
	if v.kind == sendProbeAck {
		h.Flags |= wire.AckProbe
		h.Opaque = uint16(v.psn)
		return h.Put(b)
	}
	h.Offset = int16(v.psn - g.cack)
	if v.kind == sendAckOnly {
		return h.Put(b)
	}
	if h.Next = wire.NextResponse; v.op != wire.RespDefault {
		if h.Next = e.nextOfStored(v); h.Next == wire.NextNone {
			return 0
		}
	}
	n := h.Put(b)
	return n + e.putResponse(v, b[n:])
}

// SetPenalty asks all sources of this endpoint for less, or no more, from their next acknowledgements on: destination flow
// control (rcv_cwnd_pend; UE Specification, section 3.6.13), for a host that cannot take in what its link brings. 0 is
// none, 64 about halves a window of NSCC in a round trip, 127, the most, leads to one packet; 0 after more gives the windows
// from before back (restore_cwnd).
func (e *Endpoint) SetPenalty(penalty uint8) {
	e.restore = penalty == 0 && (e.restore || e.penalty != 0)
	e.penalty = min(penalty, 127)
}

// putPlainAck writes an ACK without congestion control state, and the response behind it.
func (e *Endpoint) putPlainAck(g *recvPDC, v *controlEntry, b []byte) int {
	h := wire.Ack{Flags: wire.AckFlags(v.flags), CumPSN: g.cack, Offset: int16(v.psn - g.cack), SPDCID: v.own, DPDCID: v.remote}
	if v.kind == sendAckOnly {
		return h.Put(b)
	}
	if h.Next = wire.NextResponse; v.op != wire.RespDefault {
		if h.Next = e.nextOfStored(v); h.Next == wire.NextNone {
			return 0
		}
	}
	n := h.Put(b)
	return n + e.putResponse(v, b[n:])
}

// putResponse writes the response that goes with an ACK: the default, or the one that is kept.
func (e *Endpoint) putResponse(v *controlEntry, b []byte) int {
	if v.op != wire.RespDefault {
		return e.putStored(v, b)
	}
	s := wire.Response{Op: v.op, Code: v.result, MessageID: v.message, JobID: e.cfg.JobID, ModifiedLength: v.length}
	if v.result == wire.RCNull { // of a request that is forgotten: nothing else is known
		s.JobID = 0
	}
	return s.Put(b)
}

// serviceTime is how long the packet that caused an ACK waited for it, in units of 128 ns.
func serviceTime(t Time) uint16 {
	units := t / (wire.ServiceTimeUnit * instant.Nanosecond)
	return uint16(min(units, wire.ServiceTimeOverflow))
}

// mapBase chooses where the selective map of an ACK begins: so that it ends with the packet that
// caused the ACK, or lower if an earlier packet was not named by any ACK yet.
func (e *Endpoint) mapBase(g *recvPDC, v *controlEntry) uint32 {
	if v.kind == sendProbeAck && before(g.cack, v.payload) && v.payload-g.cack <= e.mpr {
		return v.payload
	}
	base := g.cack + 1
	if before(base, v.psn-63) && v.kind != sendProbeAck {
		base = v.psn - 63
	}
	if g.flags&targetUnnamed != 0 && before(g.unnamed, base) && before(g.cack, g.unnamed) {
		base = g.unnamed
	}
	return base
}

// named notes that an ACK with a map from base on has left.
func (e *Endpoint) named(g *recvPDC, base uint32) {
	if g.flags&targetUnnamed == 0 || g.unnamed-base >= 64 {
		return
	}
	if g.unnamed = base + 64; before(g.high, g.unnamed) {
		g.flags &^= targetUnnamed
	}
}

// answerAckRequest takes an ACK_REQUEST: the ACK of that PSN is sent again, or the request is
// asked for. The reference provider is silent for PSNs that the cumulative acknowledgement covers; an
// ACK does no harm and may be the one that was lost.
func (e *Endpoint) answerAckRequest(now Time, p *Packet, t uint32, h *wire.Control) {
	g := &e.targets[t]
	if g.state != stateEstablished || before(g.cack+e.mpr, h.PSN) || g.cack-h.PSN >= e.mpr && int32(g.cack-h.PSN) > 0 {
		return
	}
	if !e.has(g, h.PSN) {
		e.refuse(now, p, g.own, h.SPDCID, h.PSN, wire.NackPktNotRcvd, 0)
		return
	}
	v := e.control.add()
	*v = controlEntry{at: now, peer: p.From, psn: h.PSN, own: g.own, remote: g.remote, ev: p.EV, kind: sendAck, op: wire.RespDefault}
	e.repeatResponse(g, h.PSN, v)
}

// handleAck takes an ACK or ACK_CC.
func (e *Endpoint) handleAck(now Time, p *Packet, header []byte, t wire.Type) {
	var a wire.AckCC
	var why wire.Reason
	if t == wire.TypeAckCC {
		why = a.Parse(header)
	} else {
		why = a.Ack.Parse(header)
	}
	i := uint32(0)
	if why == wire.OK {
		i = e.source(a.DPDCID, p.From)
	}
	if i == 0 || int32(a.CumPSN-e.pdcs[i].next) >= 0 {
		e.counters.Malformed++ // of a context that is gone, or for PSNs that were never sent
		return
	}
	pd := &e.pdcs[i]
	if pd.state == stateClosing || pd.state == stateResting {
		e.closeAnswered(now, i, &a.Ack)
		return
	}
	if !e.establish(pd, a.SPDCID) {
		e.counters.Malformed++
		return
	}
	e.processAck(now, p, i, &a, header[t.Size():], t == wire.TypeAckCC)
}

// processAck does what an acknowledgement says, in this order, because each step needs the one before:
// measure, release, respond, tell the sprayer, tell the controller, infer losses, go on.
//
// An ACK that was overtaken by a later one (its cumulative PSN is old) is not thrown away as the
// reference does: under spraying, acknowledgements overtake each other all the time, and what such an ACK says
// of single PSNs and of its path is still true.
func (e *Endpoint) processAck(now Time, p *Packet, i uint32, a *wire.AckCC, ses []byte, cc bool) {
	pd := &e.pdcs[i]
	ci := pd.context
	rtt := e.measure(now, pd, a)
	flight := pd.flight
	e.hear(pd, a)
	newly := e.release(now, p, i, a, ses, cc)
	c := &e.contexts[ci]
	c.inFlight += int64(pd.flight - flight)
	if rtt >= 0 {
		c.sample(rtt)
		if e.cfg.LearnRTT {
			e.learn(ci)
		}
	}
	marked := a.Flags&wire.AckMarked != 0
	if marked {
		c.marks++
	}
	if pd.mode == RUD {
		e.algorithms[ci].sprayer.Report(now, p.EV, outcomeOf(marked), rtt)
	}
	e.algorithms[ci].controller.OnAck(now, congestion.Ack{Delivered: e.bytes(int64(newly)), InFlight: e.bytes(c.inFlight), RTT: rtt,
		Marked: marked, Penalty: a.Penalty, Restore: a.Restore, Hops: e.hops(p)})
	if e.onCredit() {
		e.heardInAck(now, ci, a)
	}
	e.refresh(ci)
	e.afterAck(now, i, a, cc)
}

// outcomeOf is what a mark says of a path.
func outcomeOf(marked bool) spray.Outcome {
	if marked {
		return spray.Marked
	}
	return spray.Good
}

// release takes out of the window what an ACK covers and names, and returns the units that
// arrived newly. PSNs that were held lost and now prove received go back into the flight before
// the units are taken off it, since the peer's count includes them.
func (e *Endpoint) release(now Time, p *Packet, i uint32, a *wire.AckCC, ses []byte, cc bool) (newly int32) {
	pd := &e.pdcs[i]
	e.freed = 0
	progress := e.releaseUpTo(now, pd, a.CumPSN, cc, a.MPR)
	if cc {
		progress = e.releaseMap(pd, a) || progress
	}
	if a.Flags&wire.AckProbe == 0 {
		progress = e.respond(now, p, i, a, ses) || progress
	}
	if progress {
		pd.progress, pd.probes = now, 0
		e.advanceClear(now, pd)
	}
	if newly = e.freed; cc && a.CCType == wire.CCNSCC {
		newly = int32((a.RcvdBytes - pd.received) & 0xffffff)
		if newly >= 1<<23 { // an older ACK
			newly = 0
		}
	}
	pd.received = (pd.received + uint32(newly)) & 0xffffff
	pd.flight -= newly
	return newly
}

// afterAck infers losses, closes what is finished, and lets the context send.
func (e *Endpoint) afterAck(now Time, i uint32, a *wire.AckCC, cc bool) {
	pd := &e.pdcs[i]
	if a.Flags&wire.AckClose != 0 {
		e.quiesce(i)
	}
	if pd.una == pd.next {
		e.drained(now, i)
		e.wake(i)
		return
	}
	if cc && pd.mode == RUD {
		e.infer(now, i, a)
		e.probeAnswered(now, i, a)
	}
	if pd.rtoDue > now+e.timeout(pd) { // the timeout shrank, or a backed-off packet is through
		pd.rtoDue = now + e.timeout(pd)
	}
	e.scheduleProbe(now, pd)
	e.rearm(i, pd)
	e.wake(i)
}

// measure returns the RTT of the packet that an ACK names, less the time the peer held it;
// NoSample where it is ambiguous: "sent once and retx clear, or sent twice and retx set" (Karn).
func (e *Endpoint) measure(now Time, pd *sendPDC, a *wire.AckCC) Time {
	rtt := congestion.NoSample
	switch psn := a.PSN(); {
	case a.Flags&wire.AckProbe != 0:
		if pd.flags&pdcProbing != 0 && a.Opaque == pd.opaque {
			rtt = now - pd.probeSent
		}
	case within(psn, pd.una, pd.next):
		r := e.packet(pd, psn)
		tries := uint8(1)
		if a.Flags&wire.AckRetx != 0 {
			tries = 2
		}
		if r.flags&packetDone == 0 && r.tries == tries {
			rtt = now - r.sentAt
		} else if e.unmeasured(pd) {
			e.guess(now, pd, r)
		}
	}
	if rtt < 0 || a.ServiceTime == wire.ServiceTimeOverflow {
		return congestion.NoSample
	}
	held := Time(a.ServiceTime) * wire.ServiceTimeUnit * instant.Nanosecond
	if held >= rtt {
		return congestion.NoSample
	}
	return rtt - held
}

// releaseUpTo takes every PSN up to the cumulative acknowledgement out of the window.
// Only an ACK that moves the window may tell how far it reaches: an overtaken one tells old news.
func (e *Endpoint) releaseUpTo(now Time, pd *sendPDC, cack uint32, cc bool, mpr uint8) (progress bool) {
	if before(cack, pd.una) {
		return false
	}
	for pd.una != cack+1 {
		r := e.packet(pd, pd.una)
		if !cc && !pd.room.has(e.got, pd.una) {
			e.freed += int32(r.units)
		}
		e.unlose(pd, pd.una, r)
		if r.flags&packetDone == 0 {
			e.answered(now, pd, r)
		}
		pd.una++
	}
	if before(pd.lostFrom, pd.una) {
		pd.lostFrom = pd.una
	}
	if cc {
		pd.reach = uint32(max(1, mpr)) * wire.MPRUnit
	}
	return true
}

// unlose takes back that a packet was held lost: it has arrived after all.
func (e *Endpoint) unlose(pd *sendPDC, psn uint32, r *sentPacket) {
	if pd.lost != 0 && pd.room.has(e.lostMap, psn) {
		pd.room.clear(e.lostMap, psn)
		pd.lost--
		pd.flight += int32(r.units)
	}
}

// releaseMap marks what the selective map reports as received. A clear bit says nothing.
func (e *Endpoint) releaseMap(pd *sendPDC, a *wire.AckCC) (progress bool) {
	base := a.CumPSN + uint32(int32(a.SackOffset))
	e.heard.base = base
	if pd.una == pd.next {
		return false
	}
	for set := a.Sack &^ pd.room.get64(e.got, base); set != 0; set &= set - 1 { // most of it an earlier map told
		psn := base + uint32(bits.TrailingZeros64(set))
		if within(psn, pd.una, pd.next) {
			e.markGot(pd, psn)
			e.heard.mapped |= set & -set
			progress = true
		}
	}
	return progress
}

// markGot notes that the destination has a packet.
func (e *Endpoint) markGot(pd *sendPDC, psn uint32) {
	r := e.packet(pd, psn)
	e.freed += int32(r.units)
	e.unlose(pd, psn, r)
	pd.room.set(e.got, psn)
}

// respond takes the response to the PSN that an ACK names. An error of a write fails its message.
func (e *Endpoint) respond(now Time, p *Packet, i uint32, a *wire.AckCC, ses []byte) (progress bool) {
	pd := &e.pdcs[i]
	psn := a.PSN()
	if !within(psn, pd.una, pd.next) {
		return false
	}
	var s wire.Response
	if a.Next != wire.NextResponse || s.Parse(ses) != wire.OK {
		s.Code = wire.RCOK
	}
	r := e.packet(pd, psn)
	if !pd.room.has(e.got, psn) {
		e.markGot(pd, psn)
		progress = true
	}
	if r.flags&packetDone != 0 {
		return progress
	}
	if r.message != 0 && (!s.Code.Success() || e.messages[r.message].extra != 0) {
		e.outcome(now, p, i, r.message, a.Next, &s, ses)
	}
	e.answered(now, pd, r)
	return true
}
