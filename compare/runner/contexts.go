package runner

import (
	"fmt"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/spray"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// A contextTracer observes the congestion control contexts of all hosts over time.
type contextTracer struct {
	hosts  []core.Host
	rows   []contextRow
	calls  int
	rounds int // observations in rows
	stride int
	states []core.ContextState
	origin instant.Time // when the run began
}

type contextRow struct {
	at    instant.Time
	round int
	host  int
	kth   int // among the contexts of a host towards one peer
	state core.ContextState
	held  spray.Held
	told  bool // held is known
}

func newContextTracer(f *emulator.Fabric, hosts []core.Host) *contextTracer {
	t := &contextTracer{hosts: hosts, stride: 1, states: make([]core.ContextState, 64)}
	f.OnSample(t.observe)
	return t
}

func (t *contextTracer) observe(now instant.Time) {
	t.calls++
	if t.calls%t.stride != 0 {
		return
	}
	for h := range t.hosts {
		if inspector, ok := t.hosts[h].(core.Inspector); ok {
			t.inspect(now, h, inspector)
		}
	}
	if t.rounds++; t.rounds == maxObservations {
		t.thin()
	}
}

func (t *contextTracer) inspect(now instant.Time, h int, inspector core.Inspector) {
	n := inspector.Contexts(t.states)
	if n > len(t.states) {
		t.states = make([]core.ContextState, n)
		inspector.Contexts(t.states)
	}
	sprays, _ := inspector.(core.SprayInspector)
	for i, s := range t.states[:n] {
		kth := 0
		for j := i - 1; j >= 0 && t.states[j].Peer == s.Peer; j-- { // those of a peer follow each other
			kth++
		}
		row := contextRow{at: now, round: t.rounds, host: h, kth: kth, state: s}
		if sprays != nil {
			row.held, row.told = sprays.Held(i, now)
		}
		t.rows = append(t.rows, row)
	}
}

// thin forgets every second observation.
func (t *contextTracer) thin() {
	kept := t.rows[:0]
	for _, r := range t.rows {
		if r.round%2 == 1 {
			r.round /= 2
			kept = append(kept, r)
		}
	}
	t.rows, t.rounds, t.stride = kept, t.rounds/2, t.stride*2
}

// samples returns one line for each context and observation.
func (t *contextTracer) samples(head compare.Sample) []compare.Sample {
	lines := make([]compare.Sample, 0, len(t.rows))
	for i := range t.rows {
		r := &t.rows[i]
		line := head
		line.At = (r.at - t.origin).Nanoseconds()
		line.Flow = fmt.Sprintf("%d->%d", r.host, r.state.Peer)
		if r.kth > 0 {
			line.Flow += fmt.Sprintf("#%d", r.kth)
		}
		line.InFlight, line.Marks, line.EV = &r.state.InFlight, &r.state.Marks, &r.state.EV
		if r.state.Window > 0 && r.state.Window < congestion.Unlimited {
			line.Window = &r.state.Window
		}
		if r.state.RateBps > 0 {
			line.Rate = &r.state.RateBps
		}
		if r.state.SRTT > 0 {
			line.RTT = ns(r.state.SRTT)
		}
		if r.state.LeastRTT > 0 {
			line.LeastRTT, line.Queueing = ns(r.state.LeastRTT), ns(max(0, r.state.SRTT-r.state.LeastRTT))
		}
		if r.state.Release > r.at {
			line.Pacing = ns(r.state.Release - r.at)
		}
		if r.told {
			line.Held = &compare.Held{Values: r.held.Values, Against: r.held.Against, Penalty: r.held.Penalty, Good: r.held.Good, Frozen: r.held.Frozen}
		}
		lines = append(lines, line)
	}
	return lines
}
