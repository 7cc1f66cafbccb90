package emulator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/weft-transport/weft/transport/core"
)

// Seeds of a fabric are apart, so that one can vary while the others stay.
type Seeds struct {
	Salt uint64 // of the switches' hashes, random and adaptive choices
	Loss uint64 // of the fates of packets on links
	Mark uint64 // of probabilistic marking and trimming
}

// A Config completes a Network to a Fabric.
type Config struct {
	Classes      []Class // 1 to MaxClasses; packets name them by index
	LinkOverhead int64   // bytes a packet occupies on the wire beside what follows the IP header: Ethernet, preamble, gap, IP, UDP, checksum
	BufferBytes  int64   // shared buffer of a switch; 0: DefaultBuffer of its ports
	MaxWireBytes int64   // of the largest packet, for headroom and event density; 0: 4160
	MinWireBytes int64   // of the smallest packet: smaller ones are padded, as Ethernet does; 0: they are not
	Seeds        Seeds
	RerouteLocal Time // after a link failure its switches use other links; Never: they do not
	RerouteAll   Time // after a failure all routes are computed anew; Never: they are not
	SamplePeriod Time // of queue lengths; 0: no samples
	Check        bool // the books are audited while running, at irregular instants: about 30 events apart at first, then 2000
}

// DefaultBuffer is the buffer of a switch per bit per second of all its ports: 165 MB for 51.2
// Tbit/s, as the largest switch chips of 2023-2025 have it, 25.8 us of every port's rate.
const DefaultBuffer = 165e6 / 51.2e12

// A port is the sending end of a directed link, with the wire behind it. Everything that the
// passage of a packet touches of a link is in these 64 bytes and its queues.
type port struct {
	freeAt    Time   // when the transmitter is done with the packet before
	delay     Time   // propagation, and the delay of the switch it leads to
	psPerByte int64  // serialisation time of a byte, times 65536
	wireHead  uint32 // packets under way, in order of arrival; record numbers
	wireTail  uint32
	to        int32 // node
	servBytes int32 // size of the packet in the transmitter, still counted as queued until freeAt
	servClass uint8
	nonEmpty  uint8 // classes with queued packets
	blocked   uint8 // classes that are paused or out of credit
	state     uint8 // see below
	from      int32 // host, or switch by its number among switches
	txPackets uint32
	txBytes   uint64
}

// States of a port.
const (
	txPending uint8 = 1 << iota // the end of the transmission is in the calendar
	toHost                      // leads to a host
	fromHost                    // leads from a host: the card pulls from its Stack
	impaired                    // has a loss model
	downNow                     // the cable is cut: what is sent is lost
	shaped                      // has a netem
)

func (p *port) serialise(bytes int64) Time { return Time(bytes * p.psPerByte >> 16) }

// A Fabric is a network in virtual time. It is not safe for concurrent use; runs that are apart
// share nothing.
type Fabric struct {
	net     *Network
	cfg     Config
	classes []Class
	plan    service // in which order classes are served

	cal     calendar
	now     Time
	packets pool
	ports   []port
	queues  []queue // by link and class, see at
	lanes   uint    // logarithm of the room for classes in such arrays
	rules   [MaxClasses]rule
	routing *routes
	spread  [MaxClasses]*spreader // by class; nil: routed by hash
	salts   []uint32              // by switch

	hosts    []host
	switches []buffer
	ingress  []ingress                         // by link and class: what arrived by that link and is still buffered
	lossy    []*impairment                     // by link; nil without a loss model
	shapers  []*shaper                         // by link; nil without a netem
	cloned   func(original, twin *core.Packet) // of OnClone
	ended    func(p *core.Packet)              // of OnLoss
	credit   []int64                           // by link and class: bytes that may still be sent; only for classes with credits
	since    []Time                            // by link and class: paused since; Never if not
	control  agenda
	rand     rng  // random and adaptive choices
	steers   bool // the network decides some choices itself (rails.go)
	markRand rng  // probabilistic marks and trims
	cut      []bool
	notes    notebook
	ongoing  []*Fault
	slowed   bool // a link has been slowed down: pauses may take longer than headroom was computed for

	stats   []PortStats
	byClass []classCounts // by link and class; nil before something happened
	totals  Totals
	depths  histogram
	hash    uint64
	stopped bool
	awake   Time   // instant of the last timeout of a host
	wakes   int    // timeouts of hosts at that instant
	auditAt uint64 // number of the event after which the books are checked
	lookAt  uint64 // and after which look is called: 0 if the run is to end
	broken  error
	sampled []func(now Time)
	tap     *tap // nil: nobody looks
}

// maxWireBytes leaves room, in the 16 bits that a record has for the size of a packet, for headers that not
// every packet has and for telemetry.
const maxWireBytes = 1<<16 - 1 - 255

// New builds a fabric. Errors are mistakes of the Network or the Config.
func New(n *Network, cfg Config) (*Fabric, error) {
	if len(cfg.Classes) == 0 || len(cfg.Classes) > MaxClasses {
		return nil, fmt.Errorf("a fabric has 1 to %d classes, not %d", MaxClasses, len(cfg.Classes))
	}
	if cfg.MaxWireBytes == 0 {
		cfg.MaxWireBytes = 4160
	}
	if cfg.MaxWireBytes < 0 || cfg.MaxWireBytes > maxWireBytes {
		return nil, fmt.Errorf("packets of %d bytes on the wire; expected at most %d", cfg.MaxWireBytes, maxWireBytes)
	}
	routing, err := n.baseRoutes()
	if err != nil {
		return nil, err
	}
	lanes := uint(bits.Len(uint(len(cfg.Classes) - 1)))
	f := &Fabric{
		net: n, cfg: cfg, classes: append([]Class(nil), cfg.Classes...), routing: routing,
		ports: make([]port, len(n.Links)), queues: make([]queue, len(n.Links)<<lanes), lanes: lanes,
		hosts: make([]host, n.Hosts), salts: make([]uint32, n.Switches),
		stats: make([]PortStats, len(n.Links)), cut: make([]bool, len(n.Links)),
		steers: n.PinPairs || n.Rails > 1 && !n.AnyPort,
		rand:   rng{derive(cfg.Seeds.Salt, 1)}, markRand: rng{derive(cfg.Seeds.Mark, 2)},
	}
	f.plan = newService(f.classes)
	for c := range f.classes {
		f.rules[c] = newRule(&f.classes[c])
	}
	for i := range f.salts {
		f.salts[i] = uint32(derive(cfg.Seeds.Salt, 3, uint64(i)))
	}
	f.packets.init()
	f.auditAt = math.MaxUint64
	if cfg.Check {
		f.auditAt = 1
	}
	if err := f.buildPorts(); err != nil {
		return nil, err
	}
	if err := f.buildBuffers(); err != nil {
		return nil, err
	}
	if err := f.buildRouting(); err != nil {
		return nil, err
	}
	if err := f.shapeLinks(); err != nil {
		return nil, err
	}
	f.buildCalendar()
	if cfg.SamplePeriod > 0 {
		f.control.add(cfg.SamplePeriod, action{kind: takeSample})
		f.armControl()
	}
	return f, nil
}

func (f *Fabric) buildPorts() error {
	for h := range f.hosts {
		f.hosts[h] = host{uplink: -1, timer: Never}
	}
	for i, l := range f.net.Links {
		if l.RateBps <= 0 || l.Delay < 0 {
			return fmt.Errorf("link %s has rate %d bps and delay %v; expected a positive rate and no negative delay", l.Name, l.RateBps, l.Delay)
		}
		p := &f.ports[i]
		p.to, p.from, p.delay = int32(l.To), int32(l.From), l.Delay
		f.setRate(i, l.RateBps)
		if int(l.To) < f.net.Hosts {
			p.state |= toHost
		} else {
			p.delay += f.net.DelayInto(l.To)
		}
		if int(l.From) < f.net.Hosts {
			p.state |= fromHost
			f.hosts[l.From].uplink = int32(i)
		} else {
			p.from -= int32(f.net.Hosts)
		}
	}
	for h := range f.hosts {
		if f.hosts[h].uplink < 0 {
			return fmt.Errorf("host %d has no cable", h)
		}
	}
	return nil
}

func (f *Fabric) setRate(link int, bps int64) {
	f.ports[link].psPerByte = perByte(bps)
}

// eventsPerBucket: most events are scheduled behind all others of their bucket, so a few in each cost
// nothing and keep the table of buckets in cache (measured: docs/PERFORMANCE.md).
const eventsPerBucket = 4

// buildCalendar sizes buckets so that a few events fall into each when all links are busy.
func (f *Fabric) buildCalendar() {
	var slowest, longest Time = 1, 1
	for i := range f.ports {
		p := &f.ports[i]
		slowest = max(slowest, p.serialise(f.cfg.MaxWireBytes))
		longest = max(longest, p.serialise(f.cfg.MaxWireBytes)+p.delay)
	}
	width := max(1, eventsPerBucket*slowest/Time(len(f.ports)))
	f.cal = newCalendar(2*len(f.ports)+len(f.hosts)+1, min(width, 4096), longest+longest/8)
}

// Sources of the calendar: two a link, the timer of every host, and the agenda.
func arrivalOn(link int32) uint32 { return uint32(link) << 1 }   // of the next packet at the far end
func endOn(link int32) uint32     { return uint32(link)<<1 | 1 } // of the transmission

// Now returns the current instant.
func (f *Fabric) Now() Time { return f.now }

// At runs do at t (or now, if that has passed). For flow starts and other rare things.
func (f *Fabric) At(t Time, do func(now Time)) {
	f.control.add(max(t, f.now), action{kind: callOut, do: do})
	f.armControl()
}

// Stop ends Run after the current event.
func (f *Fabric) Stop() { f.stopped, f.lookAt = true, 0 }

// ErrInterrupted is returned by Run when its context ended.
var ErrInterrupted = errors.New("interrupted")

// Run lets time pass until nothing is left to do, Stop is called, or until is reached. It returns
// ErrInterrupted when ctx ends, or the invariant that broke.
func (f *Fabric) Run(ctx context.Context, until Time) error {
	timers := uint32(2 * len(f.ports))
	f.stopped = false
	f.look()
	for !f.stopped && f.broken == nil {
		for f.totals.Events < f.lookAt {
			src, t := f.cal.pop(until)
			if src == nobody {
				return f.broken
			}
			f.now = t
			f.totals.Events++
			f.warmUp(timers)
			switch {
			case src >= timers:
				f.timeout(src - timers)
			case src&1 == 0:
				f.arrive(int32(src >> 1))
			default:
				f.transmitted(int32(src >> 1))
			}
		}
		if ctx.Err() != nil {
			return ErrInterrupted
		}
		f.look()
	}
	return f.broken
}

// Next returns when the next event is due, Never if there is none. Nothing happens before, unless something is given
// to the fabric from outside.
func (f *Fabric) Next() Time { return f.cal.earliest() }

// AdvanceTo is Run, for those who give the fabric packets at instants of their own: the present is t afterwards, also
// when the last event was earlier.
func (f *Fabric) AdvanceTo(ctx context.Context, t Time) error {
	err := f.Run(ctx, t)
	if err == nil && !f.stopped {
		f.now = max(f.now, t)
	}
	return err
}

// look does what need not be done at every event: it checks the books when they are due.
func (f *Fabric) look() {
	const often = 1 << 14 // events between two looks at the context
	if f.totals.Events >= f.auditAt {
		f.auditNow()
	}
	f.lookAt = min(f.auditAt, f.totals.Events+often)
}

// arrive takes the packet at the far end of a link off the wire.
func (f *Fabric) arrive(link int32) {
	p := &f.ports[link]
	i := p.wireHead
	r := &f.packets.records[i]
	p.wireHead = r.next
	if p.wireHead != 0 {
		f.cal.schedule(arrivalOn(link), r.after)
	}
	if p.state&(impaired|downNow|shaped) != 0 && f.intercept(link, i) {
		return
	}
	f.crossed(link, p, i, r)
}

// crossed takes a packet on that has come through a link whole.
func (f *Fabric) crossed(link int32, p *port, i uint32, r *record) {
	if f.tap != nil {
		f.tap.show(f, Crossed, link, i)
	}
	if p.state&toHost != 0 {
		if f.plan.credit>>(r.class%MaxClasses)&1 != 0 {
			f.returnCredit(link, r)
		}
		f.deliver(int(p.to), i, r)
		return
	}
	out := f.route(int(p.to)-len(f.hosts), link, r)
	if out < 0 {
		f.drop(link, i, DropFault)
		return
	}
	r.ingress = link
	if !f.enqueue(out, i, r) {
		f.overflow(out, i)
	}
}

// transmitted is called when the transmitter of a link is free and something waits for it.
func (f *Fabric) transmitted(link int32) {
	p := &f.ports[link]
	p.state &^= txPending
	if p.state&fromHost != 0 {
		f.Wake(int(p.from))
		return
	}
	f.serve(link, p)
}

// launch starts the transmission of a packet on a free link.
func (f *Fabric) launch(link int32, p *port, i uint32, r *record) {
	size := int64(r.size)
	p.freeAt = f.now + p.serialise(size)
	p.servBytes, p.servClass = int32(size), r.class
	p.txPackets++
	p.txBytes += uint64(size)
	f.totals.Transmissions++
	if f.plan.credit>>(r.class%MaxClasses)&1 != 0 {
		f.spendCredit(link, r)
	}
	arrival := p.freeAt + p.delay
	r.next = 0
	if p.wireHead == 0 {
		p.wireHead, p.wireTail = i, i
		f.cal.schedule(arrivalOn(link), arrival)
		return
	}
	last := &f.packets.records[p.wireTail]
	last.next, last.after = i, arrival
	p.wireTail = i
}

// setTransmitted arranges a call of transmitted at the end of the current transmission.
func (f *Fabric) setTransmitted(link int32, p *port) {
	if p.state&txPending == 0 {
		p.state |= txPending
		f.cal.schedule(endOn(link), p.freeAt)
	}
}

// route chooses the link by which a packet that came by link from leaves a switch; -1: there is no way.
func (f *Fabric) route(sw int, from int32, r *record) int32 {
	rt := f.routing
	set := rt.sets[sw*rt.leaves+int(r.leaf)]
	n := set.count()
	if n <= 1 {
		if n == 1 {
			return rt.hops[set.start()]
		}
		if rt.isLeaf[sw] == r.leaf {
			return rt.down[r.dst]
		}
		return -1
	}
	if f.steers {
		if l := f.steer(sw, from, r, rt.hops[set.start():set.start()+n]); l >= 0 {
			return l
		}
	}
	if f.rules[r.class%MaxClasses].spreads {
		return f.pick(sw, rt.hops[set.start():set.start()+n], r)
	}
	h := mix32(r.hash ^ f.salts[sw])
	return rt.hops[set.start()+uint32(uint64(h)*uint64(n)>>32)]
}
