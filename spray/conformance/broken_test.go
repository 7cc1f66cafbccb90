package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/spray"
	"github.com/weft-transport/weft/transport/instant"
)

// A flaw is one way to break the contract.
type flaw string

const (
	none       flaw = ""
	oneTooFar  flaw = "uses the value behind the last"
	acceptsAll flaw = "takes a range beyond the last value"
	noRun      flaw = "hands out runs of nothing"
	stubborn   flaw = "does not look at avoid"
	shared     flaw = "contexts of one maker share their generator"
	timeOfDay  flaw = "chooses by the time since the start of the run"
	seedless   flaw = "does not look at the seed"
	lopsided   flaw = "prefers the lower half"
	unteach    flaw = "learns, it says, and does not"
	gaveUp     flaw = "after a hundred losses in a row it has one value left"
	gullible   flaw = "recycles whatever it hears of"
	hoards     flaw = "keeps a list"
)

// A probe draws at random and keeps away from values that lost a packet not long ago, with a flaw.
type probe struct {
	flaw         flaw
	first, count uint64
	state        *uint64
	until        [64]instant.Time // by value: not before
	heard        int32
	losses       int // in a row
	dumb         bool
	list         []uint16
}

func (p *probe) Traits() spray.Traits { return spray.Traits{Learns: true} }

func (p *probe) draw() uint16 {
	*p.state = *p.state*6364136223846793005 + 1442695040888963407
	n := (*p.state >> 33) % p.count
	switch {
	case p.flaw == lopsided && n >= p.count/2 && *p.state>>63 == 0:
		n -= p.count / 2
	case p.flaw == oneTooFar && n == 0:
		n = p.count
	}
	return uint16(p.first + n)
}

func (p *probe) Next(now instant.Time, avoid int32) (uint16, int) {
	run := 1
	if p.flaw == noRun {
		run = 0
	}
	if p.flaw == gullible && p.heard != spray.NoEV && p.heard != avoid {
		return uint16(p.heard), run
	}
	if p.dumb && int32(p.first) != avoid {
		return uint16(p.first), run
	}
	if p.flaw == timeOfDay {
		*p.state += uint64(now)
	}
	ev := p.draw()
	for i := 0; i < 100 && p.count > 1; i++ {
		bad := int32(ev) == avoid && p.flaw != stubborn
		if !bad && (now >= p.until[ev%64] || p.flaw == unteach || i > 50) {
			break
		}
		ev = p.draw()
	}
	return ev, run
}

func (p *probe) Report(now instant.Time, ev uint16, o spray.Outcome, rtt instant.Time) {
	if o == spray.Lost {
		p.until[ev%64] = now + 10*instant.Millisecond
	}
	if p.losses++; o == spray.Good || o == spray.Marked {
		p.losses = 0
	}
	p.dumb = p.dumb || p.flaw == gaveUp && p.losses > 100
	p.heard = int32(ev)
	if p.flaw == hoards && o == spray.Lost {
		p.list = append(append([]uint16(nil), p.list...), ev)
		p.list = p.list[:1:1]
	}
}

func subjectOf(f flaw) Subject {
	return Subject{Ranged: true, Make: func(count, first, run int) (spray.Maker, error) {
		if first+count > 1<<16 && f != acceptsAll {
			return nil, errRange
		}
		var common uint64
		return func(path spray.Path) spray.Sprayer {
			own := path.Seed
			if f == seedless {
				own = 1
			}
			own = own*0x9e3779b97f4a7c15 + 1
			p := &probe{flaw: f, first: uint64(first), count: uint64(count), state: &own, heard: spray.NoEV}
			if f == shared {
				common = own
				p.state = &common
			}
			return p
		}, nil
	}}
}

type rangeError struct{}

func (rangeError) Error() string { return "beyond the last entropy value" }

var errRange rangeError

// TestEachFlawIsFound: and by the property that is about it.
func TestEachFlawIsFound(t *testing.T) {
	for f, by := range map[flaw]string{
		oneTooFar: "range", acceptsAll: "range", noRun: "runs", stubborn: "avoid", shared: "deterministic", timeOfDay: "deterministic",
		seedless: "seeds", lopsided: "uniform", unteach: "learns", gaveUp: "recovers", gullible: "strangers", hoards: "allocation",
	} {
		t.Run(string(f), func(t *testing.T) {
			found := map[string]string{}
			for _, p := range Properties() {
				if err := p.Check(subjectOf(f)); err != nil {
					found[p.Name] = err.Error()
				}
			}
			require.Contains(t, found, by)
			t.Log(found)
			delete(found, by)
			for other := range found { // what follows from the flaw, too
				require.Contains(t, followsFrom[f], other)
			}
		})
	}
}

var followsFrom = map[flaw][]string{
	gullible:  {"learns"},
	seedless:  {"uniform", "recovers"},
	oneTooFar: {"avoid", "strangers"},
}

func TestWithoutAFlaw(t *testing.T) { test(t, subjectOf(none)) }
