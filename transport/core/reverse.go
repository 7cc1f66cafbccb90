package core

import "github.com/weft-transport/weft/transport/wire"

// A context carries packets in two directions. What its initiator opened it for goes forward; the answers to reads that
// do not fit into an acknowledgement come back as requests of the target, with PSNs of their own from the same Start_PSN
// on, and are acknowledged like any other (UE Specification, section 3.5.8):
//
//	initiator                               target
//	sendPDC  --------- requests ---------->  recvPDC
//	   twin  <-------- their ACKs ---------     twin
//	recvPDC  <-------- answers ------------  sendPDC
//	         --------- their ACKs -------->
//
// Each half of the reverse direction is a context as in the forward one, in the same slabs, made when the first answer
// needs it, without a PDCID of its own: own is that of its twin. It opens nothing, closes nothing and is gone with it.

// reverseSource returns the source of answers of a target context; 0: there is no room for one.
func (e *Endpoint) reverseSource(t uint32) uint32 {
	if i := e.targets[t].twin; i != 0 {
		return i
	}
	i := e.freePDC()
	if i == 0 {
		return 0
	}
	g := &e.targets[t]
	ci := e.contextTo(g.peer)
	e.pdcs[i] = sendPDC{
		peer: g.peer, own: g.own, remote: g.remote, context: ci, state: stateEstablished, mode: g.mode, flags: pdcReverse, twin: t,
		una: g.start, next: g.start, start: g.start, cleared: g.start - 1, lostFrom: g.start, scanned: g.start,
		reach: uint32(e.cfg.MPR) * wire.MPRUnit, ev: g.ev,
		scheduled: e.pdcs[i].scheduled, rtoDue: Never, clearDue: Never, probeDue: Never, overdue: Never, idleDue: Never, restUntil: Never, dataDue: Never,
	}
	g.twin = i
	e.usesCredit(ci)
	return i
}

// answerSource finds the source of answers whose wire PDCID is id; 0: there is none.
func (e *Endpoint) answerSource(id uint16) uint32 {
	t := uint32(id &^ targetBit)
	if t >= uint32(len(e.targets)) || e.targets[t].state != stateEstablished || e.targets[t].own != id {
		return 0
	}
	return e.targets[t].twin
}

// unanswered tells whether answers of a target context are not acknowledged.
func (e *Endpoint) unanswered(g *recvPDC) bool {
	if g.twin == 0 || g.flags&targetReverse != 0 {
		return false
	}
	pd := &e.pdcs[g.twin]
	return pd.next != pd.una || pd.first != 0
}

// dropAnswers ends the source of answers of a target context.
func (e *Endpoint) dropAnswers(g *recvPDC) {
	i := g.twin
	if i == 0 || g.flags&targetReverse != 0 {
		return
	}
	g.twin = 0
	e.endMessages(0, i, ClosedInError) // no event comes of answers
	e.letGo(i)
	e.leavesCredit(e.pdcs[i].context)
	e.pdcs[i].state = stateFree
	e.pdcsFree = append(e.pdcsFree, i)
}

// reverseTarget returns the target of answers on a context of ours, and makes it when the first answer comes; 0: nothing
// is expected there, or not from that peer.
func (e *Endpoint) reverseTarget(own uint16, from Addr, remote uint16) uint32 {
	i := e.source(own, from)
	if i == 0 {
		return 0
	}
	pd := &e.pdcs[i]
	if pd.twin != 0 {
		return pd.twin
	}
	if !pd.answers || !pd.sending() || remote == 0 || !e.establish(pd, remote) {
		return 0
	}
	t := e.targetSlot()
	if t == 0 {
		return 0
	}
	g := &e.targets[t]
	*g = recvPDC{peer: pd.peer, remote: remote, own: own, twin: i, state: stateEstablished, mode: pd.mode, start: pd.start, cack: pd.start - 1,
		high: pd.start - 1, flags: targetReverse, scheduled: g.scheduled, restUntil: Never}
	pd.twin = t
	return t
}

// dropReverse ends the target of answers of a source context.
func (e *Endpoint) dropReverse(pd *sendPDC) {
	t := pd.twin
	if t == 0 || pd.flags&pdcReverse != 0 {
		return
	}
	pd.twin = 0
	g := &e.targets[t]
	e.dropArrived(g)
	e.ungrant(t)
	g.beyond, g.state, g.flags = 0, stateFree, 0
	e.targetsFree = append(e.targetsFree, t)
}
