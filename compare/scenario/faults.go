package scenario

import (
	"fmt"
	"strings"

	"github.com/weft-transport/weft/transport/instant"
)

// A Fault is something that goes wrong on a schedule.
type Fault struct {
	At, For instant.Time // when it starts and how long it lasts; For instant.Never: to the end
	Kind    string       // one of FaultKinds
	Link    string       // name or pattern, for all kinds but slowhost
	OneWay  bool         // only in the direction named
	Links   []int        // the links it stands for, by index
	Host    int          // of slowhost; -1 otherwise
	Period  instant.Time // of flap: down for the first half of each period
	Factor  float64      // of slow and slowhost: the share of the speed that is left
	Loss    float64      // of loss: probability for a full packet
}

// A FaultKind describes one kind of fault.
type FaultKind struct {
	Name, Doc string
	Fields    []string // besides at, for and link (or host)
}

// FaultKinds lists the kinds of faults.
var FaultKinds = []FaultKind{
	{"down", "the link carries nothing, in both directions unless oneway", []string{"oneway"}},
	{"flap", "the link goes down and up, with equal halves of a period", []string{"period", "oneway"}},
	{"slow", "the link runs at factor times its rate", []string{"factor", "oneway"}},
	{"loss", "the link loses packets with probability loss, on top of the fabric's", []string{"loss", "oneway"}},
	{"slowhost", "the host takes packets from its link at factor times its rate", []string{"factor"}},
}

func faultKind(name string) (FaultKind, bool) {
	for _, k := range FaultKinds {
		if k.Name == name {
			return k, true
		}
	}
	return FaultKind{}, false
}

func faultNames() []string {
	names := make([]string, len(FaultKinds))
	for i, k := range FaultKinds {
		names[i] = k.Name
	}
	return names
}

func readFaults(top *reader, f *Fabric) []Fault {
	var faults []Fault
	for i, n := range top.list("faults", "mappings {at: TIME, link: NAME, kind: down}") {
		r := top.element("faults", i, n)
		fault := readFault(r, f)
		if *r.err != nil {
			return nil
		}
		faults = append(faults, fault)
	}
	return faults
}

// readFault reads the fields that its kind has, and no others.
func readFault(r *reader, f *Fabric) Fault {
	out := Fault{Host: -1, At: r.time("at", 0), For: r.time("for", instant.Never)}
	out.Kind = r.word("kind", "", faultNames()...)
	kind, known := faultKind(out.Kind)
	if !known {
		r.fail(nil, "kind", fmt.Sprintf("is missing; expected one of %s", strings.Join(faultNames(), ", ")))
		return out
	}
	if out.Kind == "slowhost" {
		out.Host = int(r.whole("host", -1, 0, int64(f.Network.Hosts-1)))
	} else {
		out.Link = r.text("link", "")
	}
	for _, field := range kind.Fields {
		switch field {
		case "oneway":
			out.OneWay = r.flag("oneway", false)
		case "period":
			out.Period = r.time("period", 0)
		case "factor":
			out.Factor = r.number("factor", 0.5, 1e-6, 1)
		case "loss":
			out.Loss = r.fraction("loss", 0)
		}
	}
	r.done()
	out.check(r, f)
	return out
}

// minPeriod bounds how often a link may flap: no real one notices less, and a run would do nothing else.
const minPeriod = instant.Microsecond

// check refuses faults that would do nothing or cannot be.
func (out *Fault) check(r *reader, f *Fabric) {
	switch {
	case *r.err != nil:
	case out.At == instant.Never:
		r.fail(r.node.Child("at"), "at", "never is no time for a fault; expected a time such as 100us")
	case out.For == 0:
		r.fail(r.node.Child("for"), "for", "is 0: the fault would not happen; leave it out for a fault without end")
	case out.Kind == "flap" && (out.Period < minPeriod || out.Period == instant.Never):
		r.fail(r.node.Child("period"), "period", fmt.Sprintf("a flap needs a period of %v or more, such as 20us", minPeriod))
	case out.Kind == "loss" && out.Loss == 0:
		r.fail(r.node.Child("loss"), "loss", "a loss fault needs a probability above 0, such as 1%")
	case out.Kind == "slowhost" && out.Host < 0:
		r.fail(nil, "host", fmt.Sprintf("is missing; expected a host from 0 to %d", f.Network.Hosts-1))
	case out.Kind != "slowhost" && out.Link == "":
		r.fail(nil, "link", "is missing; expected the name of a link or a pattern, such as "+f.someLinks())
	case out.Kind != "slowhost":
		var err error
		if out.Links, err = f.links(out.Link, out.OneWay); err != nil {
			r.fail(r.node.Child("link"), "link", err.Error())
		}
	}
}
