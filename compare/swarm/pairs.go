package swarm

import (
	"fmt"
	"hash/fnv"
	"math"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// A Pair is a controller and a sprayer, by name, with default parameters.
type Pair struct{ Controller, Sprayer string }

// DrawPair makes case number n of a pair: a case as Draw makes it, under UET with both of them. The cases of a pair do not depend on
// which others there are.
func DrawPair(seed uint64, p Pair, n int) (*Case, error) {
	hash := fnv.New64a()
	fmt.Fprint(hash, p.Controller, ",", p.Sprayer)
	c, err := draw(seed^hash.Sum64(), n, &p)
	if err != nil {
		return nil, err
	}
	c.Seed, c.pair = seed, &p
	return c, nil
}

// A gauge looks at the windows and rates of a host's contexts after each packet: they stay inside of what the controller declares.
type gauge struct {
	core.Stack
	inside core.Inspector
	limits *limits
	states []core.ContextState
}

// limits are those of any path in the fabric of a case, and what was first found outside.
type limits struct {
	congestion.Traits
	err error
}

// limits of a case: those of the shortest and of the longest path, with full packets as they are counted without and with
// headers. nil: it is not UET.
func (c *Case) limits() (*limits, error) {
	if c.entry().Spec.Name != "uet" {
		return nil, nil
	}
	maker, _, err := congestion.Registry.Make(c.entry().Params.Choice("congestion"))
	if err != nil {
		return nil, err
	}
	f := &c.setting.Scenario.Fabric
	l := &limits{Traits: congestion.Traits{MinWindow: math.MaxInt64, MinRate: math.MaxInt64}}
	// Bytes of headers that a setting's round trip may not know of, on so many links there and back; how many times shorter a path may
	// be than the longest.
	const headers, links, shortest = 256, 16, 64
	slowest := f.LineRateBps()
	for i := range f.Network.Links {
		slowest = min(slowest, f.Network.Links[i].RateBps)
	}
	longest := c.setting.BaseRTT + core.Time(float64(links*headers*8)/float64(slowest)*float64(instant.Second))
	for _, rtt := range []core.Time{longest, c.setting.BaseRTT / shortest} {
		for _, mtu := range []int64{f.PayloadMTU, f.PayloadMTU + headers} {
			path := congestion.Path{LineRateBps: f.LineRateBps(), BaseRTT: rtt, MTU: mtu, MSS: f.PayloadMTU}
			t := congestion.TraitsOf(maker(path), path)
			l.MinWindow, l.MaxWindow = min(l.MinWindow, t.MinWindow), max(l.MaxWindow, t.MaxWindow)
			l.MinRate, l.MaxRate = min(l.MinRate, t.MinRate), max(l.MaxRate, t.MaxRate)
		}
	}
	return l, nil
}

// watch puts a gauge between a host and its card.
func (l *limits) watch(s core.Stack) core.Stack {
	inside, ok := s.(core.Inspector)
	if l == nil || !ok {
		return s
	}
	return &gauge{Stack: s, inside: inside, limits: l, states: make([]core.ContextState, 16)}
}

func (g *gauge) HandlePacket(now core.Time, p *core.Packet) {
	g.Stack.HandlePacket(now, p)
	g.look(now)
}

func (g *gauge) Transmit(now core.Time, pull core.Pull, p *core.Packet) bool {
	sent := g.Stack.Transmit(now, pull, p)
	g.look(now)
	return sent
}

func (g *gauge) look(now core.Time) {
	if g.limits.err != nil {
		return
	}
	n := min(g.inside.Contexts(g.states), len(g.states))
	for i := range g.states[:n] {
		switch s, l := &g.states[i], g.limits; {
		case s.Window < l.MinWindow || s.Window > l.MaxWindow:
			l.err = fmt.Errorf("at %v, towards %d: a window of %d bytes; declared are %d to %d", now, s.Peer, s.Window, l.MinWindow, l.MaxWindow)
		case s.RateBps != 0 && (s.RateBps < l.MinRate || s.RateBps > l.MaxRate):
			l.err = fmt.Errorf("at %v, towards %d: a rate of %d bit/s; declared are %d to %d", now, s.Peer, s.RateBps, l.MinRate, l.MaxRate)
		}
	}
}
