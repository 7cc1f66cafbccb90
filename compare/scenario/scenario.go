package scenario

import (
	"fmt"

	"github.com/weft-transport/weft/transport/instant"
)

// A Scenario is everything a run depends on but the seed and the version of the code.
type Scenario struct {
	Name        string
	Title       string // heads its part of a report; "": the name does
	Description string
	Fabric      Fabric
	Faults      []Fault
	Workload    Workload
	Protocols   []Entry
	Seeds       Seeds
	Fixed       FixedSeeds
	Horizon     instant.Time // the run ends here at the latest; unfinished flows are shown as such
	Inputs      []Input      // files it depends on
	Published   *Published   // what others found with it; nil: nothing that is known here

	classes map[string][]classSetting // as given, for Show
	shown   *Node                     // published, as given
}

// DefaultHorizon ends runs that would not end by themselves.
const DefaultHorizon = instant.Second

// resolve reads a document.
func resolve(doc *Node, dir string) (*Scenario, error) {
	var err error
	r := newReader(doc, &err)
	in := &inputs{dir: dir}
	s := &Scenario{
		Name:        r.text("name", ""),
		Title:       r.text("title", ""),
		Description: r.text("description", ""),
	}
	s.Fabric = readFabric(r.mapping("fabric"), in)
	if err == nil { // what follows is checked against the network
		s.Faults = readFaults(r, &s.Fabric)
		s.classes = readClasses(r)
		s.Workload = readWorkload(r, in)
		s.Protocols = readProtocols(r, s.classes)
	}
	s.Seeds = readSeeds(r)
	s.Fixed = readFixed(r)
	s.Horizon = r.time("horizon", DefaultHorizon)
	if err == nil { // labels are known
		s.Published, s.shown = s.readPublished(r), doc.Child("published")
	}
	r.done()
	s.check(r)
	s.Inputs = in.files
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Scenario) check(r *reader) {
	if *r.err != nil {
		return
	}
	switch {
	case s.Name == "":
		r.fail(nil, "name", "is missing; expected a name for tables and files")
	case !isScenarioName(s.Name):
		r.fail(r.node.Child("name"), "name", fmt.Sprintf("%q is not a name; expected letters, digits, - and _", s.Name))
	case s.Horizon <= 0 || s.Horizon == instant.Never:
		r.fail(r.node.Child("horizon"), "horizon", "expected a time above 0 and below 106 days, such as 100ms")
	case len(s.Protocols) == 0:
		r.fail(r.node.Child("protocols"), "protocols", "is missing; expected a list of SPECs such as uet,spray=reps")
	default:
		s.checkFaultTimes(r)
		if err := s.rehearse(); err != nil {
			r.fail(r.node.Child("workload"), "", err.Error())
		}
	}
}

// checkFaultTimes refuses faults that the run does not live to see.
func (s *Scenario) checkFaultTimes(r *reader) {
	for i := range s.Faults {
		if at := s.Faults[i].At; at >= s.Horizon {
			r.fail(r.node.Child("faults").Items[i], fmt.Sprintf("faults.%d.at", i), fmt.Sprintf("%v is not before the horizon of %v", at, s.Horizon))
		}
	}
}

// readSeeds takes a text such as 1..5 or a list of numbers.
func readSeeds(r *reader) Seeds {
	if n := r.node.Child("seeds"); n != nil && n.Kind == List {
		list := readEach(r, "seeds", "seeds", func(text string) (uint64, error) {
			s, err := ParseSeeds(text)
			if err == nil && (len(s.List) != 1 || s.Auto) {
				err = fmt.Errorf("%q is not a seed; expected a whole number of 0 or more", text)
			}
			if err != nil {
				return 0, err
			}
			return s.List[0], nil
		})
		if len(list) == 0 {
			r.fail(n, "seeds", "is an empty list; expected something like 1..5")
		}
		return Seeds{List: list}
	}
	return parsed(r, "seeds", "seeds such as 1..5, 1,2,7 or auto", Seeds{List: []uint64{1}}, ParseSeeds)
}

// readFixed reads the seeds that do not follow from the seed of the run.
func readFixed(r *reader) FixedSeeds {
	one := func(field string) *uint64 {
		return parsed(r, field, "a seed", nil, func(text string) (*uint64, error) {
			s, err := ParseSeeds(text)
			if err == nil && (len(s.List) != 1 || s.Auto) {
				err = fmt.Errorf("%q is not a seed; expected a whole number of 0 or more", text)
			}
			if err != nil {
				return nil, err
			}
			return &s.List[0], nil
		})
	}
	return FixedSeeds{
		Matrix:   one("seedMatrix"),
		Hash:     one("seedHash"),
		Loss:     one("seedLoss"),
		Jitter:   one("seedJitter"),
		Protocol: one("seedProtocol"),
	}
}
