package core

import (
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/wire"
)

// The tail probe finds losses that no later packet would show. It travels as a small data
// packet, so that it meets the queues that data meets, and its answer tells two things: which
// packets are there, and how long the queues are.

// targetDelay is the queueing delay below which the network counts as not congested.
func (e *Endpoint) targetDelay(pd *sendPDC) Time {
	if d := e.cfg.TailProbe.TargetDelay; d > 0 {
		return d
	}
	base := e.contexts[pd.context].baseRTT
	if e.cfg.Trimming {
		return base - base/4
	}
	return base
}

// scheduleProbe sets the probe timer anew: at every ACK while something is outstanding.
func (e *Endpoint) scheduleProbe(now Time, pd *sendPDC) {
	o := &e.cfg.TailProbe
	if !o.On || pd.mode != RUD || pd.flags&pdcUnprobed != 0 || int(pd.probes) >= o.MaxProbes {
		pd.probeDue = Never
		return
	}
	base := e.contexts[pd.context].baseRTT
	after := o.After
	if after == 0 {
		after = base + e.targetDelay(pd)
	}
	if pd.first != 0 {
		after = max(3*base, after)
	}
	pd.probeDue = now + after
}

// probe asks for a probe to be sent.
func (e *Endpoint) probe(now Time, i uint32) {
	pd := &e.pdcs[i]
	pd.probeDue = Never
	if pd.una == pd.next || !pd.sending() || pd.remote == 0 {
		return
	}
	e.probing.push(e.probeLink, i)
	retry := e.cfg.TailProbe.Retry
	if retry == 0 {
		retry = 5 * e.contexts[pd.context].baseRTT
	}
	if pd.probes++; int(pd.probes) < e.cfg.TailProbe.MaxProbes {
		pd.probeDue = now + retry
	}
}

// sendProbe fills p with the next probe that is still wanted.
func (e *Endpoint) sendProbe(now Time, p *Packet) bool {
	for i := e.probing.head(e.probeLink); i != 0; i = e.probing.head(e.probeLink) {
		e.probing.pop(e.probeLink)
		pd := &e.pdcs[i]
		if pd.una == pd.next || !pd.sending() || pd.remote == 0 || pd.flags&pdcUnprobed != 0 {
			continue
		}
		pd.opaque++
		pd.probeSent = now
		pd.flags |= pdcProbing
		h := wire.Control{Control: wire.ControlProbe, Opaque: pd.opaque, SPDCID: pd.own, DPDCID: pd.remote, Payload: pd.una}
		p.From, p.To = e.self, pd.peer
		p.Payload, p.Telemetry = Payload{}, 0
		p.EV, _ = e.algorithms[pd.context].sprayer.Next(now, int32(pd.ev))
		p.Proto, p.Class, p.ECN, p.Flags = ProtoUET, e.cfg.DataClass, ECT0, 0
		p.HeaderLen = uint8(h.Put(p.Header[:]))
		e.counters.Sent++
		e.counters.SentControl++
		return true
	}
	return false
}

// probeRefused takes the news that the peer does not know PROBE, as the reference provider does not: the context goes on without.
func (e *Endpoint) probeRefused(pd *sendPDC) {
	pd.flags = pd.flags&^pdcProbing | pdcUnprobed
	pd.probeDue = Never
}

// probeAnswered takes the answer to the last probe. If the queues are short, what was sent well
// before it and is still missing is lost.
func (e *Endpoint) probeAnswered(now Time, i uint32, a *wire.AckCC) {
	pd := &e.pdcs[i]
	if a.Flags&wire.AckProbe == 0 || pd.flags&pdcProbing == 0 || a.Opaque != pd.opaque {
		return
	}
	pd.flags &^= pdcProbing
	base := e.contexts[pd.context].baseRTT
	target := e.targetDelay(pd)
	if now-pd.probeSent-base >= target {
		return
	}
	for psn := pd.una; psn != pd.next; psn++ {
		if !e.outstanding(pd, psn) {
			continue
		}
		if r := e.packet(pd, psn); r.flags&packetClose == 0 && r.sentAt < pd.probeSent && now-r.sentAt >= base+2*target {
			e.inferred(now, pd, psn, congestion.Inferred)
		}
	}
}
