package bottleneck

import (
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/splitmix"
)

// A drop is one full packet of a flow: on its line, in the queue, or as news on its way back.
type drop struct {
	flow   int32
	marked bool
	sent   instant.Time // left the flow
	at     instant.Time // when the next thing happens to it
	late   instant.Time // jitter on the way to the queue, made good on the way back
	hop    congestion.Hop
	target uint32 // of credit
}

// A line is a first-in first-out of drops, ordered by their times.
type line struct {
	drops []drop
	head  int
}

func (l *line) push(d drop) { l.drops = append(l.drops, d) }

// insert keeps the order where drops of different flows overtake each other.
func (l *line) insert(d drop) {
	l.push(d)
	for i := len(l.drops) - 1; i > l.head && l.drops[i-1].at > d.at; i-- {
		l.drops[i-1], l.drops[i] = d, l.drops[i-1]
	}
}

func (l *line) first() *drop {
	if l.head == len(l.drops) {
		return nil
	}
	return &l.drops[l.head]
}

func (l *line) pop() drop {
	d := l.drops[l.head]
	l.head++
	if l.head == len(l.drops) {
		l.drops, l.head = l.drops[:0], 0
	}
	return d
}

// A flow is a controller and its bytes on their way.
type flow struct {
	creditFlow
	c         congestion.Controller
	rtt       instant.Time
	start     instant.Time
	stopped   bool
	cnps      bool
	inFlight  int64
	free      instant.Time // its line is free
	release   instant.Time // its rate allows the next drop
	nextCNP   instant.Time
	arrives   instant.Time // its last drop, at the queue
	returning line         // delivered
	lost      line         // trimmed or lost
	round     FlowRound
	next      instant.Time // when something happens to it, and what, if nothing else does before
	what      int
}

// A world is a run.
type world struct {
	Setup
	now      instant.Time
	flows    []flow
	turn     int  // flow that is asked first when several can go on at the same time
	arriving line // on the lines, in the order of their arrival
	queue    line
	capacity int64
	granter  congestion.Granter // nil: no credits
	served   int64              // bytes
	draws    uint64
	peak     int64
	hops     [1]congestion.Hop
	rounds   []Round
}

// Run drives one controller of maker for each flow, with the seed of the path and the number of the flow as seed.
func Run(maker congestion.Maker, s Setup) *Curve {
	s = s.filled()
	w := &world{Setup: s, capacity: s.Path.LineRateBps, flows: make([]flow, s.Flows)}
	for i := range w.flows {
		path := s.Path
		path.Seed = splitmix.Mix(s.Path.Seed + uint64(i))
		if i%2 == 1 {
			path.BaseRTT = s.FarRTT
		}
		f := &w.flows[i]
		f.c, f.rtt = maker(path), path.BaseRTT
		f.cnps = congestion.TraitsOf(f.c, path).Hears.Hears(congestion.CNP)
		// Within a round the flows start apart: in lockstep, whoever comes first is always first.
		f.start = instant.Time(s.Join*i)*s.Path.BaseRTT + s.Path.BaseRTT*instant.Time(i)/instant.Time(s.Flows)
	}
	w.openCredit()
	for round := range s.Rounds {
		w.begin(round)
		w.until(s.Path.BaseRTT * instant.Time(round+1))
		w.record()
	}
	return &Curve{Setup: s, Rounds: w.rounds, Credit: w.granter != nil}
}

// begin makes the changes that are due in a round.
func (w *world) begin(round int) {
	for _, step := range w.Steps {
		if step.Round == round {
			w.capacity = step.CapacityBps
		}
	}
	if round == w.Leave && round > 0 {
		for i := 1; i < len(w.flows); i++ {
			f := &w.flows[i]
			if f.stopped = true; f.account != nil {
				w.restate(f)
			}
		}
	}
}

// What may happen next.
const (
	nothing = iota
	arrival
	departure
	granting
	crediting
	asking
	delivery
	loss
	timeout
	starving
	sending
)

// until handles what happens before end, in the order of time; at the same time in the order of the list above, and
// from flow to flow by turns.
func (w *world) until(end instant.Time) {
	for i := range w.flows {
		w.look(&w.flows[i])
	}
	for {
		next, what, who := end, nothing, 0
		if d := w.arriving.first(); d != nil && d.at < next {
			next, what = d.at, arrival
		}
		if d := w.queue.first(); d != nil && d.at < next {
			next, what = d.at, departure
		}
		if w.granter != nil && w.granter.Deadline() < next {
			next, what = w.granter.Deadline(), granting
		}
		for k := range w.flows {
			i := w.turn + k
			if i >= len(w.flows) {
				i -= len(w.flows)
			}
			if f := &w.flows[i]; f.next < next || f.next == next && f.what < what {
				next, what, who = f.next, f.what, i
			}
		}
		if next >= end {
			w.now = end
			return
		}
		w.now = max(w.now, next)
		w.handle(what, who)
	}
}

// handle lets one thing happen, and looks at the flow that it happened to.
func (w *world) handle(what, who int) {
	f := &w.flows[who]
	switch what {
	case arrival:
		f = w.arrive(w.arriving.pop())
	case departure:
		f = w.depart(w.queue.pop())
	case granting:
		if f = w.grant(); f == nil {
			return
		}
	case crediting:
		w.hear(f)
	case asking:
		w.asked(f, who)
	case starving:
		w.restate(f)
	case delivery:
		w.deliver(f, f.returning.pop())
	case loss:
		w.lose(f, f.lost.pop())
	case timeout:
		f.c.OnTimeout(w.now)
		if f.c.Deadline() <= w.now { // a controller that does not move its deadline must not stop the clock
			w.now++
		}
	case sending:
		w.send(who)
	}
	w.look(f)
}

// look finds out what happens to a flow next.
func (w *world) look(f *flow) {
	f.next, f.what = instant.Never, nothing
	consider := func(at instant.Time, what int) {
		if at < f.next {
			f.next, f.what = at, what
		}
	}
	if d := f.returning.first(); d != nil {
		consider(d.at, delivery)
	}
	if d := f.lost.first(); d != nil {
		consider(d.at, loss)
	}
	consider(max(f.c.Deadline(), w.now), timeout)
	if f.account != nil {
		w.lookCredit(f, consider)
		if f.account.Credit() <= 0 {
			return
		}
	}
	if !f.stopped && (f.inFlight <= 0 || f.inFlight+w.Path.MTU <= f.c.Window()) {
		consider(max(w.now, f.start, f.free, f.release), sending)
	}
}

// serialisation is how long a drop takes at a rate.
func (w *world) serialisation(bps int64) instant.Time {
	return instant.Time(float64(w.Path.MTU*8) / float64(bps) * float64(instant.Second))
}

func (w *world) send(i int) {
	f := &w.flows[i]
	w.turn = (i + 1) % len(w.flows)
	target := f.target()
	f.inFlight += w.Path.MTU
	f.free = w.now + w.serialisation(w.Path.LineRateBps)
	f.c.OnSent(w.now, w.Path.MTU, f.inFlight)
	if rate := f.c.Rate(); rate > 0 {
		f.release = max(f.release, w.now) + w.serialisation(rate)
	}
	f.round.Sent += w.Path.MTU
	f.arrives = max(f.arrives, f.free+w.jitter())
	w.arriving.insert(drop{flow: int32(i), sent: w.now, at: f.arrives, late: f.arrives - f.free, target: target})
}

// jitter is up to the time of one drop on the line. Without it flows run in step, and whose drops find the queue full is
// always the same (phase effects: Floyd and Jacobson, 1991).
func (w *world) jitter() instant.Time {
	return instant.Time(float64(w.draw()) / (1 << 31) * float64(w.serialisation(w.Path.LineRateBps)))
}

// draw returns the next 31 random bits of the run.
func (w *world) draw() uint64 {
	w.draws++
	return splitmix.Mix(w.Path.Seed^splitmix.Mix(w.draws)) >> 33
}

func (w *world) queued() int64 { return int64(len(w.queue.drops)-w.queue.head) * w.Path.MTU }

// arrive puts a drop into the queue, where its departure is certain from now on.
func (w *world) arrive(d drop) *flow {
	f := &w.flows[d.flow]
	leaves := w.now
	if n := len(w.queue.drops); n > w.queue.head {
		leaves = w.queue.drops[n-1].at
	}
	if w.queued()+w.Path.MTU > w.Limit {
		d.at = d.sent + f.rtt
		if w.Path.Trimming {
			w.arrivesAtReceiver(d, true)
		} else {
			d.at = max(w.now, leaves+w.wayBack(f)-d.late)
		}
		f.lost.insert(d)
		return f
	}
	d.at = leaves + w.serialisation(w.capacity)
	w.queue.push(d)
	w.peak = max(w.peak, w.queued())
	return f
}

// wayBack is what is left of the base RTT behind the queue.
func (w *world) wayBack(f *flow) instant.Time {
	return max(0, f.rtt-w.serialisation(w.Path.LineRateBps)-w.serialisation(w.capacity))
}

func (w *world) depart(d drop) *flow {
	f, left := &w.flows[d.flow], w.queued()
	w.served += w.Path.MTU
	w.arrivesAtReceiver(d, false)
	d.marked = !w.lastHop() && w.marksAt(left)
	d.hop = congestion.Hop{RateBps: w.capacity, Stamp: w.now, SentBytes: w.served, QueueBytes: left}
	d.at = max(w.now, w.now+w.wayBack(f)-d.late)
	if n := len(f.returning.drops); n > f.returning.head { // the capacity may just have changed
		d.at = max(d.at, f.returning.drops[n-1].at)
	}
	f.returning.push(d)
	return f
}

// marksAt draws the mark of a drop that leaves so many bytes behind.
func (w *world) marksAt(bytes int64) bool {
	switch {
	case bytes <= w.ECNMin:
		return false
	case bytes >= w.ECNMax:
		return true
	}
	return float64(w.draw())*float64(w.ECNMax-w.ECNMin) < float64(bytes-w.ECNMin)*(1<<31)
}

func (w *world) deliver(f *flow, d drop) {
	f.inFlight -= w.Path.MTU
	f.round.Delivered += w.Path.MTU
	if d.marked {
		f.round.Marks++
		if f.cnps && w.now >= f.nextCNP {
			f.nextCNP = w.now + w.CNPInterval
			f.c.OnSignal(w.now, congestion.Signal{Cause: congestion.CNP, InFlight: f.inFlight})
		}
	}
	w.hops[0] = d.hop
	f.c.OnAck(w.now, congestion.Ack{Delivered: w.Path.MTU, InFlight: f.inFlight, RTT: w.now - d.sent, Marked: d.marked, Hops: w.hops[:]})
}

func (w *world) lose(f *flow, d drop) {
	f.inFlight -= w.Path.MTU
	f.round.Losses++
	s := congestion.Signal{Cause: congestion.Inferred, Bytes: w.Path.MTU, InFlight: f.inFlight}
	if w.Path.Trimming {
		s.Cause, s.RTT, s.LastHop = congestion.Trimmed, w.now-d.sent, w.lastHop()
	}
	f.c.OnSignal(w.now, s)
}

// record closes a round.
func (w *world) record() {
	r := Round{QueuePeak: w.peak, Queue: w.queued(), CapacityBps: w.capacity, Flows: make([]FlowRound, len(w.flows))}
	for i := range w.flows {
		f := &w.flows[i]
		f.round.Window, f.round.RateBps = f.c.Window(), f.c.Rate()
		f.round.Active = f.start < w.now && !f.stopped
		r.Flows[i] = f.round
		f.round = FlowRound{}
	}
	w.rounds, w.peak = append(w.rounds, r), w.queued()
}
