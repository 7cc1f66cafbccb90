package core

import "github.com/weft-transport/weft/transport/wire"

// A recvPDC is a context that a peer opened: the target of requests.
//
// PSNs run cack < what the bitmap holds <= cack + MP_RANGE. A set bit is a packet received beyond the
// cumulative acknowledgement: behind a gap, or behind a response that waits to be cleared.
type recvPDC struct {
	peer                   Addr
	remote                 uint16 // peer's PDCID
	own                    uint16 // PDCID on the wire
	state                  pdcState
	mode                   Mode
	start                  uint32 // first PSN
	cack                   uint32 // every PSN up to it is received and, where needed, cleared
	high                   uint32 // highest PSN received
	beyond                 uint32 // set bits of the bitmap: ooo_count
	room                   block  // bitmap; no room while no bit was ever set
	received               uint32 // rcvd_bytes: cumulative, units, 24 bits
	since                  uint32 // bytes counted since the last ACK
	unnamed                uint32 // lowest PSN beyond cack that no ACK has named yet; valid if targetUnnamed
	open                   uint32 // messages begun and not delivered
	last                   uint32 // inbound message of the last packet: the likeliest of the next
	response, lastResponse uint32 // chain of stored responses, by PSN; 0: none
	twin                   uint32 // source context of the reverse direction (of a reverse target: its source); 0: none yet
	rodLast                uint32 // last PSN dropped as out of order
	closePSN               uint32 // of CLOSE_CMD, while resting
	source                 uint32 // whom its credit targets are of (grant.go); 0: none came
	ev                     uint16 // of the last request
	flags                  uint8

	scheduled Time
	seen      Time // last packet from the peer
	restUntil Time // resting ends; Never
}

// Flags of a recvPDC.
const (
	targetFresh    uint8 = 1 << iota // no packet was acknowledged yet
	targetWantsAck                   // an ACK was requested while there was a gap
	targetUnnamed                    // unnamed is valid
	targetRefused                    // ROD: the missing packet was asked for
	targetFell                       // ROD: the last packet out of order had no higher PSN than the one before
	targetReverse                    // takes answers to our requests on our own context (reverse.go)
)

// targetID returns the PDCID of the target context with slab index t.
func targetID(t uint32) uint16 { return targetBit | uint16(t) }

func synKey(peer Addr, remote uint16) uint64 { return uint64(peer)<<16 | uint64(remote) }

// findTarget finds the context a packet without SYN belongs to. Where there is none, or it is
// another's, the packet is refused.
func (e *Endpoint) findTarget(now Time, p *Packet, own, remote uint16, psn uint32) uint32 {
	t := uint32(own &^ targetBit)
	if own&targetBit == 0 {
		t = e.reverseTarget(own, p.From, remote)
	}
	if t == 0 || t >= uint32(len(e.targets)) || e.targets[t].state == stateFree {
		e.refuse(now, p, 0, remote, psn, wire.NackInvDPDCID, 0)
		return 0
	}
	if g := &e.targets[t]; g.peer != p.From || g.remote != remote || g.own != own {
		e.refuse(now, p, own, remote, psn, wire.NackHdrMismatch, 0) // as the reference provider; some descriptions have 0
		return 0
	}
	e.targets[t].seen = now
	return t
}

// acceptSyn finds the context of a packet with SYN, or makes it: "mapped by {source, SPDCID}", UE
// Specification, section 3.5.8. 0: the packet was refused.
func (e *Endpoint) acceptSyn(now Time, p *Packet, remote uint16, psn uint32, offset uint16, ordered bool) uint32 {
	start := psn - uint32(offset)
	if t := e.bySyn.get(synKey(p.From, remote)); t != 0 {
		g := &e.targets[t]
		if g.start == start {
			g.seen = now
			return t
		}
		if g.state != stateResting && now < g.seen+2*e.cfg.SegmentLifetime {
			e.refuse(now, p, g.own, remote, psn, wire.NackInvalidSyn, 0)
			return 0
		}
		e.freeTarget(now, t) // the peer has closed it, or given it up, and its PDCID has rested
	}
	t := e.newTarget()
	if t == 0 {
		e.refuse(now, p, 0, remote, psn, wire.NackNoPDC, 0)
		e.askToClose(now)
		return 0
	}
	g := &e.targets[t]
	*g = recvPDC{peer: p.From, remote: remote, own: targetID(t), state: stateEstablished, start: start, cack: start - 1, high: start - 1,
		flags: targetFresh, scheduled: g.scheduled, seen: now, restUntil: Never}
	e.liveTargets++
	if ordered {
		g.mode = ROD
	}
	e.bySyn.put(synKey(p.From, remote), t)
	if e.cfg.TargetIdle > 0 {
		e.arm(timerTarget|t, &g.scheduled, now+e.cfg.TargetIdle)
	}
	return t
}

// newTarget finds a free slot; 0: there is none. Contexts at rest do not count.
func (e *Endpoint) newTarget() uint32 {
	if e.liveTargets >= e.cfg.MaxTargets {
		return 0
	}
	return e.targetSlot()
}

// targetSlot finds a free slot; 0: all PDCIDs are taken.
func (e *Endpoint) targetSlot() uint32 {
	if n := len(e.targetsFree); n > 0 {
		t := e.targetsFree[n-1]
		e.targetsFree = e.targetsFree[:n-1]
		return t
	}
	if len(e.targets) > maxTargets {
		return 0
	}
	e.targets = append(e.targets, recvPDC{scheduled: Never})
	return uint32(len(e.targets) - 1)
}

// askToClose asks for one of the idle contexts back, since a peer was refused for want of one:
// an ACK with req=close, at most one in a round trip. A hand goes round, so that all are asked
// in turn.
func (e *Endpoint) askToClose(now Time) {
	if e.askedAt != 0 && now < e.askedAt+e.cfg.BaseRTT {
		return
	}
	for range min(len(e.targets)-1, 64) {
		if e.hand++; int(e.hand) >= len(e.targets) {
			e.hand = 1
		}
		g := &e.targets[e.hand]
		if g.state == stateEstablished && g.flags&targetReverse == 0 && g.beyond == 0 && g.open == 0 && g.response == 0 {
			e.askedAt = now
			e.control.push(&controlEntry{at: now, peer: g.peer, psn: g.cack, own: g.own, remote: g.remote, ev: g.ev,
				kind: sendAckOnly, flags: uint8(wire.AckClose)})
			return
		}
	}
}

// freeTarget forgets a context with all it holds.
func (e *Endpoint) freeTarget(now Time, t uint32) {
	g := &e.targets[t]
	e.dropTarget(now, t)
	e.ungrant(t)
	e.bySyn.remove(synKey(g.peer, g.remote))
	if g.state != stateResting {
		e.liveTargets--
	}
	g.state, g.restUntil = stateFree, Never
	e.targetsFree = append(e.targetsFree, t)
	e.ended(g.peer)
}

// dropTarget gives back what a context holds: bitmap, responses, messages that never ended.
func (e *Endpoint) dropTarget(now Time, t uint32) {
	g := &e.targets[t]
	for g.response != 0 {
		e.freeResponse(g)
	}
	e.dropAnswers(g)
	for m := 1; g.open > 0 && m < len(e.inbound); m++ {
		if e.inbound[m].target == t {
			e.closeInbound(now, t, uint32(m))
		}
	}
	e.dropArrived(g)
	g.beyond = 0
}

// fireTarget ends the rest of a closed context, or forgets a silent one.
func (e *Endpoint) fireTarget(now, at Time, t uint32) {
	g := &e.targets[t]
	if !fires(&g.scheduled, at) {
		return
	}
	switch {
	case g.state == stateFree || g.flags&targetReverse != 0:
	case g.state == stateResting && g.restUntil <= now:
		e.freeTarget(now, t)
	case g.state == stateResting:
		e.arm(timerTarget|t, &g.scheduled, g.restUntil)
	case e.cfg.TargetIdle > 0 && g.seen+e.cfg.TargetIdle <= now:
		e.restTarget(now, t)
	case e.cfg.TargetIdle > 0:
		e.arm(timerTarget|t, &g.scheduled, g.seen+e.cfg.TargetIdle)
	}
}

// restTarget closes a context; its PDCID is used again after two segment lifetimes.
func (e *Endpoint) restTarget(now Time, t uint32) {
	g := &e.targets[t]
	e.dropTarget(now, t)
	e.liveTargets--
	g.state = stateResting
	g.restUntil = now + 2*e.cfg.SegmentLifetime
	e.arm(timerTarget|t, &g.scheduled, g.restUntil)
}

// takes tells whether the bitmap or the cumulative acknowledgement has a PSN, which lies within
// reach of the window.
func (e *Endpoint) has(g *recvPDC, psn uint32) bool {
	distance := psn - g.cack
	return int32(distance) <= 0 || g.beyond > 0 && distance <= g.room.psns() && g.room.has(e.arrived, psn)
}

// gap tells whether a packet is missing before the highest that was received.
func (g *recvPDC) gap() bool { return g.high-g.cack != g.beyond }

// admit notes a PSN in the window as received and moves the cumulative acknowledgement as far as
// it goes. Its size counts in rcvd_bytes.
func (e *Endpoint) admit(g *recvPDC, psn, units uint32) {
	g.received = (g.received + units) & 0xffffff
	if before(g.high, psn) {
		g.high = psn
	}
	if psn == g.cack+1 && g.beyond == 0 && g.response == 0 {
		g.cack = psn
		return
	}
	e.roomFor(g, psn)
	g.room.set(e.arrived, psn)
	g.beyond++
	e.advance(g)
	if before(g.cack, psn) && (g.flags&targetUnnamed == 0 || before(psn, g.unnamed)) {
		g.unnamed = psn
		g.flags |= targetUnnamed
	}
}

// advance moves the cumulative acknowledgement over set bits, up to the first PSN whose
// response must be cleared.
func (e *Endpoint) advance(g *recvPDC) {
	end := g.high + 1
	if g.response != 0 {
		end = e.firstUncleared(g)
	}
	for g.beyond > 0 && g.cack+1 != end && g.room.has(e.arrived, g.cack+1) {
		g.cack++
		g.room.clear(e.arrived, g.cack)
		g.beyond--
	}
}

// roomFor makes the bitmap large enough for a PSN beyond the cumulative acknowledgement.
func (e *Endpoint) roomFor(g *recvPDC, psn uint32) {
	need := psn - g.cack
	if need <= g.room.psns() {
		return
	}
	old := g.room
	g.room = e.recvRoom.take(max(unitsFor(need), 2*old.units))
	if n := int(e.recvRoom.end); n > len(e.arrived) {
		e.arrived = resize(e.arrived, n)
	}
	for w := range g.room.units {
		e.arrived[g.room.first+w] = 0
	}
	if old.units == 0 {
		return
	}
	for at := g.cack + 1; !before(g.high, at) && at-g.cack <= old.psns(); at++ {
		if old.has(e.arrived, at) {
			g.room.set(e.arrived, at)
		}
	}
	e.recvRoom.give(old)
}

// dropArrived gives the bitmap back.
func (e *Endpoint) dropArrived(g *recvPDC) {
	if e.recvRoom.give(g.room) && len(e.arrived) > keptPSNs {
		e.arrived = nil
	}
	g.room = block{}
}

// map64 returns the bits of 64 PSNs from base on, base beyond the cumulative acknowledgement.
func (e *Endpoint) map64(g *recvPDC, base uint32) uint64 {
	if g.beyond == 0 || base-g.cack > g.room.psns() {
		return 0
	}
	bits := g.room.get64(e.arrived, base)
	if left := g.cack + g.room.psns() - base + 1; left < 64 {
		bits &= 1<<left - 1 // what lies behind has wrapped around
	}
	return bits
}
