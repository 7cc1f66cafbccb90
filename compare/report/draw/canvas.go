package draw

import (
	"fmt"
	"html"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A canvas collects the elements of one SVG. Horizontal positions are shares of the width (0..1),
// vertical ones are pixels from the top.
type canvas struct {
	b       strings.Builder
	height  float64
	invalid bool // something is marked as invalid
}

// num writes a coordinate with at most two decimals.
func num(x float64) string {
	s := strconv.FormatFloat(x, 'f', 2, 64)
	s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	if s == "-0" || s == "" {
		return "0"
	}
	return s
}

// pct writes a share of the width.
func pct(share float64) string { return num(share*100) + "%" }

func (c *canvas) put(format string, args ...any) { fmt.Fprintf(&c.b, format, args...) }

// line draws from one point to another.
func (c *canvas) line(x1, y1, x2, y2 float64, class string) {
	c.put(`<line x1="%s" y1="%s" x2="%s" y2="%s" class="%s"/>`, pct(x1), num(y1), pct(x2), num(y2), class)
}

// rect draws a box that is a share of the width wide.
func (c *canvas) rect(x, y, w, h float64, attributes string) {
	c.put(`<rect x="%s" y="%s" width="%s" height="%s" %s/>`, pct(x), num(y), pct(w), num(h), attributes)
}

// text writes at a share of the width, moved by dx pixels. anchor is start, middle or end. What is more has been marked up.
func (c *canvas) text(x, dx, y float64, anchor, class, text string, more ...string) {
	shift, where := "", ""
	if dx != 0 {
		shift = ` dx="` + num(dx) + `"`
	}
	if anchor != "start" {
		where = ` text-anchor="` + anchor + `"`
	}
	c.put(`<text x="%s"%s y="%s"%s class="%s">%s%s</text>`, pct(x), shift, num(y), where, class, html.EscapeString(text), strings.Join(more, ""))
}

// note writes at the right edge; what is more goes on narrow pages.
func (c *canvas) note(y float64, note, more string) {
	c.put(`<text x="100%%" y="%s" text-anchor="end" class="note halo">%s%s</text>`, num(y), html.EscapeString(note), wide(more))
}

// labelled is text at the left of its place; what is more goes on narrow pages.
func (c *canvas) labelled(x, y float64, class, text, more string) {
	c.put(`<text x="%s" y="%s" class="%s">%s%s</text>`, pct(x), num(y), class, html.EscapeString(text), wide(more))
}

// named is a name at the left edge, cut on narrow pages if it is long.
func (c *canvas) named(y float64, class, name string, invalid bool) {
	short, more := split(name)
	dots := ""
	if more != "" {
		dots = `<tspan class="narrow">…</tspan>`
	}
	c.put(`<text x="0%%" dx="2" y="%s" class="%s">%s%s%s%s</text>`, num(y), class, html.EscapeString(short), dots, wide(more), c.invalidWord(invalid))
}

// wide marks a piece of text that narrow pages leave out.
func wide(text string) string {
	if text == "" {
		return ""
	}
	return `<tspan class="wide">` + html.EscapeString(text) + `</tspan>`
}

// narrowCells is how many letters of a name have room beside the numbers of a narrow page.
const narrowCells = 36

// split cuts a long name at a space: what narrow pages show, and the rest.
func split(name string) (short, more string) {
	if utf8.RuneCountInString(name) <= narrowCells {
		return name, ""
	}
	at := 0
	for i, r := range name {
		if r == ' ' && utf8.RuneCountInString(name[:i]) <= narrowCells {
			at = i
		}
	}
	if at == 0 {
		return name, ""
	}
	return name[:at], name[at:]
}

// stretched opens a viewport of 1000 x 1000 units that fills a box; curves in it keep their stroke.
func (c *canvas) stretched(x, y, w, h float64, content string) {
	c.put(`<svg x="%s" y="%s" width="%s" height="%s" viewBox="0 0 1000 1000" preserveAspectRatio="none" overflow="visible">%s</svg>`,
		pct(x), num(y), pct(w), num(h), content)
}

// svg closes the drawing. Title and description are for those who do not see it.
func (c *canvas) svg(title, description string) string {
	c.invalidLegend()
	return fmt.Sprintf(`<svg role="img" width="100%%" height="%s" overflow="visible" aria-label="%s"><desc>%s</desc>%s</svg>`,
		num(c.height), html.EscapeString(title), html.EscapeString(description), c.b.String())
}

// Format writes a value of an axis.
type Format func(float64) string

// axisBelow draws vertical grid lines with labels under them, and the axis title.
func (c *canvas) axisBelow(s Scale, ticks []float64, format Format, top, bottom float64, title string) {
	for i, v := range ticks {
		at := s.At(v)
		class := "grid"
		if i == 0 && at < 1e-9 {
			class = "axis"
		}
		c.line(at, top, at, bottom, class)
		c.text(at, 0, bottom+15, "middle", tickClass(i, len(ticks)), format(v))
	}
	c.text(0.5, 0, bottom+33, "middle", "note", title)
}

// tickClass lets a narrow page hide every second label.
func tickClass(i, n int) string {
	if n > 5 && i%2 == 1 {
		return "tick wide"
	}
	return "tick"
}

// Height returns the height in pixels of a drawing that a chart of this package made, 0 of anything
// else.
func Height(svg string) float64 {
	_, rest, found := strings.Cut(svg, ` height="`)
	if !found {
		return 0
	}
	text, _, _ := strings.Cut(rest, `"`)
	height, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return height
}
