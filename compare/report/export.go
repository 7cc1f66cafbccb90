package report

import (
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/weft-transport/weft/compare/report/draw"
)

// WriteFigures writes every figure of the report as an SVG file of its own into a directory, which it
// makes if need be, and returns the names of the files: scenario-figure.svg, or family-sweep.svg. They
// look as in the report, on a ground of their own, light or dark as the reader prefers.
func WriteFigures(dir string, d Data) ([]string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	v := newView(&d)
	a := artist{newLooks(v), classMarks(v)}
	var names []string
	write := func(b *block, owner string, f *figure) error {
		name := fileName(owner) + "-" + f.Name + ".svg"
		if owner == b.info.Name {
			owner = b.title()
		}
		names = append(names, name)
		return WriteFile(filepath.Join(dir, name), func(w io.Writer) error {
			_, err := io.WriteString(w, f.standalone(a.looks, b, owner))
			return err
		})
	}
	err := a.eachFigure(v, write)
	return names, err
}

// eachFigure hands out the figures of all families and scenarios with their scenario, the first of a
// family, and the name of their owner.
func (a artist) eachFigure(v *view, do func(b *block, owner string, f *figure) error) error {
	for _, blocks := range families(v.blocks) {
		if s := newSweep(blocks); s != nil {
			for _, f := range a.sweeps(s) {
				if err := do(blocks[0], familyTitle(blocks), f); err != nil {
					return err
				}
			}
		}
		for _, g := range newGrids(blocks) {
			if err := do(blocks[0], familyTitle(blocks), a.grid(g)); err != nil {
				return err
			}
		}
		for _, b := range blocks {
			figures, _ := a.figures(b)
			for _, f := range figures {
				if err := do(b, b.info.Name, f); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

var notInNames = regexp.MustCompile(`[^a-z0-9.]+`)

// fileName makes a name that every file system takes.
func fileName(name string) string {
	return strings.Trim(notInNames.ReplaceAllString(strings.ToLower(name), "-"), "-")
}

// Measures of a figure on its own, in pixels.
const (
	aloneWidth = 760
	aloneTop   = 62
	aloneKey   = 18
	aloneLine  = 16 // of the note under the heading
	aloneAxis  = 12 // for the name of a vertical axis
	aloneCells = 118
)

// standalone puts a figure's chart into a drawing of fixed width with its heading and key.
func (f *figure) standalone(l looks, b *block, owner string) string {
	left, right, head := 20, 24, aloneTop
	if f.Kind == "table" {
		left += f.Margin
	} else if f.Kind != "bars" {
		left, head = 64, aloneTop+aloneAxis
	}
	if f.Kind == "direct" {
		right = 190
	}
	note := aloneNote(b)
	key, keyHeight := f.standaloneKey(50 + len(note)*aloneLine)
	top := head + len(note)*aloneLine + keyHeight
	chart := key + string(f.SVG)
	heading := owner + ": " + strings.ToLower(f.Title[:1]) + f.Title[1:]
	css := standaloneStyle(l, chart+`class="ground title note hatching crossing thin"`)
	height := top + int(draw.Height(string(f.SVG))) + 14
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">`, aloneWidth, height, aloneWidth, height)
	fmt.Fprintf(&out, `<title>%s</title><desc>%s</desc><style>%s</style><defs>%s</defs>`, html.EscapeString(heading), html.EscapeString(b.view.origin()), css, patterns)
	fmt.Fprintf(&out, `<rect x=".5" y=".5" width="%d" height="%d" rx="10" class="ground"/>`, aloneWidth-1, height-1)
	fmt.Fprintf(&out, `<text x="20" y="30" class="title">%s</text>`, html.EscapeString(heading))
	for i, line := range note {
		fmt.Fprintf(&out, `<text x="20" y="%d" class="note">%s</text>`, 50+i*aloneLine, html.EscapeString(line))
	}
	fmt.Fprintf(&out, `%s<svg x="%d" y="%d" width="%d" height="%d" overflow="visible">%s</svg></svg>`,
		key, left, top-6, aloneWidth-left-right, height-top, string(f.SVG))
	return out.String()
}

// origin is what makes the runs of a figure again.
func (v *view) origin() string {
	m := v.data.Manifest
	text := "weft " + shellLine(m.Command)
	if m.Version != "" {
		text += ", version " + m.Version
	}
	if m.SourceHash != "" {
		text += ", source " + m.SourceHash
	}
	return text
}

// aloneNote says on which fabric and with which seeds the figure came about.
func aloneNote(b *block) []string {
	text := plural(len(b.seeds()), "seed")
	if b.info.FabricLine != "" {
		text = b.info.FabricLine + "; " + text
	}
	return wrap(text, aloneCells, "")
}

// patterns are what marks the second part of bars, and what is invalid; the page defines the same.
const patterns = hatchPattern + draw.InvalidPattern

const hatchPattern = `<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="3" height="6" class="hatching"/></pattern>`

// standaloneKey draws the key in two columns where the curves have no direct labels.
func (f *figure) standaloneKey(top int) (key string, height int) {
	if f.Kind != "lines" {
		return "", 0
	}
	var b strings.Builder
	rows := (len(f.Key) + 2) / 3
	for i, k := range f.Key {
		x, y := 20+(i/rows)*245, top+4+(i%rows)*aloneKey
		dash := ""
		if k.Dash != "" {
			dash = ` stroke-dasharray="` + k.Dash + `"`
		}
		fmt.Fprintf(&b, `<g class="%s"><line x1="%d" y1="%d" x2="%d" y2="%d" class="curve"%s/><text x="%d" y="%d">%s</text></g>`,
			k.Class, x, y, x+26, y, dash, x+33, y+4, html.EscapeString(k.Label))
	}
	return b.String(), rows*aloneKey + 12
}
