package draw

import (
	"slices"
	"strings"
)

// A LineChart has curves over a common axis.
type LineChart struct {
	Title        string
	Description  string // what it shows, in words
	X, Y         Axis
	Series       []Series
	Height       float64 // of the plot area, in pixels
	DirectLabels bool    // names at the right ends of the curves; the page must leave --right for them
	Apart        bool    // curves are moved sideways by a pixel or two each, so that intervals do not cover each other
}

// An Axis is a scale with its ticks and its name.
type Axis struct {
	Title  string
	Scale  Scale
	Ticks  []float64
	Format Format
}

// A Series is one curve. Points must ascend in X.
type Series struct {
	Label, Class string
	Dash         string // of the stroke; "" is solid
	Points       []Point
	Step         bool // horizontal, then vertical, as a distribution goes
	Dots         bool
	Invalid      bool // not to be believed, all of it
}

// A Point is one observation, with the interval around it where there is one.
type Point struct {
	X, Y      float64
	Low, High *float64
	Hollow    bool // only a bound
	Invalid   bool // not to be believed
}

// SVG draws the chart.
func (c LineChart) SVG() string {
	out := &canvas{height: c.Height + 40}
	c.sideAxis(out)
	out.axisBelow(c.X.Scale, c.X.Ticks, c.X.Format, 0, c.Height, c.X.Title)
	for i, s := range c.Series {
		c.aside(out, i, func() { c.curve(out, s) })
	}
	for i, s := range c.Series {
		c.aside(out, i, func() { c.dots(out, s) })
	}
	if c.DirectLabels {
		c.labels(out)
	}
	return out.svg(c.Title, c.Description)
}

// apart is by how many pixels curves are moved from each other.
const apart = 2.5

// aside draws a part of series i, moved sideways if the chart is to have them apart.
func (c LineChart) aside(out *canvas, i int, part func()) {
	dx := apart * (float64(i) - float64(len(c.Series)-1)/2)
	if !c.Apart || dx == 0 {
		part()
		return
	}
	out.put(`<g transform="translate(%s)">`, num(dx))
	part()
	out.put(`</g>`)
}

// sideAxis draws horizontal grid lines with labels on their left.
func (c LineChart) sideAxis(out *canvas) {
	for _, v := range c.Y.Ticks {
		y := c.y(v)
		out.line(0, y, 1, y, "grid")
		out.text(0, -7, y+4, "end", "tick", c.Y.Format(v))
	}
	out.text(0, -46, -9, "start", "note", c.Y.Title)
}

// y returns the height of a value in pixels from the top.
func (c LineChart) y(v float64) float64 { return c.Height * (1 - c.Y.Scale.At(v)) }

// within is y, kept inside the plot area: an interval may be wider than the chart.
func (c LineChart) within(v float64) float64 { return max(0, min(c.Height, c.y(v))) }

// curve draws a series' line.
func (c LineChart) curve(out *canvas, s Series) {
	if len(s.Points) == 0 {
		return
	}
	dash := ""
	if s.Dash != "" {
		dash = ` stroke-dasharray="` + s.Dash + `"`
	}
	out.shapes(s.Invalid, func() {
		out.stretched(0, 0, 1, c.Height, `<path class="curve `+s.Class+`"`+dash+` d="`+c.path(s)+`"/>`)
	})
	if s.Invalid && !s.Dots {
		c.strikeAlong(out, s)
	}
}

// strikes is how many crosses an invalid curve has at most.
const strikes = 9

// strikeAlong puts crosses on a curve that has no dots.
func (c LineChart) strikeAlong(out *canvas, s Series) {
	n := min(strikes, len(s.Points))
	for i := range n {
		p := s.Points[(2*i+1)*len(s.Points)/(2*n)]
		out.strikeOut(c.X.Scale.At(p.X), c.y(p.Y))
	}
}

// path writes the curve in thousandths of the plot area.
func (c LineChart) path(s Series) string {
	var b strings.Builder
	for i, p := range s.Points {
		x, y := num1(c.X.Scale.At(p.X)*1000), num1((1-c.Y.Scale.At(p.Y))*1000)
		switch {
		case i == 0:
			b.WriteString("M" + x + " " + y)
		case s.Step:
			b.WriteString("H" + x + "V" + y)
		default:
			b.WriteString("L" + x + " " + y)
		}
	}
	return b.String()
}

// num1 writes a coordinate with at most one decimal: a tenth of a thousandth of the width.
func num1(x float64) string {
	s := num(float64(int64(x*10+0.5)) / 10)
	return s
}

// dots draws observations and their intervals.
func (c LineChart) dots(out *canvas, s Series) {
	if !s.Dots {
		return
	}
	out.put(`<g class="%s">`, s.Class)
	for _, p := range s.Points {
		x := c.X.Scale.At(p.X)
		class := "dot"
		if p.Hollow {
			class = "dot hollow"
		}
		invalid := s.Invalid || p.Invalid
		out.shapes(invalid, func() {
			if p.Low != nil && p.High != nil {
				out.line(x, c.within(*p.Low), x, c.within(*p.High), "whisker thin")
			}
			out.put(`<circle cx="%s" cy="%s" r="3.5" class="%s"/>`, pct(x), num(c.y(p.Y)), class)
		})
		if invalid {
			out.strikeOut(x, c.y(p.Y))
		}
	}
	out.put(`</g>`)
}

// labels writes the names at the ends of the curves, moved apart where they would overlap.
func (c LineChart) labels(out *canvas) {
	type name struct {
		s     Series
		y, at float64
	}
	var names []name
	for _, s := range c.Series {
		if n := len(s.Points); n > 0 {
			names = append(names, name{s: s, y: c.y(s.Points[n-1].Y), at: c.X.Scale.At(s.Points[n-1].X)})
		}
	}
	slices.SortStableFunc(names, func(a, b name) int { return compareFloat(a.y, b.y) })
	heights := make([]float64, len(names))
	for i, n := range names {
		heights[i] = n.y
	}
	for i, y := range Spread(heights, 14, c.Height) {
		n := names[i]
		out.put(`<g class="direct %s">`, n.s.Class)
		out.put(`<line x1="%s" y1="%s" x2="100%%" y2="%s" class="leader"/>`, pct(n.at), num(n.y), num(n.y))
		out.put(`<svg x="100%%" y="0" overflow="visible"><line x1="0" y1="%s" x2="12" y2="%s" class="leader"/></svg>`, num(n.y), num(y))
		out.text(1, 15, y+4, "start", "label colour", n.s.Label, out.invalidSign(n.s.Invalid))
		out.put(`</g>`)
	}
}

func compareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Spread moves ascending positions apart until neighbours are at least gap from each other, and back
// into 0..height as far as they fit, moving each as little as its neighbours allow.
func Spread(positions []float64, gap, height float64) []float64 {
	out := slices.Clone(positions)
	for range 60 {
		moved := false
		for i := 1; i < len(out); i++ {
			if overlap := gap - (out[i] - out[i-1]); overlap > 0.01 {
				out[i-1] -= overlap / 2
				out[i] += overlap / 2
				moved = true
			}
		}
		if n := len(out); n > 0 {
			out[0] = max(out[0], 0)
			out[n-1] = min(out[n-1], max(height, gap*float64(n-1)))
		}
		if !moved {
			break
		}
	}
	return out
}
