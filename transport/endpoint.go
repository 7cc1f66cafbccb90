package transport

import (
	"sync"
	"sync/atomic"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/splitmix"
)

// An Endpoint is one fabric endpoint (FEP): what peers send to, and what sends to peers. Its methods are safe for
// concurrent use.
//
// What is marked "of the loop" is touched only where the Driver drives the Host, inside Do and in notify, and needs no lock.
type Endpoint struct {
	driver core.Driver
	cfg    Config

	// Of the loop.
	host       *core.Endpoint
	pending    []pending // operations under way, by the low half of their cookie; 0 is unused
	free       uint32    // in pending
	open       int
	starved    []*call            // blocking calls that wait for an operation to end, in turn
	memories   map[uint64]*Memory // by key
	keys       uint64             // from which they are made
	closed     bool
	draining   bool // by Shutdown: nothing new is begun
	unfinished int  // operations under way that end by themselves: all but receives
	events     [32]core.Event
	desk       desk
	leaving    []*Peer   // closed, and not given back yet
	sweepAt    core.Time // when they are looked at next

	forgets atomic.Uint64 // peers that were given back, or evicted

	mu     sync.Mutex
	peers  map[core.Addr]*Peer
	learnt map[core.Addr]*Peer // of those that were not dialled, the last ones
	calls  []*call             // at rest
	stages stages
}

// New makes an endpoint that a Driver drives: sockets (Listen does that), or a host of the emulated fabric.
func New(d core.Driver, c Config) (*Endpoint, error) {
	fail := func(err error) (*Endpoint, error) {
		return nil, &OpError{Op: OpListen, Peer: d.Name(d.Self()), Err: err}
	}
	if err := c.complete(d); err != nil {
		return fail(err)
	}
	host, err := core.New(c.Core)
	if err != nil {
		return fail(wrap{ErrConfig, err})
	}
	e := &Endpoint{driver: d, cfg: c, host: host, pending: make([]pending, 1), memories: make(map[uint64]*Memory), peers: make(map[core.Addr]*Peer), learnt: make(map[core.Addr]*Peer)}
	e.keys = splitmix.Mix(c.Core.Seed) ^ splitmix.Mix(uint64(c.Core.Self)+1)
	if err := d.Start(host, e.notify); err != nil {
		return fail(err)
	}
	e.report("open")
	return e, nil
}

// Name returns the address of the endpoint as peers Dial it.
func (e *Endpoint) Name() string { return e.driver.Name(e.driver.Self()) }

// Driver returns what drives the endpoint: its clock, and its statistics if it has any (udp.Carrier.Stats).
func (e *Endpoint) Driver() core.Driver { return e.driver }

// mostLearnt is how many Peers are kept of those that were not dialled.
const mostLearnt = 1 << 13

// peer returns the Peer of an address that something came from.
func (e *Endpoint) peer(a core.Addr) *Peer {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.peers[a]
	if p == nil || p.evicted { // then who has the address now may be another
		p = e.learnt[a]
	}
	if p == nil {
		if len(e.learnt) == mostLearnt {
			clear(e.learnt)
		}
		p = &Peer{endpoint: e, addr: a}
		e.learnt[a] = p
	}
	return p
}

// Stats are totals since the endpoint was made.
type Stats struct {
	core.Counters
	Pending int // operations under way: blocking ones and those of Queues, receives included
	Sources int // contexts (PDCs) open to peers
	Targets int // and those that peers have opened
	Paths   int // peers of which congestion control keeps something
}

// Stats returns the totals so far.
func (e *Endpoint) Stats() (s Stats, err error) {
	err = e.do(func(core.Time) {
		s = Stats{Counters: e.host.Counters(), Pending: e.open}
		s.Sources, s.Targets = e.host.Open()
		s.Paths = e.host.Contexts(nil)
	})
	return s, err
}

// Close ends the endpoint at once: operations under way end with ErrClosed, and peers find it gone. What must arrive
// must have been waited for. Acknowledgements of what has come are sent, but not again if they are lost: a peer whose
// operation must succeed should hear of it by a message before this end closes. Shutdown ends with grace.
func (e *Endpoint) Close() error {
	e.report("closing")
	e.do(func(core.Time) {
		e.closed = true
		for i := range e.pending {
			if e.pending[i].busy {
				e.finish(uint32(i), &core.Event{Err: core.ClosedInError, Cookie: e.cookie(uint32(i))})
			}
		}
		for _, c := range e.starved {
			c.waiter.Wake()
		}
		e.starved = nil
		for _, m := range e.memories {
			if m.stream != nil {
				m.stream.mu.Lock()
				m.stream.fail(ErrClosed)
				m.stream.mu.Unlock()
			} else {
				m.arrivals.end()
			}
		}
		for _, l := range e.desk.listeners {
			l.end()
		}
		for _, x := range e.desk.dials {
			e.desk.end(e, x.stream, &core.Event{Kind: core.Failed, Err: core.ClosedInError})
		}
	})
	e.do(func(core.Time) {}) // over sockets the loop comes round once more, and acknowledgements leave
	return e.driver.Close()
}

// do runs f where the Host is driven.
func (e *Endpoint) do(f func(now core.Time)) error {
	if e.driver.Do(f) != nil {
		return ErrClosed
	}
	return nil
}

// notify hands out events. It runs where the Host is driven, whenever there may be some.
func (e *Endpoint) notify(now core.Time) {
	for n := e.host.Events(e.events[:]); n > 0; n = e.host.Events(e.events[:]) {
		for i := range e.events[:n] {
			e.hear(&e.events[i])
		}
	}
	if len(e.leaving) > 0 && now >= e.sweepAt {
		e.sweep(now, sweepSome)
	}
}

func (e *Endpoint) hear(v *core.Event) {
	if v.Kind == core.Delivered {
		switch m := e.memories[v.RemoteKey]; {
		case m == nil:
		case m.stream != nil:
			m.stream.arrived(v)
		case v.HasData:
			m.arrivals.push(v)
		}
		return
	}
	if i := uint32(v.Cookie); e.cookie(i) == v.Cookie && e.pending[i].busy {
		e.finish(i, v)
	}
}
