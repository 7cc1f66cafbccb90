package spray

import "github.com/weft-transport/weft/transport/param"

// Mixed: values that came back unmarked are recycled first come, first served; when none waits the
// bitmap chooses. The reference simulator's default. Its queue of returned values has no bound;
// here only the youngest wait, which differs after the window fell by more packets than that.

func init() {
	Registry.Register(param.Entry[Maker]{
		Name:   "mixed",
		Doc:    "Recycles the entropy values of unmarked packets, and lets the bitmap choose when none waits.",
		Source: "uet-htsim uec_mp.cpp",
		Params: append(append(spaceParams("256"), runParam,
			param.Param{Name: "queue", Kind: param.Int, Default: "64", Min: 1, Max: 1 << 15,
				Doc: "Returned values that may wait, rounded up to a power of two; not scaled with BDP there."}),
			penaltyParams...),
		New: newMixedMaker,
	})
}

// mixed is the state of one context: a bitmap and a ring of returned values.
type mixed struct {
	bitmap
	waiting []uint16 // a power of two
	head    uint32   // running number of the oldest waiting value
	tail    uint32   // ... of the next to come
}

func newMixedMaker(v param.Values) (Maker, error) {
	fallback, err := newBitmapMaker(v)
	size := 1
	for size < int(v.Int("queue")) {
		size *= 2
	}
	return func(p Path) Sprayer {
		return &mixed{bitmap: *fallback(p).(*bitmap), waiting: make([]uint16, size)}
	}, err
}

func (m *mixed) Next(now Time, avoid int32) (uint16, int) {
	for m.head != m.tail {
		ev := m.waiting[m.head%uint32(len(m.waiting))]
		m.head++
		if int32(ev) != avoid || m.walk.space.count == 1 {
			return ev, int(m.run)
		}
	}
	return m.bitmap.Next(now, avoid)
}

func (m *mixed) Report(now Time, ev uint16, o Outcome, rtt Time) {
	m.bitmap.Report(now, ev, o, rtt)
	if _, mine := m.walk.space.index(ev); !mine || o != Good {
		return
	}
	if m.tail-m.head == uint32(len(m.waiting)) {
		m.head++
	}
	m.waiting[m.tail%uint32(len(m.waiting))] = ev
	m.tail++
}
