package spray

import (
	"math"

	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// REPS: recycled entropy packet spraying. The entropy value of a packet that came back unmarked
// serves another packet; one that came back marked, trimmed or not at all is forgotten. Without a
// value to recycle a random one is explored. Slow and broken paths return few values, so load
// moves away from them without a map of the network and in 64 bytes.
//
//	            lost, and failure likely           freeze time over
//	  recycle ---------------------------> frozen ------------------> explore n packets
//	     ^    use each value once             use the ring's values      random values,
//	     |                                    again and again            ring emptied
//	     +------------------------------------------------------------------+
//
// Frozen, the sender trusts only values that were alive when the failure showed. With
// trimming a loss cannot be congestion, so every loss is a likely failure; without, only one that
// no high RTT came before.
//
// What the variants choose, each by a parameter of its own:
//
//	              paper               artifact           htsim
//	explore       a BDP of packets    a BDP of packets   16 packets   after freezing
//	start         a BDP of packets    0                  0            random before recycling
//	freeze        100us               10ms               10ms
//	frozen from   oldest value        first slot         first slot
//
// The artifact thaws after 100us in one figure alone, whose links come back. Where they stay dead, a thaw costs more than freezing gains: what is
// explored is a number of packets, whatever the window, and what of them is lost freezes the ring again as soon as the last has left.
//
// An empty ring makes the first window random in all of them. The simulator refuses to run
// without trimming; here it uses the artifact's rule. Both keep their valid slots by a count behind
// the head, which frozen mode breaks; here the oldest valid slot is looked for.

func init() {
	Registry.Register(param.Entry[Maker]{
		Name:   "reps",
		Doc:    "Recycles the entropy values of packets that came back unmarked; freezes to known good ones on failure.",
		Source: "REPS (EuroSys 2026, arXiv 2407.21625) and its artifact; uet-htsim uec_mp.cpp for variant=htsim",
		Params: []param.Param{
			{Name: "evs", Kind: param.Int, Default: "256", Min: 1, Max: maxEVs,
				Doc: "Number of entropy values to explore (the paper: 65536, with 256 about as good); not scaled."},
			{Name: "first", Kind: param.Int, Default: "0", Min: 0, Max: maxEVs - 1, Doc: "First entropy value; no scaling."},
			runParam,
			{Name: "variant", Kind: param.Word, Default: "paper", OneOf: []string{"paper", "artifact", "htsim"},
				Doc: "Whose defaults explore, start, freeze and the frozen order take."},
			{Name: "explore", Kind: param.Int, Min: 0, Max: math.MaxUint16,
				Doc: "Packets with random values after freezing; absent: as the variant, a BDP of packets (paper, artifact) or 16, not scaled (htsim)."},
			{Name: "start", Kind: param.Int, Min: 0, Max: math.MaxUint16,
				Doc: "Packets with random values at the start; absent: as the variant, a BDP of packets (paper) or none."},
			{Name: "freezing", Kind: param.Bool, Default: "true", Doc: "Whether a likely failure freezes the ring."},
			{Name: "freeze", Kind: param.Duration, Doc: "How long frozen; absent: as the variant, 100us (paper) or 10ms (artifact, htsim), not scaled: it should outlast the repair of a route."},
			{Name: "failureRTT", Kind: param.Float, Default: "1.65", Min: 1, Max: 1000,
				Doc: "Without trimming, a loss is a likely failure if no RTT reached this many base RTTs (artifact)."},
			{Name: "lookback", Kind: param.Duration,
				Doc: "... within this time before the loss was noticed, best twice the RTO; absent: 16 base RTTs."},
			{Name: "lifetime", Kind: param.Int, Default: "1", Min: 1, Max: 15,
				Doc: "How many packets one returned value may serve: 1 as in the paper, or the acknowledgement coalescing ratio, with which it scales."},
			{Name: "forget", Kind: param.Bool, Default: "", Doc: "Whether a value that is lost while frozen leaves the ring (ours); absent: no, as in the paper."},
			{Name: "probe", Kind: param.Int, Default: "0", Min: 0, Max: 1 << 20,
				Doc: "One packet in this many explores a random value while values are waiting (ours); 0: none, as in the paper; no scaling."},
		},
		New: newREPSMaker,
	})
}

const repsSlots = 8

// repsParams are shared by all contexts of a run. Numbers below 0 stand for a BDP of packets.
type repsParams struct {
	space          space
	run            int
	explore, start int64
	freezing       bool
	forget         bool
	fromOldest     bool
	freeze         Time
	failureRTT     float64
	lookback       Time
	lifetime       uint32
	probe          uint32
}

// reps is the state of one context: 64 bytes.
type reps struct {
	ring       [repsSlots]uint16 // values that came back, head is the next to be overwritten
	p          *repsParams
	rng        rng
	unfreezeAt Time   // end of frozen mode; 0: not frozen
	lastHigh   Time   // when an RTT last was high
	highNanos  uint32 // an RTT at or above this is high; 0: trimming, where it does not matter
	lives      uint32 // four bits a slot: packets it may still serve
	bdpPackets uint16
	explore    uint16 // packets still to get random values
	valid      uint8  // one bit a slot: not used up
	head       uint8
	filled     uint8 // slots ever written since the last reset
	frozenAt   uint8 // next slot in frozen mode
}

func newREPSMaker(v param.Values) (Maker, error) {
	at, err := readLayout(v)
	p := &repsParams{
		space: space{first: uint16(at.first), count: at.count}, run: int(v.Int("run")),
		freezing: v.Bool("freezing"), forget: v.Bool("forget"), failureRTT: v.Float("failureRTT"), lookback: v.Time("lookback"),
		lifetime: uint32(v.Int("lifetime")), probe: uint32(v.Int("probe")),
	}
	p.choose(v)
	return func(path Path) Sprayer { return newREPS(p, path) }, err
}

// choose fills what the variant decides, unless it is given.
func (p *repsParams) choose(v param.Values) {
	p.explore, p.start, p.freeze, p.fromOldest = -1, -1, 100*instant.Microsecond, true
	switch v.Word("variant") {
	case "artifact":
		p.start, p.freeze, p.fromOldest = 0, 10*instant.Millisecond, false
	case "htsim":
		p.explore, p.start, p.freeze, p.fromOldest = 16, 0, 10*instant.Millisecond, false
	}
	if v.Has("explore") {
		p.explore = v.Int("explore")
	}
	if v.Has("start") {
		p.start = v.Int("start")
	}
	if v.Has("freeze") {
		p.freeze = v.Time("freeze")
	}
}

func newREPS(p *repsParams, path Path) *reps {
	r := &reps{p: p, rng: rng(path.Seed), lastHigh: longAgo}
	r.bdpPackets = uint16(min(max(path.BDPPackets, 0), math.MaxUint16))
	if !path.Trimming {
		r.highNanos = uint32(min(max(1, p.failureRTT*path.BaseRTT.Nanoseconds()), math.MaxUint32))
	}
	r.explore = r.packets(p.start)
	return r
}

// longAgo is before everything a run looks back to.
const longAgo = -1000 * instant.Second

// packets resolves a number of packets that may stand for a BDP.
func (r *reps) packets(n int64) uint16 {
	if n < 0 {
		return r.bdpPackets
	}
	return uint16(n)
}

func (r *reps) frozen() bool { return r.unfreezeAt != 0 }

func (r *reps) Next(now Time, avoid int32) (uint16, int) {
	return r.choose(avoid), r.p.run
}

func (r *reps) choose(avoid int32) uint16 {
	if r.explore > 0 {
		r.explore--
		return r.p.space.random(&r.rng, avoid)
	}
	if r.frozen() {
		if slot, found := r.nextFrozen(avoid); found {
			return r.ring[slot]
		}
	} else if slot, found := r.oldest(avoid); found && !r.probes() {
		r.use(slot)
		return r.ring[slot]
	}
	return r.p.space.random(&r.rng, avoid)
}

// probes tells whether this packet explores although a value waits.
func (r *reps) probes() bool {
	return r.p.probe > 0 && r.rng.below(r.p.probe) == 0
}

// oldest finds the valid slot that was written longest ago and does not hold avoid.
func (r *reps) oldest(avoid int32) (slot uint8, found bool) {
	for i := uint8(0); i < repsSlots && r.valid != 0; i++ {
		slot = (r.head + i) % repsSlots
		if r.valid>>slot&1 != 0 && int32(r.ring[slot]) != avoid {
			return slot, true
		}
	}
	return 0, false
}

// nextFrozen goes round the ring, used or not.
func (r *reps) nextFrozen(avoid int32) (slot uint8, found bool) {
	for i := uint8(0); i < r.filled; i++ {
		slot = r.frozenAt
		r.frozenAt = (r.frozenAt + 1) % r.filled
		if int32(r.ring[slot]) != avoid {
			return slot, true
		}
	}
	return 0, false
}

// use takes one life of a slot.
func (r *reps) use(slot uint8) {
	shift := slot * 4
	left := r.lives >> shift & 15
	if left <= 1 {
		r.valid &^= 1 << slot
		return
	}
	r.lives -= 1 << shift
}

// add puts a value into the ring, over the oldest.
func (r *reps) add(ev uint16) {
	shift := r.head * 4
	r.ring[r.head] = ev
	r.valid |= 1 << r.head
	r.lives = r.lives&^(15<<shift) | r.p.lifetime<<shift
	r.head = (r.head + 1) % repsSlots
	r.filled = min(r.filled+1, repsSlots)
}

func (r *reps) Report(now Time, ev uint16, o Outcome, rtt Time) {
	if rtt >= Time(r.highNanos)*instant.Nanosecond {
		r.lastHigh = now
	}
	if o == Lost && r.p.freezing && !r.frozen() && r.explore == 0 && r.failureLikely(now) {
		r.freeze(now)
	}
	if o == Lost && r.p.forget && r.frozen() {
		r.forget(ev)
	}
	if r.frozen() && now > r.unfreezeAt {
		r.thaw()
	}
	if _, mine := r.p.space.index(ev); mine && o == Good {
		r.add(ev)
	}
}

// failureLikely tells whether a loss points to a dead path rather than to a full queue.
func (r *reps) failureLikely(now Time) bool {
	if r.highNanos == 0 {
		return true
	}
	lookback := r.p.lookback
	if lookback == 0 {
		baseNanos := float64(r.highNanos) / r.p.failureRTT
		lookback = Time(16 * baseNanos * float64(instant.Nanosecond))
	}
	return now-r.lastHigh > lookback
}

func (r *reps) freeze(now Time) {
	r.unfreezeAt = now + min(r.p.freeze, instant.Never-now)
	r.frozenAt = 0
	if r.p.fromOldest && r.filled == repsSlots {
		r.frozenAt = r.head
	}
}

// forget takes a value out of the ring; the others stay in their order.
func (r *reps) forget(ev uint16) {
	old := *r
	first := uint8(0)
	if old.filled == repsSlots {
		first = old.head
	}
	r.valid, r.lives, r.head, r.filled, r.frozenAt = 0, 0, 0, 0, 0
	for i := range old.filled {
		slot := (first + i) % repsSlots
		if old.ring[slot] == ev {
			continue
		}
		r.ring[r.filled] = old.ring[slot]
		r.valid |= old.valid >> slot & 1 << r.filled
		r.lives |= old.lives >> (slot * 4) & 15 << (r.filled * 4)
		r.filled++
	}
	r.head = r.filled % repsSlots
	if r.filled == old.filled { // it was not there
		*r = old
	}
}

// thaw forgets everything and explores.
func (r *reps) thaw() {
	r.unfreezeAt = 0
	r.valid, r.head, r.filled = 0, 0, 0
	r.explore = r.packets(r.p.explore)
}
