package spray

import (
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// Flowlets of the host: an entropy value serves until the context was silent for longer than paths
// can differ in delay; what follows may then take another path and arrives in order all the same.
// Traffic that a window or a pacer clocks seldom leaves such gaps, and is then as good as on one path.
//
//	packets   ||||||||  |||||||         |||||||
//	value     aaaaaaaa  aaaaaaa   gap   bbbbbbb

func init() {
	Registry.Register(param.Entry[Maker]{
		Name:   "flowlet",
		Doc:    "Another entropy value after a gap between two packets.",
		Source: "Kandula et al., Dynamic Load Balancing Without Packet Reordering (CCR 2007); gap as in the REPS artifact",
		Params: append(spaceParams("65536"), runParam,
			param.Param{Name: "gap", Kind: param.Duration,
				Doc: "Silence that ends a flowlet, at least the difference in delay of two paths; absent: half a base RTT, with which it scales (REPS artifact)."},
			repathParam),
		New: newFlowletMaker,
	})
}

// repathParam lets a sprayer that keeps its value leave it when it loses packets.
var repathParam = param.Param{Name: "repath", Kind: param.Bool, Default: "true",
	Doc: "Whether a packet held lost moves the context to another entropy value, at most once per base RTT."}

// A kept is an entropy value that stays in use for a while.
type kept struct {
	rng   rng
	space space
	ev    uint16
	since Time // when ev came into use
}

func newKept(at layout, seed uint64) kept {
	k := kept{rng: rng(seed)}
	k.space = at.place(&k.rng)
	k.ev = k.space.random(&k.rng, NoEV)
	return k
}

// move draws another value.
func (k *kept) move(now Time) {
	k.ev = k.space.random(&k.rng, int32(k.ev))
	k.since = now
}

// leave gets out of the way of avoid.
func (k *kept) leave(now Time, avoid int32) {
	if int32(k.ev) == avoid {
		k.move(now)
	}
}

type flowlet struct {
	kept
	last   Time // when the last packet left
	gap    Time
	rtt    Time
	run    int32
	repath bool
}

func newFlowletMaker(v param.Values) (Maker, error) {
	at, err := readLayout(v)
	run, repath, gap := int32(v.Int("run")), v.Bool("repath"), v.Time("gap")
	return func(p Path) Sprayer {
		f := &flowlet{kept: newKept(at, p.Seed), run: run, repath: repath, gap: gap, rtt: p.BaseRTT, last: instant.Never} // no gap before the first packet
		if gap == 0 {
			f.gap = p.BaseRTT / 2
		}
		return f
	}, err
}

func (f *flowlet) Next(now Time, avoid int32) (uint16, int) {
	if now-f.last > f.gap {
		f.move(now)
	}
	f.last = now
	f.leave(now, avoid)
	return f.ev, int(f.run)
}

// Report moves away from a value that lost a packet. Older losses say nothing about the new one.
func (f *flowlet) Report(now Time, ev uint16, o Outcome, rtt Time) {
	if f.repath && o == Lost && ev == f.ev && now-f.since >= f.rtt {
		f.move(now)
	}
}
