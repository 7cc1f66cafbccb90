package rocev2

import (
	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

type psn = wire.PSN

const never = instant.Never

// A cause says why a requester tries again.
type cause uint8

const (
	byNAK cause = iota
	byTimer
)

// sendOne sends the next packet of queue pair i, which may: a hole first, under selective retransmission.
func (h *Host) sendOne(now Time, i uint32, p *core.Packet) {
	q := &h.qps[i]
	if h.cfg.Loss == Selective && h.hasHole(q) {
		number, pi := h.takeHole(q)
		pt := &h.parts[pi]
		k := uint32(number.Sub(pt.first))
		h.fill(q, pt, k, number, true, p)
		h.account(now, i, pt, k, number, true)
		return
	}
	pt := &h.parts[q.cur]
	k, number := q.curPacket, q.next
	ask := h.asks(i, pt, k)
	if q.head == q.cur && q.next == q.una && q.state != retrying {
		q.progress = now // something is outstanding from here on
	}
	h.fill(q, pt, k, number, ask, p)
	h.advance(q, pt)
	q.inFlight += h.cfg.weight(pt, k, k+1)
	h.account(now, i, pt, k, number, ask)
	if q.verbs != 0 && h.verbs[q.verbs].datagrams {
		h.sentDatagram(now, q)
	}
}

// advance moves next behind the packet that was sent.
func (h *Host) advance(q *qp, pt *part) {
	q.next = q.next.Add(1)
	if pt.reads { // one request for all packets that are left
		q.next = pt.first.Add(int(pt.packets))
		q.curPacket = pt.packets - 1
	}
	if q.curPacket++; q.curPacket == pt.packets {
		q.cur, q.curPacket = pt.next, 0
	}
}

// account books the packet that was sent.
func (h *Host) account(now Time, i uint32, pt *part, k uint32, number psn, ask bool) {
	q := &h.qps[i]
	h.count.Sent++
	h.count.SentData++
	if q.again(number) {
		h.count.Retransmits++
		h.messages[pt.message].retransmits++
	} else {
		q.high = q.next
		h.timePacket(now, q, number, ask)
	}
	q.sinceAsk++
	if ask {
		q.sinceAsk = 0
		if pt.reads {
			number = q.next.Add(-1) // the last response
		}
		if q.asked.Before(number) {
			q.asked = number
		}
		q.armTimer(now)
	}
	bytes := h.cfg.weight(pt, k, k+1)
	h.notePace(now, i, bytes)
	if cc := h.control[i]; cc != nil {
		cc.OnSent(now, bytes, q.inFlight)
	}
}

// asks tells whether packet k of pt, the next of queue pair i, asks for an acknowledgement: the last of a
// message does, every n-th, and one behind which the window is closed, since nothing would follow it. Under a
// controller with a window every packet asks: the window may close behind any of them, and if none that is
// outstanding had asked, nothing would ever open it again.
func (h *Host) asks(i uint32, pt *part, k uint32) bool {
	q := &h.qps[i]
	return k+1 == pt.packets || pt.reads || int(q.sinceAsk)+1 >= h.cfg.AckReqEvery || h.windowed(i) || !h.windowOpen(i, h.cfg.weight(pt, k, k+1))
}

// windowed tells whether the controller of queue pair i limits the bytes in flight.
func (h *Host) windowed(i uint32) bool {
	cc := h.control[i]
	return cc != nil && cc.Window() < congestion.Unlimited
}

// windowOpen tells whether one more packet may be outstanding, besides extra bytes (of one packet, or 0) that
// are about to be.
func (h *Host) windowOpen(i uint32, extra int64) bool {
	q := &h.qps[i]
	packets := q.outstanding()
	if extra > 0 {
		packets++
	}
	if packets >= h.cfg.MaxOutstanding || q.restart > 0 && packets >= int(q.restart) {
		return false
	}
	cc := h.control[i]
	if cc == nil {
		return true
	}
	flight := q.inFlight + extra
	return flight <= 0 || flight+h.cfg.Path.MTU <= cc.Window()
}

// fill writes packet k of pt, with the given PSN, into p.
func (h *Host) fill(q *qp, pt *part, k uint32, number psn, ask bool, p *core.Packet) {
	m := &h.messages[pt.message]
	if m.work != 0 {
		h.fillWork(q, pt, k, number, ask, p)
		return
	}
	payload := uint32(h.cfg.payload(pt, k))
	at := pt.offset + uint64(k)*uint64(h.cfg.Path.MSS)
	first, final := k == 0, k+1 == pt.packets
	h.out.BTH = wire.BTH{Opcode: wire.WriteOpcode(first, final, final && m.immediate != 0), Migrated: true, PKey: wire.DefaultPKey,
		Pad: uint8(-payload & 3), DestQP: q.destQPN, AckReq: ask, PSN: number}
	if first || h.dialect == wire.EveryRETH {
		h.out.RETH = wire.RETH{VA: m.remoteOffset + at, RKey: uint32(m.remoteKey), Length: pt.length}
	}
	h.out.Immediate = m.immediate
	h.address(q, h.cfg.Data, core.ECT0, p)
	p.Payload = core.Payload{Owner: h.self, Buffer: m.buffer, Offset: m.offset + at, Length: payload}
	if m.buffer == 0 { // a virtual payload knows its place
		p.Payload.Offset = m.remoteOffset + at
	}
}

// address writes h.out and everything around it, without payload.
func (h *Host) address(q *qp, class core.Class, ecn core.ECN, p *core.Packet) {
	p.From, p.To = h.self, q.to
	p.Payload = core.Payload{}
	p.Telemetry = 0
	p.EV = q.ev
	p.Proto = core.ProtoRoCE
	p.Class = class
	p.ECN = ecn
	p.Flags = 0
	p.HeaderLen = uint8(len(h.out.Append(p.Header[:0], h.dialect)))
}

// onAnswer takes an Acknowledge packet.
func (h *Host) onAnswer(now Time, i uint32) {
	q := &h.qps[i]
	number, s := h.in.PSN, h.in.AETH.Syndrome
	if s.IsNAK() {
		h.count.NacksReceived++
	}
	if q.state == broken || q.ghost(number, s) {
		return
	}
	switch {
	case q.verbs != 0:
		h.onAnswerToVerb(now, i, number, s)
	case s.IsACK():
		h.onAck(now, i, number.Add(1))
	case s == wire.NakSequence:
		h.onNAK(now, i, number)
	case s == wire.NakSelective && h.cfg.Loss == Selective:
		h.onSelective(now, i, number)
	case s.IsFatal():
		h.onFatal(now, i, number, s)
	default:
		h.count.Malformed++ // RNR NAKs among them: no responder sends one for a WRITE
	}
	q.restartTimer(now)
	h.wake(now, i)
}

// ghost tells whether an answer is about what was acknowledged long ago, or was never sent: such are
// ignored.
func (q *qp) ghost(number psn, s wire.Syndrome) bool {
	if s.IsACK() { // which is about the packet itself, a NAK about all before it
		number = number.Add(1)
	}
	return number.Before(q.una) || q.high.Before(number)
}

// onAck takes a cumulative acknowledgement of everything before upTo, which may be nothing new.
func (h *Host) onAck(now Time, i uint32, upTo psn) {
	q := &h.qps[i]
	if upTo == q.una {
		return
	}
	sample := h.takeSample(now, q, upTo)
	old := q.una
	delivered := h.settle(now, q, upTo)
	if h.cfg.Loss == Selective && h.probing(q) && q.outstanding() > 0 {
		h.startRecovery(q, true)
	}
	if q.restart > 0 {
		h.growRestart(q, upTo.Sub(old))
	}
	q.state, q.retries, q.expiries = sending, 0, 0
	if q.verbs != 0 {
		h.verbs[q.verbs].rnrTries = 0
	}
	q.progress = now
	if cc := h.control[i]; cc != nil {
		cc.OnAck(now, congestion.Ack{Delivered: delivered, InFlight: q.inFlight, RTT: sample})
	}
}

// settle moves una to upTo, finishes the parts that lie before it, and returns the weight of what was
// acknowledged.
func (h *Host) settle(now Time, q *qp, upTo psn) (delivered int64) {
	old := q.una
	taken := int64(0) // of delivered, what was in flight
	for q.head != 0 {
		pt := &h.parts[q.head]
		from := uint32(max(0, q.una.Sub(pt.first)))
		to := uint32(min(int(pt.packets), upTo.Sub(pt.first)))
		delivered += h.cfg.weight(pt, from, to)
		taken += h.cfg.weight(pt, from, uint32(min(int(to), max(int(from), q.next.Sub(pt.first)))))
		if to < pt.packets {
			break
		}
		q.una = pt.first.Add(int(pt.packets))
		h.partDone(now, h.popPart(q))
		if q.una == upTo {
			break
		}
	}
	q.una = upTo
	q.inFlight -= taken
	if q.next.Before(upTo) { // acknowledged while it was about to be sent again
		h.rewind(q)
	}
	if q.holes != 0 {
		h.forgetArrived(q, old)
	}
	return delivered
}

// onNAK takes a sequence error: everything before number has arrived, number has not.
func (h *Host) onNAK(now Time, i uint32, number psn) {
	q := &h.qps[i]
	h.onAck(now, i, number)
	if q.state == retrying || q.idle() { // one round of retrying at a time
		return
	}
	h.retry(now, i, byNAK)
}

// onFatal takes a NAK that no retry can mend.
func (h *Host) onFatal(now Time, i uint32, number psn, s wire.Syndrome) {
	h.onAck(now, i, number)
	h.breakQP(now, i, refusal(s))
}

// retry goes back to the oldest packet that is not acknowledged, or gives up.
func (h *Host) retry(now Time, i uint32, why cause) {
	q := &h.qps[i]
	q.retries++
	if h.retriesSpent(now, q) {
		h.breakQP(now, i, RetryExceeded)
		return
	}
	q.state = retrying
	q.timedAt = never
	q.timer, q.asked = never, q.una.Add(-1) // the packet that goes out again starts the timer
	q.stalled = now + h.cfg.Stall
	q.restart = int32(h.cfg.SlowRestart)
	lost := h.lostWeight(q)
	if h.cfg.Loss == Selective {
		h.startRecovery(q, true)
	} else {
		h.rewind(q)
	}
	if h.probing(q) {
		h.probe(q)
	}
	if cc := h.control[i]; cc != nil {
		cc.OnSignal(now, congestion.Signal{Cause: why.signal(), Bytes: lost, InFlight: q.inFlight})
	}
	h.wake(now, i)
}

func (c cause) signal() congestion.Cause {
	if c == byTimer {
		return congestion.TimedOut
	}
	return congestion.Inferred
}

// lostWeight returns the weight of the packet at una, which is held lost.
func (h *Host) lostWeight(q *qp) int64 {
	pt := &h.parts[q.head]
	k := uint32(q.una.Sub(pt.first))
	return h.cfg.weight(pt, k, k+1)
}

// rewind makes una the next packet to go out. It asks for an acknowledgement, whatever the cadence.
func (h *Host) rewind(q *qp) {
	q.next, q.cur, q.curPacket = q.una, q.head, 0
	if q.head != 0 {
		q.curPacket = uint32(q.una.Sub(h.parts[q.head].first))
	}
	q.inFlight = 0
	q.asked = q.una.Add(-1)
	q.sinceAsk = 1 << 30
}

// probing tells whether so many timeouts passed in silence that one packet must be answered before all are sent.
func (h *Host) probing(q *qp) bool {
	return h.cfg.ProbeAfter > 0 && q.expiries >= uint32(h.cfg.ProbeAfter)
}

// probe narrows the retry that was just begun to its first packet.
func (h *Host) probe(q *qp) {
	q.restart = 1
	if h.cfg.Loss == Selective {
		h.holes[q.holes].recoverTo = q.una
	}
}

// growRestart widens the window of a slow restart by what was acknowledged, and ends it at one BDP. Behind a probe there
// is none.
func (h *Host) growRestart(q *qp, packets int) {
	q.restart += int32(packets)
	if h.cfg.SlowRestart == 0 || int(q.restart) >= h.cfg.bdpPackets() {
		q.restart = 0
	}
}

// timePacket starts measuring a round trip with a packet that asks for an acknowledgement.
func (h *Host) timePacket(now Time, q *qp, number psn, ask bool) {
	if ask && q.timedAt == never {
		q.timedPSN, q.timedAt = number, now
	}
}

// takeSample ends the measurement if the timed packet is acknowledged. Only its own acknowledgement gives
// a sample: one for a later packet includes the wait for that.
func (h *Host) takeSample(now Time, q *qp, upTo psn) Time {
	if q.timedAt == never || !q.timedPSN.Before(upTo) {
		return congestion.NoSample
	}
	sent := q.timedAt
	q.timedAt = never
	if q.timedPSN.Add(1) != upTo {
		return congestion.NoSample
	}
	return now - sent
}
