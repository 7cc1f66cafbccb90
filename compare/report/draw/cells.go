package draw

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// A CellChart is a table of numbers on patches of colour: protocols by scenarios. The names of its rows stand left of
// the drawing, in Margin.
type CellChart struct {
	Title   string
	Columns []string
	Rows    []CellRow
	Format  Format // of the colours' values 0 and 1, for the legend
}

// A CellRow is one protocol.
type CellRow struct {
	Label string
	Cells []Cell // one for each column
}

// A Cell has a text and a colour by its Value, between 0 and 1 and beyond; NaN has none.
type Cell struct {
	Text    string
	Value   float64
	Invalid bool // not to be believed
}

const (
	cellRow    = 24.0
	cellHead   = 15.0 // a line of a heading
	cellLine   = 10   // letters of it
	cellLetter = 6.7  // the mean width of a letter, in pixels
	cellDark   = 6    // from this colour on, texts are light
)

// Margin is what the names need left of the drawing, in pixels.
func (c CellChart) Margin() int {
	longest := 0
	for _, r := range c.Rows {
		longest = max(longest, utf8.RuneCountInString(r.Label))
	}
	return int(float64(longest)*cellLetter) + 16
}

// SVG draws the chart.
func (c CellChart) SVG() string {
	heads, lines := make([][]string, len(c.Columns)), 1
	for k, name := range c.Columns {
		heads[k] = foldWords(name, cellLine)
		lines = max(lines, len(heads[k]))
	}
	head := float64(lines)*cellHead + 8
	bottom := head + float64(len(c.Rows))*cellRow
	out := &canvas{height: bottom + 34}
	step := 1 / float64(max(1, len(c.Columns)))
	for k, words := range heads {
		for i, line := range words {
			out.text((float64(k)+0.5)*step, 0, float64(lines-len(words)+i+1)*cellHead-3, "middle", "head", line)
		}
	}
	for i, r := range c.Rows {
		y := head + float64(i)*cellRow
		out.text(0, float64(-c.Margin()), y+16, "start", "label", r.Label)
		for k, cell := range r.Cells {
			cell.draw(out, float64(k)*step, y, step)
		}
	}
	HeatMap{Format: c.Format}.legend(out, bottom+12)
	return out.svg(c.Title, c.description())
}

func (cell Cell) draw(out *canvas, x, y, width float64) {
	class := "note"
	if !math.IsNaN(cell.Value) {
		level := HeatLevel(cell.Value)
		out.shapes(cell.Invalid, func() { out.rect(x, y, width, cellRow, fmt.Sprintf(`class="cell h%d"`, level)) })
		if class = "label"; level >= cellDark && !cell.Invalid {
			class = "label lit"
		}
	}
	if cell.Invalid {
		out.crossOut(x, y, width, cellRow)
		class += " halo"
	}
	out.text(x+width/2, 0, y+16, "middle", class, cell.Text)
}

// foldWords breaks a text at its spaces into lines of so many letters, where words allow it.
func foldWords(text string, letters int) (lines []string) {
	for _, word := range strings.Fields(text) {
		last := len(lines) - 1
		if last >= 0 && utf8.RuneCountInString(lines[last]+" "+word) <= letters {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

func (c CellChart) description() string {
	parts := make([]string, len(c.Rows))
	for i, r := range c.Rows {
		texts := make([]string, len(r.Cells))
		for k, cell := range r.Cells {
			texts[k] = c.Columns[k] + " " + cell.Text + words(cell.Invalid)
		}
		parts[i] = r.Label + ": " + strings.Join(texts, ", ")
	}
	return strings.Join(parts, "; ")
}
