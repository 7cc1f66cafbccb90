package scenario

import (
	"fmt"

	"github.com/weft-transport/weft/compare/workload"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// A Workload is the traffic of a scenario, resolved.
type Workload struct {
	Kind   string       // name in workload.Registry
	Params param.Values // its parameters
	make   workload.Generator
}

// readWorkload reads the kind and the parameters that go with it.
func readWorkload(top *reader, in *inputs) Workload {
	r := top.mapping("workload")
	w := Workload{Kind: r.text("kind", "permutation")}
	entry, err := workload.Registry.Lookup(w.Kind)
	if err != nil {
		r.fail(r.node.Child("kind"), "kind", err.Error()+suggest(w.Kind, workload.Registry.Names()))
		return w
	}
	for _, p := range entry.Params {
		if workload.IsPath(p.Name, r.textOf(p.Name)) {
			in.join(r, p.Name)
		}
	}
	w.Params = r.resolve(entry.Params)
	if *r.err != nil {
		return w
	}
	if w.make, err = entry.New(w.Params); err != nil {
		r.fail(nil, "", w.Kind+": "+err.Error())
	}
	return w
}

// textOf looks at a field without taking it.
func (r *reader) textOf(field string) string {
	if n := r.node.Child(field); n != nil {
		return n.Text
	}
	return ""
}

// Plan makes the flows for one seed. baseRTT and bdp belong to the fabric, not to a protocol, so
// that all protocols meet the same plan; the BDP is what "bdp" in sizes of messages stands for.
func (s *Scenario) Plan(seeds SeedSet, baseRTT instant.Time, bdp int64) (*workload.Plan, error) {
	plan, err := s.Workload.make(workload.Env{
		Hosts:       s.Fabric.Network.Hosts,
		LineRateBps: s.Fabric.LineRateBps(),
		BaseRTT:     baseRTT,
		BDP:         bdp,
		PayloadMTU:  s.Fabric.PayloadMTU,
		Leaf:        s.Fabric.Leaves(),
		Matrix:      seeds.Matrix,
		Jitter:      seeds.Jitter,
		Open:        Open,
	})
	if err == nil {
		err = plan.Check()
	}
	if err == nil && plan.LastStart() >= s.Horizon {
		err = fmt.Errorf("a flow starts at %v, not before the horizon of %v", plan.LastStart(), s.Horizon)
	}
	if err != nil {
		return nil, fmt.Errorf("workload %s: %w", s.Workload.Kind, err)
	}
	return plan, nil
}

// rehearse makes the plan of the first seed, with a nominal round trip: what is wrong with a
// workload on this fabric shows before anything runs.
func (s *Scenario) rehearse() error {
	rtt := 10 * instant.Microsecond
	bdp := int64(float64(s.Fabric.LineRateBps()) / 8 * rtt.Seconds())
	_, err := s.Plan(s.Fixed.Derive(s.Seeds.List[0]), rtt, bdp)
	return err
}
