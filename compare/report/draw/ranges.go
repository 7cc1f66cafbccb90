package draw

import (
	"fmt"
	"strings"
)

// Ranges show what is known of distributions of which only a few quantiles are known: a thin line from
// the least to the most, a thick one from the median to a high quantile.
type Ranges struct {
	Title string
	X     Axis
	Rows  []Range
}

// A Range is one distribution. What is not known is nil.
type Range struct {
	Label, Class              string
	Note                      string
	Least, Median, High, Most *float64
	Invalid                   bool // not to be believed
}

const rangeRowHeight = 38.0

// SVG draws the chart.
func (c Ranges) SVG() string {
	bottom := float64(len(c.Rows)) * rangeRowHeight
	out := &canvas{height: bottom + 40}
	out.axisBelow(c.X.Scale, c.X.Ticks, c.X.Format, 4, bottom, c.X.Title)
	for i, r := range c.Rows {
		r.draw(out, c.X.Scale, float64(i)*rangeRowHeight)
	}
	return out.svg(c.Title, c.description())
}

func (r Range) draw(out *canvas, scale Scale, top float64) {
	y := top + 25
	out.put(`<g class="%s">`, r.Class)
	out.name(2, top+13, r.Label, r.Invalid)
	out.text(1, 0, top+13, "end", "note halo", r.Note)
	end := firstKnown(r.Most, r.High, r.Median)
	out.shapes(r.Invalid, func() {
		out.span(scale, r.Least, end, y, "range")
		out.span(scale, r.Median, firstKnown(r.High, r.Most), y, "range thick")
		if r.Median != nil {
			at := scale.At(*r.Median)
			out.line(at, y-7, at, y+7, "median")
		}
	})
	if from := firstKnown(r.Least, r.Median); r.Invalid && from != nil && end != nil {
		out.crossOut(scale.At(*from), y-6, scale.At(*end)-scale.At(*from), 12)
	}
	out.put(`</g>`)
}

// span draws a line between two values that are known.
func (c *canvas) span(scale Scale, from, to *float64, y float64, class string) {
	if from != nil && to != nil {
		c.line(scale.At(*from), y, scale.At(*to), y, class)
	}
}

func firstKnown(values ...*float64) *float64 {
	for _, v := range values {
		if v != nil {
			return v
		}
	}
	return nil
}

func (c Ranges) description() string {
	parts := make([]string, len(c.Rows))
	for i, r := range c.Rows {
		parts[i] = fmt.Sprintf("%s%s: %s", r.Label, words(r.Invalid), r.Note)
	}
	return strings.Join(parts, "; ")
}
