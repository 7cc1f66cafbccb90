package draw

import "strings"

// What comes from runs that are INVALID, because wall-clock time was not kept, is marked in every chart: its shapes are
// faded and crossed out, its name says so, and a line under the chart says what that means.

// invalidMeans is the legend's text, short enough for narrow pages.
const invalidMeans = "INVALID: late beyond the limits, not evidence"

// invalidRoom is the height of the legend.
const invalidRoom = 20.0

// InvalidPattern is what crosses areas out; a page with charts defines it once.
const InvalidPattern = `<pattern id="invalid" width="10" height="10" patternUnits="userSpaceOnUse"><path d="M0 0L10 10M10 0L0 10" class="crossing thin"/></pattern>`

// MarksInvalid tells whether a drawing of this package marks something as invalid.
func MarksInvalid(svg string) bool { return strings.Contains(svg, invalidMeans) }

// shapes draws what stands for values, faded if they are invalid.
func (c *canvas) shapes(invalid bool, draw func()) {
	if !invalid {
		draw()
		return
	}
	c.invalid = true
	c.put(`<g class="faded">`)
	draw()
	c.put(`</g>`)
}

// crossOut covers an area.
func (c *canvas) crossOut(x, y, w, h float64) {
	c.invalid = true
	c.rect(x, y, w, h, `fill="url(#invalid)" class="crossed"`)
}

// strikeOut puts a cross over a point.
func (c *canvas) strikeOut(x, y float64) {
	c.invalid = true
	c.put(`<svg x="%s" y="%s" overflow="visible"><path d="M-4.5 -4.5l9 9m0 -9l-9 9" class="crossing"/></svg>`, pct(x), num(y))
}

// name writes the name of a row at its left edge.
func (c *canvas) name(dx, y float64, label string, invalid bool) {
	c.text(0, dx, y, "start", "label halo", label, c.invalidWord(invalid))
}

// invalidSign goes behind a name that has little room; "" behind that of what is valid.
func (c *canvas) invalidSign(invalid bool) string {
	if !invalid {
		return ""
	}
	c.invalid = true
	return `<tspan class="bad"> ×</tspan>`
}

// invalidWord goes behind a name; "" behind that of what is valid.
func (c *canvas) invalidWord(invalid bool) string {
	if !invalid {
		return ""
	}
	c.invalid = true
	return `<tspan class="bad"> INVALID</tspan>`
}

// invalidLegend says what crosses mean, under a chart that has some.
func (c *canvas) invalidLegend() {
	if !c.invalid {
		return
	}
	y := c.height + 4
	c.height += invalidRoom
	c.put(`<rect x="2" y="%s" width="24" height="11" fill="url(#invalid)" class="crossed"/>`, num(y))
	c.text(0, 33, y+10, "start", "note", invalidMeans)
}

// words says in a description what marks say in a drawing.
func words(invalid bool) string {
	if invalid {
		return " (INVALID)"
	}
	return ""
}
