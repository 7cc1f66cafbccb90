package draw

import (
	"fmt"
	"math"
	"strings"
)

// A Forest shows ratios with their intervals on a logarithmic axis around 1, one row for each case.
type Forest struct {
	Title, AxisTitle string
	Rows             []ForestRow
	Format           Format
}

// A ForestRow is one case.
type ForestRow struct {
	Label, Class string
	Marks        []Mark
	Invalid      bool // not to be believed
}

// A Mark is one ratio.
type Mark struct {
	Value     float64
	Low, High *float64
	Hollow    bool
	Text      string
}

const forestRowHeight = 34.0

// SVG draws the chart.
func (f Forest) SVG() string {
	bottom := float64(len(f.Rows)) * forestRowHeight
	out := &canvas{height: bottom + 40}
	scale := f.scale()
	out.axisBelow(scale, scale.Ticks(7), f.Format, 2, bottom, f.AxisTitle)
	one := scale.At(1)
	out.line(one, 2, one, bottom, "one")
	for i, r := range f.Rows {
		r.draw(out, scale, float64(i)*forestRowHeight)
	}
	return out.svg(f.Title, f.description())
}

// scale reaches from the smallest to the largest ratio, 1 included. Intervals may be cut off: with few
// seeds they can be wider than anything else on the page.
func (f Forest) scale() Scale {
	least, most := 1.0, 1.0
	for _, r := range f.Rows {
		for _, m := range r.Marks {
			least, most = min(least, m.Value), max(most, m.Value)
		}
	}
	room := math.Pow(most/least, 0.08) * 1.1
	return Scale{Min: least / room, Max: most * room * 1.05, Log: true}
}

// draw adds one row: its name, and its marks on the line below.
func (r ForestRow) draw(out *canvas, scale Scale, top float64) {
	y := top + 23
	out.put(`<g class="%s">`, r.Class)
	out.named(top+12, "label halo", r.Label, r.Invalid)
	texts := make([]string, len(r.Marks))
	for i, m := range r.Marks {
		texts[i] = m.Text
		out.shapes(r.Invalid, func() { m.draw(out, scale, y) })
		if r.Invalid {
			out.strikeOut(scale.At(m.Value), y)
		}
	}
	out.text(1, 0, top+12, "end", "note halo", strings.Join(texts, " · "))
	out.put(`</g>`)
}

func (m Mark) draw(out *canvas, scale Scale, y float64) {
	if m.Low != nil && m.High != nil {
		out.line(clamp(scale.At(*m.Low)), y, clamp(scale.At(*m.High)), y, "whisker thin")
	}
	class := "dot"
	if m.Hollow {
		class = "dot hollow"
	}
	out.put(`<circle cx="%s" cy="%s" r="5" class="%s"/>`, pct(scale.At(m.Value)), num(y), class)
}

// clamp keeps a place on the axis.
func clamp(share float64) float64 { return max(0, min(1, share)) }

func (f Forest) description() string {
	parts := make([]string, len(f.Rows))
	for i, r := range f.Rows {
		texts := make([]string, len(r.Marks))
		for k, m := range r.Marks {
			texts[k] = m.Text
		}
		parts[i] = fmt.Sprintf("%s%s: %s", r.Label, words(r.Invalid), strings.Join(texts, " and "))
	}
	return strings.Join(parts, "; ")
}
