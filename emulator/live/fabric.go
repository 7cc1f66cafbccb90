package live

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// Time is an instant of the network, in picoseconds since it began.
type Time = instant.Time

// ErrClosed is returned by whatever belongs to a Fabric that was closed.
var ErrClosed = errors.New("live: the fabric is closed")

// A Fabric is a network that is played in wall-clock time. It is safe for concurrent use.
type Fabric struct {
	cfg   Config
	gates []*gate
	turns *turns
	begin time.Time
	sleep *sleeper
	done  chan struct{} // closed when the loop has ended

	arrived inbox                   // what programs hand in; the loop takes it all at once
	lookout atomic.Pointer[lookout] // what else it reads; nil before the first Relay
	asleep  atomic.Bool             // the loop, or it is about to: whoever brings something wakes it
	changed atomic.Bool             // what the loop knows of the network's next event is out of date
	closed  atomic.Bool

	rested time.Duration // when the loop last slept, since begin
	ahead  bool          // it goes ahead of all other threads

	// mu is held while the network moves.
	mu       sync.Mutex
	net      *emulator.Fabric
	flights  flights
	hosts    []*Host // nil before the first Driver
	arriving arriving
	full     []flusher // that received something
	relays   []*Relay  // that are open
	missed   uint64    // overflows of those that were
	failed   error
	validity measures

	pool   sync.Pool
	trains [2]sync.Pool // whole ones and short ones
}

// A flusher gives the system what it received while the network moved.
type flusher interface{ flush() }

// A parcel is a datagram on its way from one gate to another.
type parcel struct {
	next             *parcel // in an inbox
	from, to         int32   // hosts
	srcPort, dstPort uint16
	ecn              core.ECN
	dscp             uint8
	class            core.Class    // that its DSCP is in
	stamp            time.Duration // since begin, when it was written
	entered          Time          // into the network
	headers          uint8         // bytes on the wire that are not among the parcel's: IP and UDP of a Conn's datagrams
	buf              []byte        // headroom, and then bytes
	bytes            []byte
	train            *train // that it is a piece of, without bytes of its own; nil: of none
	piece            int
}

// size is how many bytes it has.
func (p *parcel) size() int {
	if p.train != nil {
		return p.train.size(p.piece)
	}
	return len(p.bytes)
}

// headroom has, at its end, what the kernel says about a packet of a TUN device.
const headroom = 16

// ipUDP is what travels around a Conn's datagram.
const ipUDP = 20 + 8

// New begins to play a network. Close ends it.
func New(c Config) (*Fabric, error) {
	f, err := assemble(c)
	if err == nil {
		takePlaces()
		go f.loop()
	}
	return f, err
}

// assemble makes a fabric that stands still.
func assemble(c Config) (*Fabric, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	net, err := emulator.New(c.Network, c.Fabric)
	if err != nil {
		return nil, err
	}
	sleep, err := newSleeper()
	if err != nil {
		return nil, err
	}
	f := &Fabric{
		cfg: c, net: net, sleep: sleep, done: make(chan struct{}), validity: newMeasures(), begin: time.Now(), turns: newTurns(c.Fabric.Classes),
	}
	f.pool.New = func() any { return new(parcel) }
	for i, capacity := range []int{wholeTrain, shortTrain} {
		f.trains[i].New = func() any { return &train{buf: make([]byte, 0, capacity)} }
	}
	f.gates = make([]*gate, c.Network.Hosts)
	for h := range f.gates {
		f.gates[h] = newGate(f, h)
		net.Attach(h, f.gates[h], core.ProtoOther, 1)
	}
	net.OnClone(func(original, twin *core.Packet) {
		if p := f.flights.of(original); p != nil {
			f.flights.depart(twin, f.copyOf(p))
		}
	})
	net.OnLoss(func(p *core.Packet) {
		if x := f.flights.end(p); x != nil {
			f.drop(x)
		}
	})
	return f, nil
}

// Network runs do with the emulated fabric, which stands still meanwhile: for faults, taps and counters.
func (f *Fabric) Network(do func(*emulator.Fabric)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed.Load() {
		return ErrClosed
	}
	do(f.net)
	f.disturb()
	return nil
}

// Close ends the network and everything that waits for it. It returns the invariant that broke, if one did.
func (f *Fabric) Close() error {
	first := !f.closed.Swap(true)
	f.sleep.wake()
	<-f.done
	if first {
		for _, g := range f.gates {
			g.close()
		}
		for _, h := range f.hosts {
			_ = h.Close() // it returns nil
		}
		f.sleep.close()
		givePlaces()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if l := f.lookout.Swap(nil); l != nil {
		l.close()
	}
	return f.failed
}

// enter has the loop read for a relay.
func (f *Fabric) enter(r *Relay) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed.Load() {
		return ErrClosed
	}
	r.in = f.lookout.Load()
	if r.in == nil {
		var err error
		if r.in, err = newLookout(); err != nil {
			return err
		}
		f.lookout.Store(r.in)
		f.disturb()
	}
	f.relays = append(f.relays, r)
	return r.in.add(&inlet{fabric: f, socket: r.outer, route: r.fromClient, lost: r.lose})
}

// leave forgets a relay that is closed.
func (f *Fabric) leave(r *Relay) {
	overflow := r.Overflow()
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := slices.Index(f.relays, r); i >= 0 {
		f.relays = slices.Delete(f.relays, i, i+1)
		f.missed += overflow
	}
}

// since is the wall's clock, and now the network's.
func (f *Fabric) since() time.Duration { return time.Since(f.begin) }

func (f *Fabric) toNetwork(wall time.Duration) Time {
	return Time(float64(wall) * float64(instant.Nanosecond) / f.cfg.Dilation)
}

func (f *Fabric) toWall(t Time) time.Duration {
	if t > Time(float64(instant.Never)/max(1, f.cfg.Dilation)/2) {
		return 1 << 62
	}
	return time.Duration(float64(t) / float64(instant.Nanosecond) * f.cfg.Dilation)
}

// hand gives parcels to the loop, the oldest first.
func (f *Fabric) hand(parcels ...*parcel) error {
	if f.closed.Load() {
		return ErrClosed
	}
	last := len(parcels) - 1
	for i, p := range parcels[:last] {
		parcels[i+1].next = p
	}
	f.arrived.pushAll(parcels[last], parcels[0])
	f.rouse()
	return nil
}

// disturb has the loop look again at what is next.
func (f *Fabric) disturb() {
	f.changed.Store(true)
	f.rouse()
}

// rouse ends the loop's sleep. What it shall see must be there before.
func (f *Fabric) rouse() {
	if f.asleep.Load() && f.asleep.CompareAndSwap(true, false) {
		f.sleep.wake()
	}
}

// loop moves the network; a Host's Do does too.
func (f *Fabric) loop() {
	defer close(f.done)
	runtime.LockOSThread() // its sleeps are system calls, and short
	f.ahead = f.sleep.prepare()
	for {
		next, ok := f.turn(f.now)
		if !ok {
			return
		}
		f.rest(next)
	}
}

// now is the wall's clock as the network's.
func (f *Fabric) now() Time { return f.toNetwork(f.since()) }

// advance lets the network catch up. The caller holds mu.
func (f *Fabric) advance(now Time) bool {
	if err := f.net.AdvanceTo(context.Background(), now); err != nil {
		f.failed = err
		f.closed.Store(true)
		return false
	}
	for i, x := range f.full {
		x.flush()
		f.full[i] = nil
	}
	f.full = f.full[:0]
	f.validity.settle(f.since)
	return true
}

// turn takes what was handed in, lets the network catch up with a clock, and returns when it has something to do next.
func (f *Fabric) turn(clock func() Time) (next Time, ok bool) {
	if f.closed.Load() {
		return 0, false
	}
	f.changed.Store(false)
	f.lookout.Load().poll()
	taken := f.arrived.take()
	f.mu.Lock()
	defer f.mu.Unlock()
	now := clock()
	for taken != nil {
		p := taken
		taken, p.next = p.next, nil
		// It enters when it was written, unless the network is beyond that.
		if at := min(now, f.toNetwork(p.stamp)); at > f.net.Now() && !f.advance(at) {
			return 0, false
		}
		p.entered = f.net.Now()
		if f.gates[p.from].push(p) {
			f.net.Wake(int(p.from))
		}
	}
	if !f.advance(now) {
		return 0, false
	}
	return f.net.Next(), true
}

// rest waits until the network has something to do, or something is handed in: asleep, but for the last part.
func (f *Fabric) rest(next Time) {
	due, now, poll := f.toWall(next), f.since(), max(f.cfg.Poll, 0)
	awake, nap := f.pace()
	switch {
	case due-now > poll:
		f.doze(due - now - poll)
	case f.cfg.Poll < 0 && due > now:
		f.doze(due - now)
	default:
		for now < due && now-f.rested <= awake && f.idle() {
			now = f.since()
		}
		if now-f.rested <= awake {
			return
		}
		f.sleep.sleep(nap)
	}
	f.rested = f.since()
}

// idle tells that nothing was handed in.
func (f *Fabric) idle() bool {
	return f.arrived.empty() && !f.changed.Load() && !f.closed.Load() && !f.lookout.Load().peek()
}

// pace is how long the loop is awake at most, and sleeps then. A loop that never sleeps would have its processor to itself where it
// goes ahead of all, until the system stops it for 50 ms of every second. It gives away what the system would take, often and for
// short. More, where it writes to sockets: the system has whom that wakes wait for the processor of who wakes it.
func (f *Fabric) pace() (awake, nap time.Duration) {
	if f.ahead && f.lookout.Load() != nil {
		return 100 * time.Microsecond, 80 * time.Microsecond
	}
	return 400 * time.Microsecond, 40 * time.Microsecond
}

func (f *Fabric) doze(wait time.Duration) {
	f.asleep.Store(true)
	if f.idle() {
		f.sleep.sleepOr(wait, f.lookout.Load())
	}
	f.asleep.Store(false)
}

func (f *Fabric) newParcel(n int) *parcel {
	p := f.pool.Get().(*parcel)
	if cap(p.buf) < headroom+n {
		p.buf = make([]byte, headroom+n)
	}
	p.buf = p.buf[:headroom+n]
	p.bytes = p.buf[headroom:]
	return p
}

func (f *Fabric) copyOf(p *parcel) *parcel {
	twin := f.newParcel(p.size())
	buf, bytes := twin.buf, twin.bytes
	if p.train == nil {
		copy(buf[headroom-virtioBytes:], p.buf[headroom-virtioBytes:])
	} else {
		clear(buf[:headroom]) // nothing is left for a kernel to do
		p.appendIP(bytes[:0], p.ecn)
	}
	*twin = *p
	twin.buf, twin.bytes, twin.train, twin.next = buf, bytes, nil, nil
	return twin
}

// finished returns a parcel with bytes of its own and all their checksums, instead of p.
func (f *Fabric) finished(p *parcel) *parcel {
	if p.train != nil {
		twin := f.copyOf(p)
		f.drop(p)
		return twin
	}
	if p.headers == 0 {
		complete(p.buf[headroom-virtioBytes:headroom], p.bytes)
	}
	return p
}

func (f *Fabric) drop(p *parcel) {
	switch t := p.train; {
	case t == nil:
		f.pool.Put(p)
	case t.left.Add(-1) == 0:
		f.poolOf(cap(t.buf)).Put(t)
	}
}

// Capacities of trains' buffers: for all that a kernel makes, and for what would waste that.
const (
	wholeTrain = virtioBytes + 1<<16
	shortTrain = 8 << 10
)

func (f *Fabric) poolOf(capacity int) *sync.Pool {
	if capacity == shortTrain {
		return &f.trains[1]
	}
	return &f.trains[0]
}

func (f *Fabric) newTrain(capacity int) *train { return f.poolOf(capacity).Get().(*train) }
