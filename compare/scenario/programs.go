package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-transport/weft/compare/protocol"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/param"
)

// A ProgramClass is a traffic class of `fabric.classes`, for programs that bring their own transport (weft emulate): their packets
// are put into classes by DSCP. Protocols of comparisons have classes of their own.
type ProgramClass struct {
	Name     string
	DSCP     []uint8 // in order; none: what no other class names
	Priority int     // the highest is served first
	Weight   int     // among equals
	Settings param.Values
	given    []classSetting
}

// programParams are the settings of protocol.ClassParams that packets of programs can have.
var programParams = slices.DeleteFunc(slices.Clone(protocol.ClassParams), func(p param.Param) bool {
	return strings.HasPrefix(p.Name, "trim") || p.Name == "telemetry" || p.Name == "routing"
})

// expedited is the code point of what must not wait (RFC 3246).
const expedited = 46

// readProgramClasses reads the list and gives every code point a class.
func readProgramClasses(r *reader) []ProgramClass {
	var all []ProgramClass
	items := r.list("classes", "mappings {name: NAME, dscp: EF, ...}")
	for i, n := range items {
		e := r.element("classes", i, n)
		c := ProgramClass{
			Name: e.text("name", ""), Priority: int(e.whole("priority", 0, 0, 100)), Weight: int(e.whole("weight", 1, 1, 1000)),
			DSCP: readDSCPs(e),
		}
		if c.Name == "" {
			e.fail(nil, "name", "is missing; expected a name of the class")
		}
		for i, key := range e.node.Keys {
			if n := e.node.Items[i]; !contains(e.known, key) && n.Kind == Scalar && !n.Null {
				c.given = append(c.given, classSetting{key, n.Text, n, e.path})
			}
		}
		c.Settings = e.resolve(programParams)
		if *r.err != nil {
			return nil
		}
		whole, err := withDefaults(c.Settings)
		if err == nil {
			c.Settings, err = whole, checkClass(whole)
		}
		if err != nil {
			e.fail(nil, "", err.Error())
		}
		all = append(all, c)
	}
	if err := checkProgramClasses(all); err != nil {
		r.fail(r.node.Child("classes"), "classes", err.Error())
	}
	return all
}

// withDefaults adds the settings that programs do not have, as they are by default.
func withDefaults(v param.Values) (param.Values, error) {
	given := map[string]string{}
	for _, p := range programParams {
		given[p.Name] = v.Word(p.Name)
	}
	return param.Resolve(protocol.ClassParams, given)
}

// checkProgramClasses refuses tables in which a code point has two classes, or a class none. Of two classes that name none, the second
// is for EF.
func checkProgramClasses(all []ProgramClass) error {
	if len(all) > emulator.MaxClasses {
		return fmt.Errorf("%d classes; expected at most %d", len(all), emulator.MaxClasses)
	}
	if len(all) == 2 && all[0].DSCP == nil && all[1].DSCP == nil {
		all[1].DSCP = []uint8{expedited}
	}
	var owner [64]string
	rest := ""
	for i := range all {
		c := &all[i]
		for j := range all[:i] {
			if all[j].Name == c.Name {
				return fmt.Errorf("two classes are called %s", c.Name)
			}
		}
		if c.DSCP == nil {
			if rest != "" {
				return fmt.Errorf("%s and %s name no dscp; expected one class at most, which has what the others leave", rest, c.Name)
			}
			rest = c.Name
		}
		for _, d := range c.DSCP {
			if owner[d] != "" {
				return fmt.Errorf("DSCP %d is of both %s and %s; expected one class for each", d, owner[d], c.Name)
			}
			owner[d] = c.Name
		}
	}
	return nil
}

// CheckClass repeats the comparisons of sizes of which one is in bytes and the other in bdp.
func (c *ProgramClass) CheckClass(bdp int64) error { return checkClass(inBytes(c.Settings, bdp)) }

// ClassTable returns the index of the class of every code point. What no class names is of the one that names none, or of the
// first.
func (f *Fabric) ClassTable() (table [64]uint8) {
	rest := max(0, slices.IndexFunc(f.Classes, func(c ProgramClass) bool { return c.DSCP == nil }))
	for d := range table {
		table[d] = uint8(rest)
	}
	for i, c := range f.Classes {
		for _, d := range c.DSCP {
			table[d] = uint8(i)
		}
	}
	return table
}

// readDSCPs reads a code point, or a list of them.
func readDSCPs(r *reader) (all []uint8) {
	const expected = "code points such as EF, AF21, CS3 or 10"
	var nodes []*Node
	if n := r.node.Child("dscp"); n != nil && n.Kind == List {
		nodes = r.list("dscp", expected)
	} else if n, _, given := r.scalar("dscp", expected); given {
		nodes = []*Node{n}
	}
	for _, n := range nodes {
		d, ok := parseDSCP(n.Text)
		if n.Kind != Scalar || !ok {
			r.fail(n, "dscp", fmt.Sprintf("%q is no code point; expected 0 to 63, EF, CS0 to CS7, or AF11 to AF43", n.Text))
			return nil
		}
		all = append(all, d)
	}
	slices.Sort(all)
	return all
}

// parseDSCP reads a number, or a name of RFC 2474, 2597 or 3246.
func parseDSCP(text string) (uint8, bool) {
	word := strings.ToUpper(text)
	if n, err := strconv.ParseUint(text, 10, 8); err == nil {
		return uint8(n), n < 64
	}
	digit := func(i int, from, to byte) bool { return word[i] >= from && word[i] <= to }
	switch {
	case word == "EF":
		return expedited, true
	case len(word) == 3 && word[:2] == "CS" && digit(2, '0', '7'):
		return (word[2] - '0') << 3, true
	case len(word) == 4 && word[:2] == "AF" && digit(2, '1', '4') && digit(3, '1', '3'):
		return (word[2]-'0')<<3 | (word[3]-'0')<<1, true
	}
	return 0, false
}

// show writes a class as it reads back.
func (c *ProgramClass) show() *Node {
	n := fields("name", c.Name, "priority", strconv.Itoa(c.Priority), "weight", strconv.Itoa(c.Weight))
	if c.DSCP != nil {
		list := &Node{Kind: List}
		for _, d := range c.DSCP {
			list.Items = append(list.Items, scalar(strconv.Itoa(int(d))))
		}
		n.Put("dscp", list)
	}
	for _, s := range c.given {
		n.Put(s.name, scalar(s.text))
	}
	return n
}
