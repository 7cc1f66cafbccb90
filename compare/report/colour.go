package report

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
)

// A kin is a group of protocols that share a hue: warm for RoCE v2 with go-back-N, magenta for
// selective repeat under RoCE headers, blue for UET, green for what others register. Within a hue the
// steps differ in lightness and dash, so that they can be told apart without colour, too; warm and blue
// stay apart for every common kind of colour blindness.
type kin int

const (
	kinRoCE kin = iota
	kinSelective
	kinUET
	kinOther
	kins
)

func kinOf(r *row) kin {
	switch {
	case r.isUET():
		return kinUET
	case r.isGoBackN():
		return kinRoCE
	case r.isRoCE():
		return kinSelective
	}
	return kinOther
}

// ramps are colours from the strongest to the weakest on a light and on a dark page. The strongest
// goes to the first RoCE row, the point of reference, and to the last UET row, the top of the ladder.
var ramps = [kins]struct{ light, dark []string }{
	kinRoCE: {
		[]string{"#7f2a05", "#ad420a", "#d0600f", "#e5802c", "#c98a4a", "#a97b52"},
		[]string{"#ffb98a", "#fb9a55", "#ea7f36", "#c9672b", "#a9705a", "#8f7a68"},
	},
	kinSelective: {
		[]string{"#8e2f7a", "#b3559f", "#c77ab7", "#a0709a"},
		[]string{"#eb9bda", "#cf78bd", "#b060a0", "#947a90"},
	},
	kinUET: {
		[]string{"#08316b", "#1560a8", "#2f87c8", "#62add9", "#5f8fb0", "#7f9fb5"},
		[]string{"#bfe3ff", "#84c3f5", "#57a3e0", "#3c7fb8", "#5f8aa8", "#7390a5"},
	},
	kinOther: {
		[]string{"#1b6b4a", "#2f8f66", "#57a884", "#6e7f3a", "#8d8d55", "#5c6b6b"},
		[]string{"#8fdcb8", "#62be95", "#459a76", "#b3c26a", "#9aa06a", "#93a3a3"},
	},
}

// dashes go with the steps of a ramp.
var dashes = []string{"", "8 3", "3 3", "9 3 2 3", "1.5 3", "14 4"}

// A look is how a protocol appears in every figure.
type look struct{ class, dash, light, dark string }

// looks gives every label of the report its look; order is that of first appearance.
type looks struct {
	order   []string
	byLabel map[string]look
}

// newLooks gives the strongest step of a hue to the rows that stand for RoCE v2 and for UET in their
// scenarios. Every other label takes the strongest step that no label beside it in a scenario has, the
// rows of a ladder from the top down.
func newLooks(v *view) looks {
	all := looks{byLabel: map[string]look{}}
	steps, beside := map[string]int{}, neighbours(v)
	choose := func(r *row) {
		if r == nil {
			return
		}
		if _, done := steps[r.label]; !done {
			steps[r.label] = freeStep(beside[r.label], steps, kinOf(r))
		}
	}
	for _, b := range v.blocks {
		all.name(b.rows)
		choose(b.plainRoCE())
		choose(b.fullUET())
	}
	for _, b := range v.blocks {
		for _, r := range strongestFirst(b) {
			choose(r)
		}
	}
	all.assign(v, steps)
	return all
}

// name takes note of labels that are new.
func (l *looks) name(rows []*row) {
	for _, r := range rows {
		l.order = appendNew(l.order, r.label)
	}
}

// assign turns steps into looks.
func (l *looks) assign(v *view, steps map[string]int) {
	for _, b := range v.blocks {
		for _, r := range b.rows {
			look := ramp(kinOf(r), steps[r.label])
			look.class = fmt.Sprintf("p%d", slices.Index(l.order, r.label))
			l.byLabel[r.label] = look
		}
	}
}

// strongestFirst is the order in which rows choose: as they stand, but UET from its last row up where
// the rows are a ladder.
func strongestFirst(b *block) []*row {
	if len(b.ladder()) < 2 {
		return b.rows
	}
	var others, uet []*row
	for _, r := range b.rows {
		if r.isUET() {
			uet = append(uet, r)
		} else {
			others = append(others, r)
		}
	}
	slices.Reverse(uet)
	return append(others, uet...)
}

// neighbours lists for every label the rows that share a scenario with it.
func neighbours(v *view) map[string][]*row {
	beside := map[string][]*row{}
	for _, b := range v.blocks {
		for _, r := range b.rows {
			beside[r.label] = append(beside[r.label], b.rows...)
		}
	}
	return beside
}

// freeStep is the first step of a hue that none of the rows has.
func freeStep(rows []*row, steps map[string]int, k kin) int {
	for step := 0; ; step++ {
		taken := slices.ContainsFunc(rows, func(r *row) bool {
			has, chosen := steps[r.label]
			return chosen && has == step && kinOf(r) == k
		})
		if !taken {
			return step
		}
	}
}

// ramp returns a step of a hue; steps beyond its end start over, with other dashes.
func ramp(k kin, step int) look {
	colours := ramps[k]
	i := step % len(colours.light)
	return look{light: colours.light[i], dark: colours.dark[i], dash: dashes[(step+step/len(colours.light))%len(dashes)]}
}

// css sets the colours of all classes.
func (l looks) css() template.CSS {
	var light, dark, use strings.Builder
	for _, label := range l.order {
		look := l.byLabel[label]
		fmt.Fprintf(&light, "--%s:%s;", look.class, look.light)
		fmt.Fprintf(&dark, "--%s:%s;", look.class, look.dark)
		fmt.Fprintf(&use, ".%s{--c:var(--%s)}", look.class, look.class)
	}
	return template.CSS(":root{" + light.String() + "}\n@media screen and (prefers-color-scheme:dark){:root{" + dark.String() + "}}\n" + use.String())
}
