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
// look as in the report, in light and in dark.
func WriteFigures(dir string, d Data) ([]string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	style, err := pageFiles.ReadFile("page/report.css")
	if err != nil {
		return nil, err
	}
	v := newView(&d)
	a := artist{newLooks(v), classMarks(v)}
	css := string(a.looks.css()) + string(style)
	var names []string
	write := func(owner string, f *figure) error {
		name := fileName(owner) + "-" + f.Name + ".svg"
		names = append(names, name)
		return WriteFile(filepath.Join(dir, name), func(w io.Writer) error {
			_, err := io.WriteString(w, f.standalone(css))
			return err
		})
	}
	err = a.eachFigure(v, write)
	return names, err
}

// eachFigure hands out the figures of all families and scenarios with the name of their owner.
func (a artist) eachFigure(v *view, do func(owner string, f *figure) error) error {
	for _, blocks := range families(v.blocks) {
		if s := newSweep(blocks); s != nil {
			for _, f := range a.sweeps(s) {
				if err := do(familyTitle(blocks), f); err != nil {
					return err
				}
			}
		}
		for _, b := range blocks {
			figures, _ := a.figures(b)
			for _, f := range figures {
				if err := do(b.info.Name, f); err != nil {
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
)

// standalone puts a figure's chart into a drawing of fixed width with its heading and key.
func (f *figure) standalone(css string) string {
	left, right := 20, 24
	if f.Kind != "bars" {
		left = 64
	}
	if f.Kind == "direct" {
		right = 190
	}
	key, keyHeight := f.standaloneKey()
	chart := string(f.SVG)
	height := aloneTop + keyHeight + int(draw.Height(chart)) + 14
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">`, aloneWidth, height, aloneWidth, height)
	fmt.Fprintf(&b, `<style>%s</style><defs>%s</defs><rect width="100%%" height="100%%" fill="var(--card)"/>`, html.EscapeString(css), hatchPattern)
	fmt.Fprintf(&b, `<text x="20" y="28" style="font-size:16px;font-weight:600">%s</text>%s`, html.EscapeString(f.Title), key)
	fmt.Fprintf(&b, `<svg x="%d" y="%d" width="%d" height="%d" overflow="visible">%s</svg></svg>`,
		left, aloneTop+keyHeight-6, aloneWidth-left-right, height-aloneTop-keyHeight, chart)
	return b.String()
}

// hatchPattern is what marks the second part of bars; the page defines the same.
const hatchPattern = `<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="3" height="6" class="hatching"/></pattern>`

// standaloneKey draws the key in two columns where the curves have no direct labels.
func (f *figure) standaloneKey() (key string, height int) {
	if f.Kind != "lines" {
		return "", 0
	}
	var b strings.Builder
	rows := (len(f.Key) + 2) / 3
	for i, k := range f.Key {
		x, y := 20+(i/rows)*245, 50+(i%rows)*aloneKey
		dash := ""
		if k.Dash != "" {
			dash = ` stroke-dasharray="` + k.Dash + `"`
		}
		fmt.Fprintf(&b, `<g class="%s"><line x1="%d" y1="%d" x2="%d" y2="%d" class="curve"%s/><text x="%d" y="%d">%s</text></g>`,
			k.Class, x, y, x+26, y, dash, x+33, y+4, html.EscapeString(k.Label))
	}
	return b.String(), rows*aloneKey + 12
}
