package draw

import (
	"fmt"
	"strings"
)

// A HeatMap has a strip of cells for each protocol, in groups (the tiers of a fabric), each cell
// coloured by its value between 0 and 1.
type HeatMap struct {
	Title  string
	Groups []HeatGroup // named above the strips
	Rows   []HeatRow
	Format Format
}

// A HeatGroup heads a group of cells; More is left out on narrow pages.
type HeatGroup struct{ Name, More string }

// A HeatRow is one protocol: the cells of each group.
type HeatRow struct {
	Label, Note string
	Groups      [][]float64
	Invalid     bool // not to be believed
}

// HeatLevels is the number of colours; classes are h0 for 0 to h9 for 1.
const HeatLevels = 10

const (
	heatRow  = 38.0
	heatTop  = 18.0
	heatCell = 14.0
	heatGap  = 0.012
)

// SVG draws the chart.
func (h HeatMap) SVG() string {
	const head = 22.0
	out := &canvas{height: head + float64(len(h.Rows))*heatRow + 34}
	spans := h.spans()
	for g, group := range h.Groups {
		out.labelled(spans[g][0], 11, "note", group.Name, group.More)
	}
	for i, r := range h.Rows {
		r.draw(out, spans, head+float64(i)*heatRow)
	}
	h.legend(out, head+float64(len(h.Rows))*heatRow+8)
	return out.svg(h.Title, h.description())
}

// spans returns the start and width of each group: by its number of cells, but no group is a sliver.
func (h HeatMap) spans() [][2]float64 {
	weights, sum := make([]float64, len(h.Groups)), 0.0
	for g := range h.Groups {
		cells := 0
		for _, r := range h.Rows {
			cells = max(cells, len(r.Groups[g]))
		}
		weights[g] = 8 + float64(cells)
		sum += weights[g]
	}
	spans, at := make([][2]float64, len(h.Groups)), 0.0
	room := 1 - heatGap*float64(len(h.Groups)-1)
	for g, w := range weights {
		spans[g] = [2]float64{at, room * w / sum}
		at += spans[g][1] + heatGap
	}
	return spans
}

func (r HeatRow) draw(out *canvas, spans [][2]float64, y float64) {
	out.name(0, y+13, r.Label, r.Invalid)
	out.text(1, 0, y+13, "end", "note halo", r.Note)
	for g, cells := range r.Groups {
		if len(cells) == 0 {
			continue
		}
		out.shapes(r.Invalid, func() {
			out.put(`<svg x="%s" y="%s" width="%s" height="%s" viewBox="0 0 %d 1" preserveAspectRatio="none" class="cells">%s</svg>`,
				pct(spans[g][0]), num(y+heatTop), pct(spans[g][1]), num(heatCell), len(cells), cellPaths(cells))
		})
		if r.Invalid {
			out.crossOut(spans[g][0], y+heatTop, spans[g][1], heatCell)
		}
	}
}

// cellPaths draws all cells of a colour as one path.
func cellPaths(cells []float64) string {
	var paths [HeatLevels]strings.Builder
	for i := 0; i < len(cells); {
		level, from := HeatLevel(cells[i]), i
		for i < len(cells) && HeatLevel(cells[i]) == level {
			i++
		}
		fmt.Fprintf(&paths[level], "M%d 0h%dv1h-%dz", from, i-from, i-from)
	}
	out := ""
	for level := range paths {
		if paths[level].Len() > 0 {
			out += fmt.Sprintf(`<path class="h%d" d="%s"/>`, level, paths[level].String())
		}
	}
	return out
}

// HeatLevel returns the colour of a value.
func HeatLevel(v float64) int { return max(0, min(HeatLevels-1, int(v*HeatLevels))) }

// legend shows what the colours mean.
func (h HeatMap) legend(out *canvas, y float64) {
	const from, width = 0.2, 0.6
	for level := range HeatLevels {
		out.rect(from+width*float64(level)/HeatLevels, y, width/HeatLevels, 9, fmt.Sprintf(`class="h%d"`, level))
	}
	out.text(from, -6, y+9, "end", "tick", h.Format(0))
	out.text(from+width, 6, y+9, "start", "tick", h.Format(1))
}

func (h HeatMap) description() string {
	parts := make([]string, len(h.Rows))
	for i, r := range h.Rows {
		parts[i] = r.Label + words(r.Invalid) + ": " + r.Note
	}
	return strings.Join(parts, "; ")
}
