package emulator

// An agenda holds what happens to the fabric itself: pause frames that take effect, credits that
// come back, faults, samples, and calls from outside. It is one source of the calendar.
type agenda struct {
	heap []appointment
	seq  uint64
	due  Time // of its entry in the calendar; Never (or 0 before the first) if there is none
	set  bool
}

type appointment struct {
	at  Time
	seq uint64
	action
}

type actionKind uint8

const (
	callOut actionKind = iota
	pauseOn
	pauseOff
	creditBack
	takeSample
	repairSwitch
	recomputeAll
	releaseShaped
)

type action struct {
	kind  actionKind
	class uint8
	link  int32 // for repairSwitch: the switch
	bytes int64 // for creditBack
	do    func(now Time)
}

func (a appointment) before(b appointment) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

func (a *agenda) add(at Time, what action) {
	a.seq++
	a.heap = append(a.heap, appointment{at, a.seq, what})
	for i := len(a.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !a.heap[i].before(a.heap[parent]) {
			break
		}
		a.heap[i], a.heap[parent] = a.heap[parent], a.heap[i]
		i = parent
	}
}

func (a *agenda) take() appointment {
	first := a.heap[0]
	last := len(a.heap) - 1
	a.heap[0] = a.heap[last]
	a.heap[last] = appointment{}
	a.heap = a.heap[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if a.heap[child].before(a.heap[least]) {
				least = child
			}
		}
		if least == i {
			return first
		}
		a.heap[i], a.heap[least] = a.heap[least], a.heap[i]
		i = least
	}
}

// agendaAdd enters an action and sees to it that the calendar knows.
func (f *Fabric) agendaAdd(at Time, what action) {
	f.control.add(at, what)
	f.armControl()
}

func (f *Fabric) armControl() {
	a := &f.control
	source := uint32(2*len(f.ports) + len(f.hosts))
	if len(a.heap) == 0 || a.set && a.due <= a.heap[0].at {
		return
	}
	if a.set {
		f.cal.cancel(source, a.due)
	}
	a.due, a.set = a.heap[0].at, true
	f.cal.schedule(source, a.due)
}

// runAgenda does everything that is due now.
func (f *Fabric) runAgenda() {
	f.control.set = false
	for len(f.control.heap) > 0 && f.control.heap[0].at <= f.now {
		f.act(f.control.take())
	}
	f.armControl()
}

func (f *Fabric) act(a appointment) {
	if f.tap != nil && (a.kind == pauseOn || a.kind == pauseOff) {
		f.tap.showPause(f, a.link, a.class, a.kind == pauseOff)
	}
	switch a.kind {
	case callOut:
		a.do(f.now)
	case pauseOn:
		f.block(a.link, int(a.class))
	case pauseOff:
		f.unblock(a.link, int(a.class))
	case creditBack:
		f.regainCredit(a.link, int(a.class), a.bytes)
	case releaseShaped:
		f.shapers[a.link].due = Never
		f.unshape(a.link)
	case takeSample:
		f.sample()
	case repairSwitch:
		f.ownRoutes().repair(int(a.link), func(l int) bool { return f.cut[l] })
	case recomputeAll:
		if err := f.ownRoutes().compute(f.net, func(l int) bool { return !f.cut[l] }); err != nil {
			f.fail("%v", err)
		}
	}
}

// ownRoutes returns routes that this fabric may change.
func (f *Fabric) ownRoutes() *routes {
	if f.routing == f.net.base {
		f.routing = f.routing.clone()
	}
	return f.routing
}
