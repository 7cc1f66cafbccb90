package swarm

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
)

// A Case is one small random run.
type Case struct {
	Seed   uint64 // of the swarm
	Number int    // in the swarm
	Text   string // the scenario file
	Bytes  bool   // messages carry real bytes

	setting *runner.Setting
	pair    *Pair // that the case is about; nil: none
}

// tries is how many draws of one number may contradict themselves, each more likely to fit than
// the network of a small fabric and random counts usually are.
const tries = 40

// Draw makes case number n of a swarm. Draws that contradict themselves (a buffer that does not hold
// its headroom, an oversubscription that divides no leaf) are refused by the scenario reader and drawn again; the
// error is that of the last one, if none fits.
func Draw(seed uint64, n int) (*Case, error) { return draw(seed, n, nil) }

func draw(seed uint64, n int, pair *Pair) (*Case, error) {
	var err error
	for try := range tries {
		d := dice{rand.New(rand.NewPCG(seed, uint64(n)<<8|uint64(try))), pair}
		c := &Case{Seed: seed, Number: n, Bytes: d.chance(0.6)}
		c.Text = d.scenario(n)
		if c.setting, err = settle(c.Text); err == nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf("case %d of seed %d: no draw fits, the last: %w", n, seed, err)
}

// settle resolves a scenario and measures its fabric.
func settle(text string) (*runner.Setting, error) {
	all, err := scenario.Read("swarm.yaml", []byte(text), scenario.Options{})
	if err != nil {
		return nil, err
	}
	set, err := runner.NewSetting(all[0])
	if err != nil {
		return nil, err
	}
	return set, set.Fits(false)
}

// A mood decides what may go wrong in a run, so that clean runs are among them.
type mood struct{ losses, faults bool }

// A layout is what the other draws need to know of the fabric.
type layout struct {
	mood
	hosts  int
	leaves int      // 0: one switch
	links  []string // patterns of links between switches
}

// scenario draws the text of a scenario file.
func (d dice) scenario(n int) string {
	l := &layout{mood: pick(d, mood{}, mood{}, mood{losses: true}, mood{faults: true}, mood{losses: true, faults: true})}
	var b strings.Builder
	protocol, control := d.protocol()
	fmt.Fprintf(&b, "name: swarm-%d\n", n)
	fmt.Fprintf(&b, "fabric: %v\n", d.fabric(l, control, strings.HasPrefix(protocol, "uet")))
	if faults := d.faultList(l); len(faults) > 0 {
		fmt.Fprintf(&b, "faults: [%s]\n", strings.Join(faults, ", "))
	}
	fmt.Fprintf(&b, "workload: %v\n", d.workload(l))
	fmt.Fprintf(&b, "protocols: [%q]\n", protocol)
	fmt.Fprintf(&b, "seeds: %d\n", d.between(1, 1<<20))
	fmt.Fprintf(&b, "horizon: %v\n", horizon)
	return b.String()
}

// horizon is by when everything has ended. The longest that a transport keeps trying: UET spends six
// timeouts of 1 ms that double; RoCE v2 seven of 67 ms, anew after each progress.
const horizon = "60s"
