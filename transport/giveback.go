package transport

import (
	"context"
	"errors"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/udp"
)

// A Peer from Dial to the end:
//
//	     Dial              Close              nothing is under way, no stream is open, and
//	 ──────────► dialled ─────────► leaving ────────────────────────────────────────────────► gone
//	               │  ▲                       no context in either direction
//	  room for     │  │ next operation,
//	  another Dial ▼  │ or Dial
//	             evicted
//
// What goes is the place in the table of the sockets (core.Forgetter) and the congestion control context (core.Releaser). The
// fields of a Peer are written in the loop, with Endpoint.mu held, so that either is enough to read them.

// errEvicted is not seen outside: the peer is resolved again.
var errEvicted = errors.New("peer has made room for another")

const (
	sweepEvery = instant.Millisecond // between two looks at peers that leave, while packets come
	sweepSome  = 8                   // of them in one look
	evictSome  = 64                  // peers that one Dial looks at closely for its room
)

// Dial returns the peer of that name, without sending anything: the first operation finds out whether it is there. The
// same name gives the same Peer, until it is closed. Of more peers than Config.UDP.MaxPeers, those that are closed make room, and
// then dialled ones that no context is open with, and nothing else: they are resolved again when they are used. If there
// are none among those that it looks at: ErrBusy.
func (e *Endpoint) Dial(ctx context.Context, name string) (*Peer, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, &OpError{Op: OpDial, Peer: name, Err: err}
	}
	for {
		before := e.forgets.Load()
		a, err := e.resolve(name)
		if err != nil {
			return nil, &OpError{Op: OpDial, Peer: name, Err: err}
		}
		e.mu.Lock()
		p := e.peers[a]
		evicted := p != nil && p.evicted
		if p == nil {
			p = &Peer{endpoint: e, addr: a, name: name}
			e.peers[a] = p
		}
		if !evicted {
			p.dials++
		}
		e.mu.Unlock()
		switch {
		case evicted: // of the same address, or another's now
			err = e.redial(p)
		case e.forgets.Load() != before: // perhaps this one, before it was noted
			err = e.redial(p)
			fallthrough
		default:
			if err == nil {
				return p, nil
			}
		}
		if err != nil {
			return nil, &OpError{Op: OpDial, Peer: name, Err: err}
		}
	}
}

// resolve asks the Driver for an address, and makes room if there is none.
func (e *Endpoint) resolve(name string) (core.Addr, error) {
	for {
		a, err := e.driver.Resolve(name)
		switch {
		case err == nil:
			return a, nil
		case e.isClosed():
			return 0, ErrClosed
		case !errors.Is(err, udp.ErrPeers):
			return 0, wrap{ErrAddress, err}
		}
		room := false
		e.do(func(now core.Time) { room = e.evict(now) })
		if !room {
			return 0, wrap{ErrBusy, err}
		}
	}
}

// redial makes a peer known to the Driver again.
func (e *Endpoint) redial(p *Peer) error {
	for {
		before := e.forgets.Load()
		a, err := e.resolve(p.name)
		if err != nil {
			return err
		}
		e.do(func(now core.Time) {
			e.mu.Lock()
			defer e.mu.Unlock()
			if e.peers[p.addr] == p {
				delete(e.peers, p.addr)
			}
			p.addr, p.evicted = a, false
			switch other := e.peers[a]; {
			case p.closed:
				e.leaving = append(e.leaving, p)
			case other == nil || other.evicted:
				e.peers[a] = p
			}
		})
		if e.forgets.Load() == before {
			return nil
		}
	}
}

// Close takes one Dial of the peer back; with the last, and of a Peer that was not dialled at once, it gives the peer back.
// It does not wait: what is under way ends as it would have, and open streams go on, but operations that begin later fail with
// ErrPeerClosed. The contexts with the peer are closed, and when that is over at both sides its place is others'; contexts that
// the peer has opened end when it closes them, or is silent (Config.Core.TargetIdle). Dial returns a new Peer at once. Further
// calls do nothing.
func (p *Peer) Close() error {
	e := p.endpoint
	e.do(func(now core.Time) {
		e.mu.Lock()
		p.dials--
		last := p.dials <= 0 && !p.closed
		if last {
			p.closed = true
			for _, known := range [...]map[core.Addr]*Peer{e.peers, e.learnt} {
				if known[p.addr] == p {
					delete(known, p.addr)
				}
			}
		}
		e.mu.Unlock()
		if last && !p.evicted {
			e.leaving = append(e.leaving, p)
		}
		e.sweep(now, sweepSome)
	})
	return nil
}

// usable tells whether an operation with the peer may begin. It runs where the Host is driven.
func (p *Peer) usable() error {
	switch {
	case p.closed:
		return ErrPeerClosed
	case p.evicted:
		return errEvicted
	}
	return nil
}

// sweep gives back, of the next peers that leave, those with which all is over. It runs where the Host is driven.
func (e *Endpoint) sweep(now core.Time, most int) {
	e.sweepAt = now + sweepEvery
	e.mu.Lock()
	defer e.mu.Unlock()
	for range min(most, len(e.leaving)) {
		p := e.leaving[0]
		e.leaving = append(e.leaving[:0], e.leaving[1:]...)
		if other := e.peers[p.addr]; other != nil && !other.evicted {
			continue // it was dialled again
		}
		if e.host.ClosePeer(now, p.addr); !e.forget(p.addr) {
			e.leaving = append(e.leaving, p)
		}
	}
}

// forget gives back what is kept of a peer, unless something is under way with it. The caller holds mu.
func (e *Endpoint) forget(a core.Addr) bool {
	if e.host.Engaged(a) {
		return false
	}
	for _, m := range e.memories {
		if m.stream != nil && m.stream.addr == a {
			return false
		}
	}
	e.host.Release(a)
	if d, ok := e.driver.(core.Forgetter); ok {
		d.Forget(a)
	}
	e.forgets.Add(1)
	return true
}

// evict makes room for a Dial; false if there is none. It runs where the Host is driven.
func (e *Endpoint) evict(now core.Time) bool {
	before := e.forgets.Load()
	if e.sweep(now, evictSome); e.forgets.Load() != before {
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	look, pass := evictSome, 16*evictSome
	for _, p := range e.peers { // in any order
		if look == 0 || pass == 0 {
			break
		}
		if pass--; p.evicted {
			continue
		}
		if look--; e.forget(p.addr) {
			p.evicted = true
			return true
		}
	}
	return false
}
