package report

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
)

//go:embed page/report.html.tmpl page/report.css page/figure.css
var pageFiles embed.FS

var pageTemplate = template.Must(template.ParseFS(pageFiles, "page/report.html.tmpl"))

// Build writes the report: one HTML page without any reference outside itself. The same data give the
// same bytes.
func Build(w io.Writer, d Data) error {
	page := newPage(newView(&d))
	page.Style += template.CSS(figureStyle() + pageStyle())
	return pageTemplate.Execute(w, page)
}

// pageStyle is the style of the page, figureStyle that of the figures in it.
func pageStyle() string   { return embedded("page/report.css") }
func figureStyle() string { return embedded("page/figure.css") }

// embedded is a file of the page; a missing one is a mistake of the programmer.
func embedded(name string) string {
	text, err := pageFiles.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// A page is what the template shows.
type page struct {
	Style     template.CSS
	Hatch     template.HTML
	Title     string
	Ran       string // what was run, in a sentence
	Summary   []string
	Overview  *overview
	Sections  []*pageSection
	Protocols []protocolRules
	Manifest  pageManifest
	Empty     bool
}

// A pageSection is one scenario, or a family of them with a figure over its axis.
type pageSection struct {
	ID, Title     string
	Demonstration bool
	Sweeps        []*figure // over the axis of the family
	Scenarios     []*pageScenario
}

// Family says that the section has more than one scenario.
func (s *pageSection) Family() bool { return len(s.Scenarios) > 1 }

// A pageScenario is one scenario.
type pageScenario struct {
	ID, Title, Description, Fabric string
	Name                           string // that commands know it by, where the title is another
	Groups                         string // whose flows the figures are about
	Demonstration                  bool
	Findings                       []string
	Tables                         []*htmlTable
	Figures                        []*figure
	Nothing                        []string
	Seeds, Hash, YAML              string
}

// Brief is what was found, as a paragraph.
func (s *pageScenario) Brief() string {
	sentences := make([]string, len(s.Findings))
	for i, f := range s.Findings {
		sentences[i] = titleCase(f)
	}
	return strings.Join(sentences, " ")
}

// An htmlTable is a table whose first column are row headings.
type htmlTable struct {
	Caption string
	Heads   []string
	Rows    []htmlRow
	Marks   []htmlMark // the letters behind names
}

// Many says that the columns need what room there is.
func (t *htmlTable) Many() bool { return len(t.Heads) > 10 }

// An htmlMark is what a letter stands for.
type htmlMark struct{ Letter, Note string }

// An htmlRow may have a letter behind its name, and lines under the whole row.
type htmlRow struct {
	Class, Name, Mark string
	Cells             []string
	Under             []string
}

// protocolRules are the rules of one protocol.
type protocolRules struct {
	Class, Label, Spec string
	Rules, Classes     []string
}

// SpecParts are the pieces between which a line may end.
func (p protocolRules) SpecParts() []string { return strings.SplitAfter(p.Spec, ",") }

type pageManifest struct {
	Version, Source, Carrier, Command, Seeds string
	Inputs                                   []string
}

func newPage(v *view) *page {
	a := artist{newLooks(v), classMarks(v)}
	f := findings(v)
	p := &page{
		Style: a.looks.css(), Hatch: patterns, Title: "weft: UET against RoCE v2", Ran: ranSentence(v), Summary: f.summary,
		Protocols: a.protocols(v), Manifest: newPageManifest(v), Empty: len(v.blocks) == 0,
	}
	ids := map[*block]string{}
	for i, b := range v.blocks {
		ids[b] = fmt.Sprintf("s%d", i+1)
	}
	for _, family := range families(v.blocks) {
		p.Sections = append(p.Sections, a.section(family, ids, f))
	}
	if len(v.blocks) == 1 {
		p.Summary = append(p.Summary, f.of[v.blocks[0]]...)
	}
	if p.Overview = a.overview(v, ids); len(p.Overview.Rows) == 0 && !p.Empty {
		p.Title = "weft: protocols side by side"
	}
	p.numberFigures()
	return p
}

// numberFigures gives every figure its own identity.
func (p *page) numberFigures() {
	n := 0
	number := func(f *figure) {
		n++
		f.ID = fmt.Sprintf("fig%d", n)
	}
	if p.Overview.Figure != nil {
		number(p.Overview.Figure)
	}
	for _, s := range p.Sections {
		for _, f := range s.Sweeps {
			number(f)
		}
		for _, scenario := range s.Scenarios {
			for _, f := range scenario.Figures {
				number(f)
			}
		}
	}
}

// families gathers the scenarios of each sweep; others are on their own.
func families(blocks []*block) [][]*block {
	return groupBy(blocks, func(b *block) string {
		if key := sweepKey(b); key != "" {
			return key
		}
		return "\x00" + b.info.Name
	})
}

// section makes one section of the page.
func (a artist) section(blocks []*block, ids map[*block]string, f found) *pageSection {
	s := &pageSection{ID: "f" + ids[blocks[0]], Title: blocks[0].title()}
	for _, g := range newGrids(blocks) {
		s.Sweeps, s.Title = append(s.Sweeps, a.grid(g)), familyTitle(blocks)
	}
	if swept := newSweep(blocks); swept != nil {
		blocks, s.Sweeps = swept.blocks, a.sweeps(swept)
		s.Title = familyTitle(blocks)
	}
	for _, b := range blocks {
		part := a.scenario(b, ids[b], f.of[b])
		if part.Title = b.title(); len(blocks) > 1 {
			part.Title = titleWithin(blocks, b)
		}
		s.Scenarios = append(s.Scenarios, part)
		s.Demonstration = s.Demonstration || b.info.Demonstration
	}
	return s
}

// familyTitle is what the titles have in common, else the family's name.
func familyTitle(blocks []*block) string {
	if slices.ContainsFunc(blocks, func(b *block) bool { return b.info.Title == "" }) {
		if blocks[0].info.LossRate != nil {
			return "Random loss"
		}
		return titleCase(cmp.Or(blocks[0].info.Family, "Sweep"))
	}
	common := blocks[0].title()
	for _, b := range blocks[1:] {
		for !strings.HasPrefix(b.title(), common) {
			common = common[:len(common)-1]
		}
	}
	if head, _, punctuated := strings.Cut(common, ", "); punctuated {
		common = head // what is behind it goes on differently in each
	}
	common = strings.TrimRight(common, " ,:;-0123456789./")
	return titleCase(cmp.Or(common, blocks[0].info.Family, "Sweep"))
}

// titleWithin is a scenario's title under that of its family: what is behind the colon, where all begin alike.
func titleWithin(blocks []*block, b *block) string {
	head, rest, found := strings.Cut(b.title(), ": ")
	if !found || slices.ContainsFunc(blocks, func(other *block) bool { return !strings.HasPrefix(other.title(), head+": ") }) {
		return b.title()
	}
	return titleCase(rest)
}

// scenario makes one scenario's part of its section.
func (a artist) scenario(b *block, id string, found []string) *pageScenario {
	s := &pageScenario{ID: id, Name: b.nameBeside(), Description: b.info.Description, Fabric: b.info.FabricLine, Groups: b.groupsLine(),
		Demonstration: b.info.Demonstration, Findings: found, Seeds: seedRange(b.seeds())}
	s.Figures, s.Nothing = a.figures(b)
	s.Tables = a.tables(b)
	for _, m := range b.view.data.Manifest.Scenarios {
		if m.Name == b.info.Name {
			s.Hash, s.YAML = m.Hash[:min(12, len(m.Hash))], m.YAML
		}
	}
	return s
}

// tables are those of the terminal, with all columns and the class settings beside the names.
func (a artist) tables(b *block) []*htmlTable {
	achieved := achievedTable(b, nil)
	achieved.drop(1) // the letters that stand for class settings
	tables := []*htmlTable{a.marked(b, a.html(achieved, "What came out, measured at the sender"))}
	if causes, _ := causesTable(b); len(causes.columns) > 1 {
		tables = append(tables, a.html(causes, "What happened on the way"))
	}
	if times := timesTable(b); len(times.rows) > 0 {
		tables = append(tables, a.html(times, "Where the time went, as a mean over the finished flows"))
	}
	if real := realTimeTable(b); len(real.rows) > 0 {
		tables = append(tables, a.html(real, "How well the clock of the wall was kept, in the worst run of each"))
	}
	if ladder := b.ladder(); len(ladder) > 1 {
		tables = append(tables, a.html(stepsTable(b, ladder), "What each step gains"))
	}
	return tables
}

// marked puts the letters of class settings behind the names, and what they stand for under the table.
func (a artist) marked(b *block, t *htmlTable) *htmlTable {
	for i := range t.Rows {
		t.Rows[i].Mark = a.marks.of(b, t.Rows[i].Name)
	}
	for i, note := range a.marks {
		if slices.ContainsFunc(t.Rows, func(r htmlRow) bool { return r.Mark == letter(i) }) {
			t.Marks = append(t.Marks, htmlMark{letter(i), note})
		}
	}
	return t
}

// html turns a text table into one for the page.
func (a artist) html(t *textTable, caption string) *htmlTable {
	out := &htmlTable{Caption: caption, Heads: []string{"protocol"}}
	for _, c := range t.columns[1:] {
		out.Heads = append(out.Heads, c.head)
	}
	for i, cells := range t.rows {
		row := htmlRow{Class: a.looks.byLabel[cells[0]].class, Name: cells[0], Under: t.under[i]}
		for _, cell := range cells[1:] {
			row.Cells = append(row.Cells, typeset(cell))
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// protocols lists the rules of every protocol once, with its class settings.
func (a artist) protocols(v *view) []protocolRules {
	var out []protocolRules
	for _, label := range a.looks.order {
		p := protocolRules{Class: a.looks.byLabel[label].class, Label: label}
		for _, b := range v.blocks {
			r := b.labelled(label)
			if r == nil {
				continue
			}
			p.Spec = cmp.Or(p.Spec, r.protocol)
			p.Rules = appendNew(p.Rules, b.info.Rules[label]...)
			p.Classes = appendNew(p.Classes, b.info.ClassNotes[label])
		}
		out = append(out, p)
	}
	return out
}

// appendNew adds what is neither empty nor there already.
func appendNew(list []string, more ...string) []string {
	for _, text := range more {
		if text != "" && !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// ranSentence says what was run.
func ranSentence(v *view) string {
	flows, labels := 0, map[string]bool{}
	for i := range v.data.Runs {
		flows += v.data.Runs[i].Flows
		labels[v.data.Runs[i].Label] = true
	}
	return fmt.Sprintf("%s, %s, %s, %s in all. Every protocol of a scenario had the same fabric, the same traffic and the same random luck.",
		plural(len(v.blocks), "scenario"), plural(len(labels), "protocol"), plural(len(v.data.Runs), "run"), plural(flows, "flow"))
}

func newPageManifest(v *view) pageManifest {
	m := v.data.Manifest
	p := pageManifest{Version: m.Version, Source: m.SourceHash, Carrier: m.Carrier, Command: shellLine(m.Command), Seeds: seedRange(m.Seeds)}
	for _, in := range m.Inputs {
		p.Inputs = append(p.Inputs, fmt.Sprintf("%s, %d bytes, SHA-256 %s", in.Path, in.Bytes, in.SHA256))
	}
	return p
}

// shellLine writes a command so that a shell reads the same arguments.
func shellLine(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = arg
		if arg == "" || strings.ContainsAny(arg, " \t\n\"'\\$`&|;<>()*?[]{}~#!") {
			quoted[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
