package scenario

import (
	"fmt"
	"strings"

	"github.com/weft-transport/weft/compare/protocol"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/param"
)

// allClasses is the entry of classes that holds for every protocol.
const allClasses = "all"

// A classSetting is one given value with the place it came from.
type classSetting struct {
	name, text string
	at         *Node
	path       string // of the mapping, for messages
}

// readClasses reads the settings of classes by the name of the protocol that uses them.
func readClasses(top *reader) map[string][]classSetting {
	classes := map[string][]classSetting{}
	r := top.mapping("classes")
	for i, name := range r.node.Keys {
		if name != allClasses {
			if _, err := protocol.Registry.Lookup(name); err != nil {
				r.fail(r.node.Items[i], "", fmt.Sprintf("there is no protocol %q to set a class for; expected all or one of %s", name, strings.Join(protocol.Registry.Names(), ", ")))
				return nil
			}
		}
		classes[name] = readClass(r, name)
	}
	return classes
}

// readClass reads a mapping of class settings and checks each.
func readClass(parent *reader, field string) []classSetting {
	r := parent.mapping(field)
	r.resolve(protocol.ClassParams)
	var settings []classSetting
	for i, key := range r.node.Keys {
		if n := r.node.Items[i]; !n.Null {
			settings = append(settings, classSetting{key, n.Text, n, r.path})
		}
	}
	return settings
}

// class resolves the settings of one protocol: the declared defaults, what the protocol wants, the
// classes of the scenario, those of its entry in the list, those in its SPEC.
func class(p protocol.Protocol, layers ...[]classSetting) (param.Values, error) {
	given := map[string]string{}
	for name, text := range p.ClassDefaults() {
		given[name] = text
	}
	for _, layer := range layers {
		for _, s := range layer {
			given[s.name] = s.text
		}
	}
	v, err := param.Resolve(protocol.ClassParams, given)
	if err != nil && strings.HasPrefix(err.Error(), "unknown") {
		return v, fmt.Errorf("class: %w", err)
	}
	if err != nil {
		return v, fmt.Errorf("class.%w", err)
	}
	return v, checkClass(v)
}

// checkClass refuses settings that contradict each other, as far as they can be compared without
// knowing the fabric's bandwidth-delay product.
func checkClass(v param.Values) error {
	flow := v.Word("flowControl")
	if word := v.Word("routing"); word != "auto" {
		if _, err := emulator.ParseRouting(word, 1); err != nil {
			return fmt.Errorf("class.routing: %w", err)
		}
	}
	switch {
	case v.Bool("trim") && flow != "none":
		return fmt.Errorf("class.trim: true contradicts class.flowControl: %s, under which no queue overflows; expected one of the two", flow)
	case flow != "pfc" && (given(v, "xoff") || given(v, "xon")):
		return fmt.Errorf("class.xoff and class.xon are thresholds of pfc, but class.flowControl is %s", flow)
	case flow != "none" && limited(v) != "":
		return fmt.Errorf("class.%s: %s is a length at which packets are dropped, and class.flowControl: %s promises that none is; expected 0 (the shared buffer)", limited(v), v.Word(limited(v)), flow)
	case v.Float("alpha") != 0 && v.Float("alpha") < 1.0/1024:
		return fmt.Errorf("class.alpha: %s is outside 1/1024 to 1024, in steps of 1/1024, and is not 0 (the fabric's)", v.Word("alpha"))
	case given(v, "xon") && less(v, "xoff", "xon"):
		return fmt.Errorf("class.xon: %s is above class.xoff: %s; a link resumes below the length at which it pauses", v.Word("xon"), v.Word("xoff"))
	case given(v, "xon") && !given(v, "xoff"):
		return fmt.Errorf("class.xon: %s without class.xoff: expected both or neither", v.Word("xon"))
	case less(v, "ecnMax", "ecnMin"):
		return fmt.Errorf("class.ecnMin: %s is above class.ecnMax: %s", v.Word("ecnMin"), v.Word("ecnMax"))
	case given(v, "ecnMin") && !given(v, "ecnMax"):
		return fmt.Errorf("class.ecnMin: %s without class.ecnMax, so nothing would be marked; expected both or neither", v.Word("ecnMin"))
	}
	if h := v.Word("headroom"); h != "auto" {
		if _, err := param.ParseSize(h); err != nil {
			return fmt.Errorf("class.headroom: %w, or auto", err)
		}
	}
	return nil
}

// given tells whether a size is there and not 0.
func given(v param.Values, name string) bool {
	s, err := param.ParseSize(v.Word(name))
	return err == nil && s != param.Size{}
}

// limited names the setting that bounds the queues; "": there is none. What several ingress ports may send before
// all of them are held back adds up in one queue, so no bound above xoff is safe.
func limited(v param.Values) string {
	for _, name := range []string{"queue", "lastHopQueue"} {
		if given(v, name) {
			return name
		}
	}
	return ""
}

// less compares two sizes that are both given in the same unit, bytes or bdp.
func less(v param.Values, small, large string) bool {
	a, errA := param.ParseSize(v.Word(small))
	b, errB := param.ParseSize(v.Word(large))
	none := param.Size{}
	if errA != nil || errB != nil || a == none || b == none || (a.BDP == 0) != (b.BDP == 0) {
		return false
	}
	return a.Bytes < b.Bytes || a.BDP < b.BDP
}

// CheckClass repeats the comparisons that need the bandwidth-delay product, in bytes: settings
// of which one is in bytes and the other in bdp.
func (e *Entry) CheckClass(bdp int64) error {
	return checkClass(inBytes(e.Class, bdp))
}

// inBytes returns the class settings with all sizes in bytes.
func inBytes(v param.Values, bdp int64) param.Values {
	given := map[string]string{}
	for _, p := range protocol.ClassParams {
		given[p.Name] = v.Word(p.Name)
		if p.Kind == param.Bytes {
			given[p.Name] = fmt.Sprint(v.Bytes(p.Name, bdp))
		}
	}
	fixed, _ := param.Resolve(protocol.ClassParams, given) // they were resolved before
	return fixed
}
