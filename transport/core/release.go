package core

import "github.com/weft-transport/weft/congestion"

// What an endpoint keeps of a peer beyond their contexts is the congestion control context towards it, with its controller and
// sprayer. It stays, so that the next message knows the path, until the owner of the endpoint says that it may go.

// A Releaser is a Stack that can forget a peer.
type Releaser interface {
	// Release forgets what is kept of a peer and returns true when nothing is under way with it and no context is open
	// in either direction. Otherwise it returns false, and what is kept goes when the last of that has ended.
	Release(peer Addr) bool
}

// ClosePeer closes the contexts that this endpoint has opened to a peer, each as soon as its messages have ended.
func (e *Endpoint) ClosePeer(now Time, peer Addr) {
	ci := e.byPeer.get(uint64(peer) + 1)
	if ci == 0 {
		return
	}
	for i, next := e.contexts[ci].pdcs, uint32(0); i != 0; i = next {
		next = e.pdcs[i].sibling
		e.quiesce(i)
		e.finishQuiesce(now, i)
	}
}

// Release implements Releaser.
func (e *Endpoint) Release(peer Addr) bool {
	ci := e.byPeer.get(uint64(peer) + 1)
	if e.Engaged(peer) {
		if ci != 0 {
			e.contexts[ci].unwanted = true
		}
		return false
	}
	if ci == 0 {
		return true
	}
	c := &e.contexts[ci]
	c.rtx, c.data = chain{}, chain{}
	e.rtxReady.remove(e.rtxReadyLink, ci)
	e.dataReady.remove(e.dataReadyLink, ci)
	if e.onCredit() {
		e.unshare(ci)
		e.lifeUsed = e.credits[ci].life
		e.credits[ci] = creditLine{due: Never}
	}
	e.byPeer.remove(uint64(peer) + 1)
	*c = ccc{scheduled: c.scheduled, due: Never, credit: congestion.Unlimited}
	e.algorithms[ci] = algorithms{}
	e.contextsFree = append(e.contextsFree, ci)
	return true
}

// ended forgets a peer that was released before its last context was gone.
func (e *Endpoint) ended(peer Addr) {
	if ci := e.byPeer.get(uint64(peer) + 1); ci != 0 && e.contexts[ci].unwanted {
		e.Release(peer)
	}
}

// Engaged tells whether a context with a peer is open, in either direction, or anything is under way that belongs to none.
// It looks at everything that the endpoint has.
func (e *Endpoint) Engaged(peer Addr) bool {
	if ci := e.byPeer.get(uint64(peer) + 1); ci != 0 && e.contexts[ci].pdcs != 0 {
		return true
	}
	for t := 1; t < len(e.targets); t++ {
		if g := &e.targets[t]; g.peer == peer && g.state == stateEstablished {
			return true
		}
	}
	for mi := 1; mi < len(e.messages); mi++ { // without context: loose, put off, or to be sent again
		if x := e.messages[mi].extra; x != 0 && e.operations[x].peer == peer {
			return true
		}
	}
	for ai := 1; ai < len(e.receiving.arrivals); ai++ { // to be asked for, or read, later
		a := &e.receiving.arrivals[ai]
		if a.peer == peer && (a.state == arrivalDeferred || a.state == arrivalRestarting || a.state == arrivalRendezvous || a.state == arrivalReading) {
			return true
		}
	}
	for k := range e.control.count {
		if e.control.ring[(e.control.first+k)&uint32(len(e.control.ring)-1)].peer == peer {
			return true
		}
	}
	return false
}
