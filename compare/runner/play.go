package runner

import (
	"fmt"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/workload"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// A Message is one flow on its way: a flow that a multishot trigger starts has several.
type Message struct {
	Flow      int32        // of the plan
	Start     instant.Time // since the beginning, as all times
	Sent      instant.Time // the sender knows that all is there; 0: not yet
	Received  instant.Time // the last byte was placed; 0: not yet
	State     MessageState
	Resent    uint32
	Timeouts  uint32
	Delivered bool
	times     *compare.Times
}

// A MessageState says what has become of a message at its sender.
type MessageState uint8

// States of messages.
const (
	Running MessageState = iota
	Finished
	Failed
)

// A play carries out a plan on a fabric: it starts flows, hears of their ends, and fires triggers.
type play struct {
	plan     *workload.Plan
	fabric   *emulator.Fabric
	hosts    []core.Host
	ears     []listener // by host, side by side in memory
	messages []Message
	schedule *workload.Schedule
	open     int // messages that are neither finished nor failed at both ends
	broken   error
	journal  *journal // where the time goes; nil: nobody asks
	cargo    *cargo   // the bytes of the messages; nil: they are virtual
	events   [16]core.Event
	unheard  []int // hosts that may have events
	hearing  bool
}

func newPlay(plan *workload.Plan, fabric *emulator.Fabric) *play {
	return &play{
		plan: plan, fabric: fabric, hosts: make([]core.Host, fabric.Network().Hosts), ears: make([]listener, fabric.Network().Hosts),
		messages: make([]Message, 0, len(plan.Flows)), schedule: workload.NewSchedule(plan),
	}
}

// attach puts the Stack of a host behind its card, with an ear for its events.
func (p *play) attach(h int, host core.Host, proto core.Proto, opt Options) {
	p.hosts[h] = host
	l := &p.ears[h]
	*l = listener{Stack: host, play: p, self: h}
	if opt.Wrap != nil {
		l.Stack = opt.Wrap(h, host)
	}
	if p.journal != nil {
		l.Stack = p.journal.watch(h, host, l.Stack)
	}
	l.warmer, _ = l.Stack.(core.Warmer)
	if opt.Check {
		l.books, _ = host.(auditor)
	}
	p.fabric.Attach(h, l, proto, 1)
}

// A listener hands a host's events to the play after each call that may cause some.
type listener struct {
	core.Stack
	play   *play
	self   int
	books  auditor     // nil: not looked at
	warmer core.Warmer // the Stack; nil: it is none
	calls  int
}

func (l *listener) HandlePacket(now instant.Time, pkt *core.Packet) {
	l.Stack.HandlePacket(now, pkt)
	l.play.hear(now, l.self)
	l.audit()
}

func (l *listener) HandleTimeout(now instant.Time) {
	l.Stack.HandleTimeout(now)
	l.play.hear(now, l.self)
	l.audit()
}

// audit looks at the books of a host now and then.
func (l *listener) audit() {
	const every = 37 // a prime: in step with nothing
	if l.calls++; l.books != nil && l.calls%every == 0 {
		if err := l.books.Audit(); err != nil {
			l.play.fail("%v", err)
		}
	}
}

// begin starts the flows that are due and arranges the next start.
func (p *play) begin(now instant.Time) {
	for {
		flow, at, ok := p.schedule.Due(now)
		switch {
		case ok:
			p.send(now, flow)
		case at != instant.Never:
			p.fabric.At(at, p.begin)
			return
		default:
			return
		}
	}
}

// send posts one message of a flow.
func (p *play) send(now instant.Time, flow int32) {
	f := &p.plan.Flows[flow]
	id := uint64(len(p.messages))
	p.messages = append(p.messages, Message{Flow: flow, Start: now})
	p.open++
	p.journal.begin(now, id, f)
	m := core.Message{To: core.Addr(f.Dst), Length: f.Bytes, RemoteKey: id, Cookie: id}
	var err error
	if p.cargo != nil {
		err = p.cargo.load(&m, p.hosts[f.Src], p.hosts[f.Dst])
	}
	if err == nil {
		err = p.hosts[f.Src].Send(now, m)
	}
	if err != nil {
		p.fail("flow %d (%d->%d): %v", flow, f.Src, f.Dst, err)
		return
	}
	p.hear(now, int(f.Src))
	p.fabric.Wake(int(f.Src))
}

// hear takes the events of a host, and of those that were given work because of them: a message to a peer
// that has been given up fails at once.
func (p *play) hear(now instant.Time, h int) {
	p.unheard = append(p.unheard, h)
	if p.hearing {
		return
	}
	p.hearing = true
	for n := len(p.unheard); n > 0; n = len(p.unheard) {
		h := p.unheard[n-1]
		p.unheard = p.unheard[:n-1]
		p.hearOne(now, h)
	}
	p.hearing = false
}

func (p *play) hearOne(now instant.Time, h int) {
	for {
		n := p.hosts[h].Events(p.events[:])
		for _, e := range p.events[:n] {
			p.take(now, h, e)
		}
		if n < len(p.events) {
			return
		}
	}
}

func (p *play) take(now instant.Time, h int, e core.Event) {
	id := e.Cookie
	if e.Kind == core.Delivered {
		id = p.idOf(h, e.RemoteKey)
	}
	if id >= uint64(len(p.messages)) {
		p.fail("host %d reports message %d of %d", h, id, len(p.messages))
		return
	}
	m := &p.messages[id]
	f := &p.plan.Flows[m.Flow]
	switch e.Kind {
	case core.Delivered:
		if m.Delivered || e.Length != f.Bytes || int(f.Dst) != h || int(e.Peer) != int(f.Src) {
			p.fail("flow %d (%d->%d, %d bytes): host %d got %d bytes from %d, delivered before: %v", m.Flow, f.Src, f.Dst, f.Bytes, h, e.Length, e.Peer, m.Delivered)
			return
		}
		m.Delivered, m.Received = true, now
		p.check(id, p.cargo.arrived)
		p.activate(now, f.RecvDone)
	case core.Completed:
		if m.State != Running || !m.Delivered || int(f.Src) != h {
			p.fail("flow %d (%d->%d): completed at host %d, ended before: %v, delivered: %v", m.Flow, f.Src, f.Dst, h, m.State != Running, m.Delivered)
			return
		}
		m.State, m.Sent, m.Resent, m.Timeouts = Finished, now, e.Retransmits, e.Timeouts
		m.times = p.journal.end(now, id, h)
		p.check(id, p.cargo.acknowledged)
		p.activate(now, f.SendDone)
		p.close()
	case core.Failed:
		if m.State != Running || int(f.Src) != h {
			p.fail("flow %d (%d->%d): failed at host %d, ended before: %v", m.Flow, f.Src, f.Dst, h, m.State != Running)
			return
		}
		m.State, m.Resent, m.Timeouts = Failed, e.Retransmits, e.Timeouts
		p.journal.end(now, id, h)
		p.close()
	}
}

// idOf returns the number of a message by the key that its target reports.
func (p *play) idOf(host int, key uint64) uint64 {
	if p.cargo != nil {
		return p.cargo.idOf(host, key)
	}
	return key
}

// check looks at the bytes of a message.
func (p *play) check(id uint64, look func(id uint64) error) {
	if err := look(id); err != nil {
		f := &p.plan.Flows[p.messages[id].Flow]
		p.fail("flow %d (%d->%d, %d bytes): %v", p.messages[id].Flow, f.Src, f.Dst, f.Bytes, err)
	}
}

// close counts a message that ended and stops the fabric when nothing is left to start or to wait for.
func (p *play) close() {
	p.open--
	if p.open == 0 && p.schedule.Begun() {
		p.fabric.Stop()
	}
}

// activate fires a trigger (index plus one; 0: none).
func (p *play) activate(now instant.Time, trigger int32) {
	for _, flow := range p.schedule.Activate(trigger) {
		p.send(now, flow)
	}
}

// fail notes a broken promise of a host; the run ends with it.
func (p *play) fail(format string, args ...any) {
	if p.broken == nil {
		p.broken = fmt.Errorf("at %v: "+format, append([]any{p.fabric.Now()}, args...)...)
		p.fabric.Stop()
	}
}

// Warm passes on that the host is about to be called.
func (l *listener) Warm() {
	if l.warmer != nil {
		l.warmer.Warm()
	}
}
