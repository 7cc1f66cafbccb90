package core

import (
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/wire"
)

// Receiver credits at the destination: one congestion.Granter for the endpoint's link, and what it needs to know of its
// sources. A source is a peer's congestion control context, which may ask on several PDCs; the grants go to the one it
// asked on last. It is forgotten when the last of them is, two segment lifetimes after its end, so that no packet of it
// is under way.
//
// An endpoint grants to whoever asks, whatever controls its own contexts. Grants leave by a timer, as control packets.
type granting struct {
	granter   congestion.Granter
	sources   []grantSource
	free      []uint32
	bySource  lookup // {peer, ccc_id} to source
	scheduled Time
}

type grantSource struct {
	key    uint64
	target uint32 // context on which it asked last
	users  uint32 // contexts on which it ever asked
}

// startGranting makes the Granter when the first request for credit comes. Targets count bytes by nominal sizes, which
// are rounded up; so is the rate at which they are granted.
func (e *Endpoint) startGranting() {
	counted := float64(e.fullUnits * wire.BytesUnit)
	exact := float64(udpHeader + e.requestSize + wire.StandardSize + e.cfg.PayloadMTU + e.cfg.NominalOverhead)
	if !e.plainUnits {
		exact = counted
	}
	link := congestion.Path{LineRateBps: int64(float64(float64(e.cfg.LineRateBps)*counted) / exact), BaseRTT: e.cfg.BaseRTT,
		MTU: e.nominalMTU, MSS: int64(e.cfg.PayloadMTU), Trimming: e.cfg.Trimming}
	e.grants = &granting{sources: make([]grantSource, 1, 2), scheduled: Never}
	if own, ok := e.cfg.NewController(link).(congestion.Credited); ok {
		e.grants.granter = own.Granter(link)
	} else {
		e.grants.granter = congestion.DefaultGranter(link)
	}
}

// asks takes the credit target of a request on target context t.
func (e *Endpoint) asks(now Time, t uint32, r *wire.Request) {
	g := &e.targets[t]
	if g.state != stateEstablished {
		return
	}
	if g.source == 0 {
		e.sourceOf(t, r.CCC)
	}
	e.grants.sources[g.source].target = t
	e.grants.granter.OnTarget(now, g.source, r.CreditTarget)
	e.armGrants()
}

// sourceOf finds or makes the source that asks on a context.
func (e *Endpoint) sourceOf(t uint32, life uint8) {
	if e.grants == nil {
		e.startGranting()
	}
	a, g := e.grants, &e.targets[t]
	key := uint64(g.peer)<<8 | uint64(life) + 1<<40
	s := a.bySource.get(key)
	if s == 0 {
		if n := len(a.free); n > 0 {
			s = a.free[n-1]
			a.free = a.free[:n-1]
		} else {
			s = uint32(len(a.sources))
			a.sources = append(a.sources, grantSource{})
		}
		a.sources[s] = grantSource{key: key}
		a.bySource.put(key, s)
		a.granter.Open(s)
	}
	a.sources[s].users++
	g.source = s
}

// requested takes a CREDIT_REQ. It is answered, so that a source whose turn is far off knows that it is heard.
func (e *Endpoint) requested(now Time, t, word uint32) {
	g := &e.targets[t]
	life := uint8(word >> 24)
	if g.state != stateEstablished || g.source == 0 && life == 0 {
		return // closed, or of a context that is not on credit
	}
	if g.source == 0 {
		e.sourceOf(t, life)
	}
	e.grants.sources[g.source].target = t
	e.grants.granter.OnRequest(now, g.source, word&0xffffff)
	e.grant(now, g.source, e.grants.granter.Granted(g.source))
	e.armGrants()
}

// ungrant lets go of the source of a context that is being forgotten.
func (e *Endpoint) ungrant(t uint32) {
	g := &e.targets[t]
	s := g.source
	if s == 0 {
		return
	}
	g.source = 0
	a := e.grants
	if a.sources[s].users--; a.sources[s].users == 0 {
		a.granter.Close(s)
		a.bySource.remove(a.sources[s].key)
		a.free = append(a.free, s)
	}
}

func (e *Endpoint) armGrants() {
	if due := e.grants.granter.Deadline(); due != Never {
		e.arm(timerTarget, &e.grants.scheduled, due)
	}
}

// fireGrants sends the grants that are due.
func (e *Endpoint) fireGrants(now, at Time) {
	if !fires(&e.grants.scheduled, at) {
		return
	}
	for {
		s, granted, ok := e.grants.granter.Next(now)
		if !ok {
			break
		}
		e.grant(now, s, granted)
	}
	e.armGrants()
}

// grant sends a CREDIT on a context of the source that is not closed; where there is none it is not worth one.
func (e *Endpoint) grant(now Time, s, granted uint32) {
	t := e.grants.sources[s].target
	if g := &e.targets[t]; g.state != stateEstablished || g.source != s {
		for t = 1; t < uint32(len(e.targets)) && (e.targets[t].state != stateEstablished || e.targets[t].source != s); t++ {
		}
		if t == uint32(len(e.targets)) {
			return
		}
		e.grants.sources[s].target = t
	}
	g := &e.targets[t]
	e.control.push(&controlEntry{at: now, peer: g.peer, payload: granted, own: g.own, remote: g.remote, ev: g.ev,
		kind: sendCommand, code: uint8(wire.ControlCredit)})
}
