package runner

import (
	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/workload"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// What a flow spends its time on: indices into its account. compare.Times says what they mean.
const (
	onWindow = iota
	onPacing
	onPause
	onTimeout
	onQueue
	onSerialisation
	onPropagation
	onReceiver
	parts
)

// An account is time by part.
type account [parts]instant.Time

func (a *account) times() *compare.Times {
	return &compare.Times{Window: a[onWindow].Nanoseconds(), Pacing: a[onPacing].Nanoseconds(), Pause: a[onPause].Nanoseconds(),
		Timeout: a[onTimeout].Nanoseconds(), Queueing: a[onQueue].Nanoseconds(), Serialisation: a[onSerialisation].Nanoseconds(),
		Propagation: a[onPropagation].Nanoseconds(), Receiver: a[onReceiver].Nanoseconds()}
}

// A journal finds out where the time of flows goes. It watches the cards of hosts from above, and packets through a tap.
// A nil journal does nothing.
type journal struct {
	fabric   *emulator.Fabric
	open     map[uint64]*passage // by message
	senders  []sender            // by host
	journeys []journey           // by slot of the fabric
	arrived  map[pair]journey    // the last data packet of a pair that has arrived
	last     []journey           // by host: the packet that is being handled
	pauses   map[stop][]spell
	states   []core.ContextState
}

// A pair is a source and a destination.
type pair struct{ from, to core.Addr }

// A passage is a message under way: from each time on, what held it up.
type passage struct {
	pair
	start instant.Time
	marks []mark
}

type mark struct {
	from instant.Time
	part uint8
}

// A sender is a host with messages under way.
type sender struct {
	host     core.Inspector
	messages []uint64
}

func newJournal(f *emulator.Fabric) *journal {
	hosts := f.Network().Hosts
	return &journal{fabric: f, open: map[uint64]*passage{}, senders: make([]sender, hosts), arrived: map[pair]journey{},
		last: make([]journey, hosts), pauses: map[stop][]spell{}, states: make([]core.ContextState, 16)}
}

// begin notes a message that starts.
func (j *journal) begin(now instant.Time, id uint64, f *workload.Flow) {
	if j == nil {
		return
	}
	j.open[id] = &passage{pair: pair{core.Addr(f.Src), core.Addr(f.Dst)}, start: now, marks: []mark{{now, onQueue}}}
	s := &j.senders[f.Src]
	s.messages = append(s.messages, id)
}

// A watched Stack tells the journal each time that the card asks for a packet.
type watched struct {
	core.Stack
	journal *journal
	self    int
}

func (j *journal) watch(h int, host core.Host, s core.Stack) core.Stack {
	j.senders[h].host, _ = host.(core.Inspector)
	return &watched{s, j, h}
}

func (w *watched) Transmit(now instant.Time, pull core.Pull, p *core.Packet) bool {
	sent := w.Stack.Transmit(now, pull, p)
	if len(w.journal.senders[w.self].messages) > 0 {
		w.journal.asked(now, w.self, pull, p, sent)
	}
	return sent
}

// Warm passes on that the host is about to be called.
func (w *watched) Warm() {
	if warmer, ok := w.Stack.(core.Warmer); ok {
		warmer.Warm()
	}
}

// asked marks from now on what every message of a host waits for.
func (j *journal) asked(now instant.Time, h int, pull core.Pull, p *core.Packet, sent bool) {
	s := &j.senders[h]
	n := 0
	if s.host != nil {
		if n = s.host.Contexts(j.states); n > len(j.states) {
			j.states = make([]core.ContextState, 2*n)
			n = s.host.Contexts(j.states)
		}
	}
	for _, id := range s.messages {
		m := j.open[id]
		part := j.state(now, m.to, j.states[:n])
		switch {
		case sent && p.To == m.to && isData(p):
			part = onSerialisation
		case part == onQueue && !sent && pull.Open != core.AllClasses:
			part = onPause
		}
		m.mark(now, part)
	}
}

func isData(p *core.Packet) bool { return p.Payload.Length > 0 || p.Flags&core.Trimmable != 0 }

// state is what keeps the data for a destination from leaving; onQueue: nothing but the card.
func (j *journal) state(now instant.Time, to core.Addr, states []core.ContextState) uint8 {
	best := uint8(onTimeout)
	for i := range states {
		s := &states[i]
		switch {
		case s.Peer != to || s.Queued == 0 && s.Lost == 0:
		case !s.Room:
			if best == onTimeout {
				best = onWindow
			}
		case s.Release > now:
			if best != onQueue {
				best = onPacing
			}
		default:
			best = onQueue
		}
	}
	return best
}

// mark begins a stretch of time, unless the one that runs is of the same kind.
func (m *passage) mark(now instant.Time, part uint8) {
	last := &m.marks[len(m.marks)-1]
	switch {
	case last.part == part:
	case last.from == now:
		last.part = part
	default:
		m.marks = append(m.marks, mark{now, part})
	}
}

// until adds up what held a message up before t.
func (m *passage) until(t instant.Time, a *account) {
	for i, k := range m.marks {
		if k.from >= t {
			return
		}
		end := t
		if i+1 < len(m.marks) {
			end = min(t, m.marks[i+1].from)
		}
		a[k.part] += end - k.from
	}
}

// end closes the account of a message at its sender.
func (j *journal) end(now instant.Time, id uint64, h int) *compare.Times {
	if j == nil {
		return nil
	}
	m := j.open[id]
	delete(j.open, id)
	s := &j.senders[h]
	for i, other := range s.messages {
		if other == id {
			s.messages = append(s.messages[:i], s.messages[i+1:]...)
			break
		}
	}
	var a account
	left := now // where the account of the sender ends
	if answer := &j.last[h]; answer.known && answer.at == now && answer.from == m.to && answer.sent >= m.start {
		answer.add(&a)
		left = answer.sent
		if before := answer.cause; before != nil && before.sent >= m.start {
			a[onReceiver] += answer.sent - before.at
			before.add(&a)
			left = before.sent
		}
	}
	m.until(left, &a)
	return a.times()
}

// meanTimes is the mean over finished flows; nil when their times were not asked for.
func meanTimes(flows []compare.Flow) *compare.Times {
	var sum compare.Times
	n := 0.0
	for i := range flows {
		t := flows[i].Times
		if t == nil {
			continue
		}
		n++
		sum.Window += t.Window
		sum.Pacing += t.Pacing
		sum.Pause += t.Pause
		sum.Timeout += t.Timeout
		sum.Queueing += t.Queueing
		sum.Serialisation += t.Serialisation
		sum.Propagation += t.Propagation
		sum.Receiver += t.Receiver
	}
	if n == 0 {
		return nil
	}
	return &compare.Times{Window: sum.Window / n, Pacing: sum.Pacing / n, Pause: sum.Pause / n, Timeout: sum.Timeout / n, Queueing: sum.Queueing / n,
		Serialisation: sum.Serialisation / n, Propagation: sum.Propagation / n, Receiver: sum.Receiver / n}
}
