package draw

import (
	"fmt"
	"strings"
)

// Strips are small areas over a common time axis, one for each protocol, with one scale for all.
type Strips struct {
	Title  string
	X      Axis
	Format Format // of the peak beside each name
	Rows   []Strip
}

// A Strip is one row: Top is the upper edge of the area over time, Middle an optional line in it. Both
// have the same length.
type Strip struct {
	Label, Class string
	Top, Middle  []Point
	Peak         float64
	Invalid      bool // not to be believed
}

const (
	stripHeight = 62.0
	stripTop    = 18.0
	stripArea   = 36.0
)

// SVG draws the chart.
func (s Strips) SVG() string {
	bottom := float64(len(s.Rows)) * stripHeight
	out := &canvas{height: bottom + 40}
	out.axisBelow(s.X.Scale, s.X.Ticks, s.X.Format, 4, bottom-4, s.X.Title)
	y := Linear(s.largest(), 0)
	for i, r := range s.Rows {
		s.row(out, r, y, float64(i)*stripHeight)
	}
	return out.svg(s.Title, s.description())
}

func (s Strips) largest() float64 {
	most := 0.0
	for _, r := range s.Rows {
		most = max(most, r.Peak)
	}
	return most
}

// row draws one area.
func (s Strips) row(out *canvas, r Strip, y Scale, top float64) {
	out.put(`<g class="%s">`, r.Class)
	out.name(2, top+13, r.Label, r.Invalid)
	note := "none"
	if len(r.Top) > 0 {
		note = "peak " + s.Format(r.Peak)
	}
	out.text(1, 0, top+13, "end", "note halo", note)
	content := ""
	if len(r.Top) > 0 {
		edge := s.edge(r.Top, y)
		first, last := s.X.Scale.At(r.Top[0].X)*1000, s.X.Scale.At(r.Top[len(r.Top)-1].X)*1000
		content = `<path class="area" d="M` + num1(first) + " 1000L" + strings.TrimPrefix(edge, "M") + "L" + num1(last) + ` 1000Z"/>` +
			`<path class="curve slim" d="` + edge + `"/>`
	}
	if len(r.Middle) > 0 {
		content += `<path class="curve slim middle" d="` + s.edge(r.Middle, y) + `"/>`
	}
	out.shapes(r.Invalid, func() { out.stretched(0, top+stripTop, 1, stripArea, content) })
	if r.Invalid && len(r.Top) > 0 {
		from := s.X.Scale.At(r.Top[0].X)
		out.crossOut(from, top+stripTop, s.X.Scale.At(r.Top[len(r.Top)-1].X)-from, stripArea)
	}
	out.line(0, top+stripTop+stripArea, 1, top+stripTop+stripArea, "axis")
	out.put(`</g>`)
}

func (s Strips) edge(points []Point, y Scale) string {
	var b strings.Builder
	for i, p := range points {
		command := "L"
		if i == 0 {
			command = "M"
		}
		b.WriteString(command + num1(s.X.Scale.At(p.X)*1000) + " " + num1((1-y.At(p.Y))*1000))
	}
	return b.String()
}

func (s Strips) description() string {
	parts := make([]string, len(s.Rows))
	for i, r := range s.Rows {
		parts[i] = fmt.Sprintf("%s%s: peak %s", r.Label, words(r.Invalid), s.Format(r.Peak))
	}
	return strings.Join(parts, "; ")
}
