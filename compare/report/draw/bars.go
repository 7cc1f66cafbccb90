package draw

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A BarChart has one horizontal bar for each protocol, with its name above it.
type BarChart struct {
	Title     string // what a reader who does not see the chart is told
	AxisTitle string
	Bars      []Bar
	Format    Format
	Reference *float64 // a line across all bars, say an ideal
	RefLabel  string
	Largest   float64 // end of the axis; 0: the longest bar
	Key       []Key   // what the classes of parts mean, above the bars
}

// A Key is one entry of a key.
type Key struct{ Class, Text string }

// A Bar is one row.
type Bar struct {
	Label, Class string
	Note         string // on the right of the name
	NoteMore     string // the rest of the note, left out on narrow pages
	Value        string // behind the bar
	Parts        []Part
	Low, High    *float64 // interval around the end
	Open         bool     // the end is only a lower bound
	Invalid      bool     // not to be believed
}

// A Part is one piece of a stacked bar.
type Part struct {
	Value   float64
	Hatched bool
	Class   string // of its own, instead of the bar's colour; "": none
}

const (
	rowHeight = 38.0
	barHeight = 13.0
	barTop    = 18.0
)

// total is the length of a bar.
func (b Bar) total() float64 {
	sum := 0.0
	for _, p := range b.Parts {
		sum += p.Value
	}
	return sum
}

// largest is the end of the longest bar or interval.
func (c BarChart) largest() float64 {
	if c.Largest > 0 {
		return c.Largest
	}
	most := 0.0
	for _, b := range c.Bars {
		most = max(most, b.reach())
	}
	if c.Reference != nil {
		most = max(most, *c.Reference)
	}
	return most
}

// A value behind a bar takes about letterWidth pixels a letter; it must fit on a page that leaves the
// chart leastWidth pixels.
const (
	letterWidth = 6.9
	leastWidth  = 335.0
)

// end is where the axis ends: far enough that every value fits behind its bar.
func (c BarChart) end() float64 {
	end := c.largest()
	for _, b := range c.Bars {
		text := (10 + letterWidth*float64(utf8.RuneCountInString(b.Value))) / leastWidth
		end = max(end, b.reach()/(1-min(0.8, text)))
	}
	return end
}

// reach is the right end of a bar and its interval.
func (b Bar) reach() float64 {
	if b.High != nil {
		return max(b.total(), *b.High)
	}
	return b.total()
}

// SVG draws the chart.
func (c BarChart) SVG() string {
	head := 0.0
	if c.Reference != nil {
		head = 14
	}
	const keyRow, keyColumns = 17.0, 4
	keyTop := head
	head += keyRow * float64((len(c.Key)+keyColumns-1)/keyColumns)
	bottom := head + float64(len(c.Bars))*rowHeight
	out := &canvas{height: bottom + 40}
	scale := Linear(c.end(), 0)
	out.axisBelow(scale, scale.Ticks(6), c.Format, head+4, bottom, c.AxisTitle)
	c.reference(out, scale, bottom)
	for i, k := range c.Key {
		x, y := float64(i%keyColumns)/keyColumns, keyTop+keyRow*float64(i/keyColumns)
		out.rect(x, y+1, 0.02, 10, `class="`+k.Class+`"`)
		out.text(x+0.02, 4, y+10, "start", "note", k.Text)
	}
	for i, b := range c.Bars {
		b.draw(out, scale, head+float64(i)*rowHeight)
	}
	return out.svg(c.Title, c.description())
}

// reference draws the line across all bars.
func (c BarChart) reference(out *canvas, scale Scale, bottom float64) {
	if c.Reference == nil {
		return
	}
	at := scale.At(*c.Reference)
	out.line(at, 14, at, bottom, "reference")
	out.text(at, 0, 10, "middle", "note", c.RefLabel)
}

// draw adds one bar at its height.
func (b Bar) draw(out *canvas, scale Scale, y float64) {
	out.put(`<g class="%s">`, b.Class)
	out.name(2, y+13, b.Label, b.Invalid)
	if b.Note != "" {
		out.note(y+13, b.Note, b.NoteMore)
	}
	out.shapes(b.Invalid, func() {
		at := 0.0
		for _, p := range b.Parts {
			b.part(out, scale, p, at, y+barTop)
			at += p.Value
		}
		b.whisker(out, scale, y+barTop+barHeight/2)
	})
	if end := scale.At(b.total()); b.Invalid && end > 0 {
		out.crossOut(0, y+barTop, end, barHeight)
	}
	out.text(scale.At(b.reach()), 6, y+barTop+barHeight-2, "start", "value halo", b.Value)
	out.put(`</g>`)
}

// part draws one piece; hatching lies over the colour.
func (b Bar) part(out *canvas, scale Scale, p Part, from, y float64) {
	if p.Value <= 0 {
		return
	}
	x, w := scale.At(from), scale.At(from+p.Value)-scale.At(from)
	class := `class="bar"`
	if p.Class != "" {
		class = `class="` + p.Class + `"`
	}
	if b.Open {
		class = `class="bar open"`
	}
	out.rect(x, y, w, barHeight, class)
	if p.Hatched || b.Open {
		out.rect(x, y, w, barHeight, `fill="url(#hatch)"`)
	}
}

// whisker draws the interval.
func (b Bar) whisker(out *canvas, scale Scale, y float64) {
	if b.Low == nil || b.High == nil {
		return
	}
	low, high := scale.At(*b.Low), scale.At(*b.High)
	out.line(low, y, high, y, "whisker")
	out.line(low, y-4, low, y+4, "whisker")
	out.line(high, y-4, high, y+4, "whisker")
}

// description tells the bars in words.
func (c BarChart) description() string {
	parts := make([]string, 0, len(c.Bars))
	for _, b := range c.Bars {
		text := fmt.Sprintf("%s%s: %s", b.Label, words(b.Invalid), b.Value)
		if b.Note != "" {
			text += ", " + b.Note + b.NoteMore
		}
		parts = append(parts, text)
	}
	return c.AxisTitle + ". " + strings.Join(parts, "; ")
}
