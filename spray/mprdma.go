package spray

import "github.com/weft-transport/weft/transport/param"

// MP-RDMA: acknowledgements clock the virtual paths. A packet takes the path that the acknowledgement
// took which made room for it, so load follows the rate at which paths return
// acknowledgements: no state for each path is kept. Where a window grows, its last packet shares the path with the one before; where
// nothing was heard yet the path is drawn.
//
//	clean acknowledgement     its value may serve one packet, or two if nothing else waits
//	marked                    every second lets nothing go: its window falls by half a packet
//	overtaken by delta        lets nothing go: the path is too slow, and falls out of use
//	trimmed, lost             lets nothing go
//	probe                     one packet in 100, at most one a round trip, draws its value
//
// The paper judges order by sequence numbers, which sprayers do not see; here by when the
// acknowledged packets left: delta packets are the time that they take at the line's rate. Its
// synchronisation of ordered messages belongs to the transport and is not here.

func init() {
	Registry.Register(param.Entry[Maker]{
		Name:   "mprdma",
		Doc:    "A packet takes the path of the acknowledgement that made room for it; slow paths are pruned.",
		Source: "MP-RDMA (NSDI 2018), sections 3.2 to 3.4",
		Params: []param.Param{
			{Name: "evs", Kind: param.Int, Default: "16384", Min: 1, Max: maxEVs,
				Doc: "Number of entropy values to draw from (paper: the UDP ports 49152 to 65535); no scaling."},
			{Name: "first", Kind: param.Int, Default: "49152", Min: 0, Max: maxEVs - 1, Doc: "First entropy value; no scaling."},
			runParam,
			{Name: "release", Kind: param.Int, Default: "2", Min: 1, Max: 64,
				Doc: "Packets that one acknowledgement may let go on its path (paper: 2); half of them before another's turn: twice the acknowledgement coalescing ratio, with which it scales."},
			{Name: "probe", Kind: param.Fraction, Default: "1%", Min: 0, Max: 1, Doc: "Probability that a packet draws its value, at most once a base RTT (paper: 1%)."},
			{Name: "delta", Kind: param.Int, Default: "32", Min: 0, Max: 1 << 16,
				Doc: "Packets by which an acknowledged one may be overtaken before its path is pruned (paper: 32, half of its receiver's bitmap); 0: no bound. Scales with the bandwidth-delay product."},
		},
		New: newMPRDMAMaker,
	})
}

const mprdmaSlots = 64 // acknowledgements that may wait for the wire; the youngest are kept

// mprdmaParams are shared by all contexts of a run.
type mprdmaParams struct {
	space       space
	run         int
	firm, spare uint8 // packets of an acknowledgement: in its turn, and if nothing else waits
	probe       uint32
	delta       Time
}

type mprdma struct {
	waiting    [mprdmaSlots]uint16
	head, tail uint32 // running numbers: oldest waiting, next to come
	rng        rng
	p          *mprdmaParams
	late       Time // an acknowledged packet that left so long before the youngest is late; 0: never
	youngest   Time // when the youngest acknowledged packet left
	nextProbe  Time
	rtt        Time
	ev         uint16 // in use
	left       uint8  // of its turn
	spare      uint8  // and beyond
	halves     uint8  // marked acknowledgements without a partner
}

func newMPRDMAMaker(v param.Values) (Maker, error) {
	at, err := readLayout(v)
	release := uint8(v.Int("release"))
	p := &mprdmaParams{space: space{first: uint16(at.first), count: at.count}, run: int(v.Int("run")), firm: (release + 1) / 2, spare: release / 2,
		probe: uint32(min(v.Float("probe")*(1<<32), 1<<32-1)), delta: Time(v.Int("delta"))}
	return func(path Path) Sprayer {
		return &mprdma{rng: rng(path.Seed), p: p, rtt: path.BaseRTT, youngest: longAgo,
			late: p.delta * path.BaseRTT / Time(max(1, path.BDPPackets))}
	}, err
}

func (m *mprdma) Next(now Time, avoid int32) (uint16, int) {
	if m.p.probe > 0 && now >= m.nextProbe && uint32(m.rng.next()) < m.p.probe {
		m.nextProbe = now + m.rtt
		return m.p.space.random(&m.rng, avoid), m.p.run
	}
	for m.left == 0 && m.head != m.tail {
		m.ev = m.waiting[m.head%mprdmaSlots]
		m.head++
		m.left, m.spare = m.p.firm, m.p.spare
		if int32(m.ev) == avoid {
			m.left, m.spare = 0, 0
		}
	}
	switch {
	case m.left > 0:
		m.left--
	case m.spare > 0:
		m.spare--
	default:
		return m.p.space.random(&m.rng, avoid), m.p.run
	}
	if int32(m.ev) == avoid {
		return m.p.space.random(&m.rng, avoid), m.p.run
	}
	return m.ev, m.p.run
}

func (m *mprdma) Report(now Time, ev uint16, o Outcome, rtt Time) {
	if _, mine := m.p.space.index(ev); !mine || o > Marked || m.overtaken(now, rtt) {
		return
	}
	if o == Marked {
		if m.halves ^= 1; m.halves == 0 {
			return
		}
	}
	if m.tail-m.head == mprdmaSlots {
		m.head++
	}
	m.waiting[m.tail%mprdmaSlots] = ev
	m.tail++
}

// overtaken tells whether a packet that was acknowledged left long before others that were.
func (m *mprdma) overtaken(now, rtt Time) bool {
	if rtt < 0 {
		return false
	}
	left := now - rtt
	m.youngest = max(m.youngest, left)
	return m.late > 0 && m.youngest-left > m.late
}
