package main

import (
	"math/rand/v2"

	"github.com/weft-transport/weft/spray"
	"github.com/weft-transport/weft/transport/param"
)

// Sticky random: all packets take one path until it has marked, trimmed or lost so many of them; then
// they take another, drawn at random.

func init() {
	spray.Registry.Register(param.Entry[spray.Maker]{
		Name: "sticky", Doc: "One random path until it disappoints, then another.", Source: "this file",
		Params: []param.Param{
			{Name: "evs", Kind: param.Int, Default: "65536", Min: 1, Max: 65536, Doc: "Number of entropy values in use."},
			{Name: "patience", Kind: param.Int, Default: "1", Min: 1, Max: 1000, Doc: "Marked, trimmed or lost packets that a path may have."},
		},
		New: func(v param.Values) (spray.Maker, error) {
			return func(p spray.Path) spray.Sprayer {
				s := &sticky{chance: rand.New(rand.NewPCG(p.Seed, 0)), evs: int32(v.Int("evs")), patience: int(v.Int("patience"))}
				s.ev = s.chance.Int32N(s.evs)
				return s
			}, nil
		},
	})
}

type sticky struct {
	chance        *rand.Rand // seeded by the run: the same run again takes the same paths
	evs           int32
	ev            int32
	patience, bad int
}

// move goes to another path, if there is one.
func (s *sticky) move() { s.ev, s.bad = (s.ev+1+s.chance.Int32N(max(1, s.evs-1)))%s.evs, 0 }

// Next keeps away from the path that lost the packet, where there is another.
func (s *sticky) Next(now spray.Time, avoid int32) (ev uint16, run int) {
	if s.ev == avoid {
		s.move()
	}
	return uint16(s.ev), 1
}

// Traits are what the conformance tests hold it to.
func (s *sticky) Traits() spray.Traits { return spray.Traits{Learns: true} }

// Report counts what the present path did; older news is of paths that were left.
func (s *sticky) Report(now spray.Time, ev uint16, o spray.Outcome, rtt spray.Time) {
	if o == spray.Good || int32(ev) != s.ev {
		return
	}
	if s.bad++; s.bad >= s.patience {
		s.move()
	}
}
