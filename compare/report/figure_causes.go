package report

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/report/draw"
)

// completion shows unfinished flows as unfinished; nil when there are none.
func (a artist) completion(b *block) *figure {
	if !slices.ContainsFunc(b.rows, func(r *row) bool { return r.completion().unfinished() > 0 }) {
		return nil
	}
	chart := draw.BarChart{Title: "Finished and unfinished flows by protocol", AxisTitle: "share of flows, all seeds", Format: axisText(percentText), Largest: 1}
	for _, r := range b.rows {
		c := r.completion()
		bar := draw.Bar{Label: r.label, Class: a.class(r), Invalid: r.isInvalid(), Value: fmt.Sprintf("%d/%d", c.finished, c.flows), Note: c.reasons()}
		if c.flows > 0 {
			done := float64(c.finished) / float64(c.flows)
			bar.Parts = []draw.Part{{Value: done}, {Value: 1 - done, Hatched: true}}
		}
		chart.Bars = append(chart.Bars, bar)
	}
	return newFigure("bars", "completion", "Completion", "Solid: flows that finished; hatched: flows that did not, with the reason on the right.", chart.SVG())
}

// retransmissions splits them into needed and spurious; nil when there are none.
func (a artist) retransmissions(b *block) *figure {
	chart := draw.BarChart{Title: "Retransmitted packets by protocol, needed and spurious", AxisTitle: "share of the data packets sent", Format: axisText(percentText)}
	any := false
	for _, r := range b.rows {
		all, wasted := r.share(repeated, dataSent), r.share(spurious, dataSent)
		any = any || all > 0
		bar := draw.Bar{Label: r.label, Class: a.class(r), Invalid: r.isInvalid(), Value: percentText(all),
			Parts: []draw.Part{{Value: max(0, all-wasted)}, {Value: wasted, Hatched: true}}}
		bar.Note, bar.NoteMore = wasteNote(wasted, r.share(discarded, payloadSent))
		chart.Bars = append(chart.Bars, bar)
	}
	if !any {
		return nil
	}
	return newFigure("bars", "retransmissions", "Retransmissions", "Solid: needed retransmissions; hatched: spurious, counted where the first copy had been accepted. What a go-back-N receiver throws away for being behind a gap has to be sent again and counts as needed: on the right is how much of the payload sent arrived and was thrown away.", chart.SVG())
}

// wasteNote says what was sent in vain.
func wasteNote(spurious, discarded float64) (note, more string) {
	note, more = "thrown away "+percentText(discarded), ", spurious "+percentText(spurious)
	switch {
	case spurious == 0 && discarded == 0:
		return "", ""
	case spurious == 0:
		return note, ""
	case discarded == 0:
		return strings.TrimPrefix(more, ", "), ""
	}
	return note, more
}

// waiting is the time lost to timers and pauses; nil when there is none.
func (a artist) waiting(b *block) *figure {
	chart := draw.BarChart{Title: "Time spent waiting for timeouts and in pauses, by protocol", AxisTitle: "time per run, summed over flows and over ports", Format: axisText(durationText)}
	any := false
	for _, r := range b.rows {
		timers, pauses := r.mean(timeoutWait), r.mean(pauseTime)
		any = any || timers > 0 || pauses > 0
		chart.Bars = append(chart.Bars, draw.Bar{Label: r.label, Class: a.class(r), Invalid: r.isInvalid(),
			Parts: []draw.Part{{Value: timers}, {Value: pauses, Hatched: true}}, Value: waitingText(timers, pauses), Note: countNote(r)})
	}
	if !any {
		return nil
	}
	return newFigure("bars", "waiting", "Waiting", "Solid: time that flows waited for retransmission timers, summed over flows; hatched: time that ports stood still under PFC, summed over ports and classes. The two are not of the same kind: a paused port can hold up many flows.", chart.SVG())
}

func waitingText(timers, pauses float64) string {
	switch {
	case timers == 0 && pauses == 0:
		return "none"
	case pauses == 0:
		return durationText(timers)
	case timers == 0:
		return durationText(pauses)
	}
	return durationText(timers) + " + " + durationText(pauses)
}

func countNote(r *row) string {
	var parts []string
	if n := r.mean(timeouts); n > 0 {
		parts = append(parts, counted(n, "timeout"))
	}
	if n := r.mean(func(run *compare.Run) float64 { return float64(run.PauseFrames) }); n > 0 {
		parts = append(parts, counted(n, "pause frame"))
	}
	return strings.Join(parts, ", ")
}

// queuePoints is the number of time steps in the figure of queues.
const queuePoints = 120

// queues is the largest and the mean queue over time; nil without samples.
func (a artist) queues(b *block) *figure {
	end, cut := 0.0, false
	for _, r := range b.rows {
		busy, last := queueTimes(r.samples)
		end, cut = max(end, busy), cut || busy < last
	}
	if end == 0 {
		return nil
	}
	scale := draw.Scale{Max: end}
	chart := draw.Strips{Title: "Switch queues over time, by protocol", Format: bytesText,
		X: draw.Axis{Title: "time since the start of the run", Scale: scale, Ticks: scale.Ticks(6), Format: axisText(durationText)}}
	for _, r := range b.rows {
		strip := draw.Strip{Label: r.label, Class: a.class(r), Invalid: r.isInvalid()}
		strip.Top, strip.Middle = queueCurves(r.samples, end)
		for _, p := range strip.Top {
			strip.Peak = max(strip.Peak, p.Y)
		}
		chart.Rows = append(chart.Rows, strip)
	}
	caption := "Area: the longest of all sampled switch queues at a time; line: their mean. All rows have the same scale. One run, with the first sampled seed."
	if cut {
		caption += " What came after 99 % of the queueing of each run is left out."
	}
	return newFigure("bars", "queues", "Queues over time", caption, chart.SVG())
}

// queueTimes are the time by which 99 % of all queueing, in bytes times time, was over, and that of the last
// sample: a run may go on for long while one flow waits for its timer.
func queueTimes(samples []*compare.Sample) (busy, last float64) {
	total := 0.0
	var held []draw.Point // time, and the queueing until then
	for _, s := range samples {
		if s.Bytes != nil && s.Seed == samples[0].Seed {
			total += *s.Bytes * max(0, s.At-last)
			last = max(last, s.At)
			held = append(held, draw.Point{X: last, Y: total})
		}
	}
	for _, p := range held {
		if busy = p.X; p.Y >= 0.99*total {
			break
		}
	}
	return min(last, busy*1.05), last
}

// queueCurves returns the largest and the mean queue in each time step that has samples, of the first
// seed that has any.
func queueCurves(samples []*compare.Sample, end float64) (largest, mean []draw.Point) {
	top, sum, count := make([]float64, queuePoints), make([]float64, queuePoints), make([]int, queuePoints)
	for _, s := range samples {
		if s.Bytes == nil || s.Seed != samples[0].Seed || s.At > end {
			continue
		}
		k := min(queuePoints-1, int(s.At/end*queuePoints))
		top[k], sum[k] = max(top[k], *s.Bytes), sum[k]+*s.Bytes
		count[k]++
	}
	for k, n := range count {
		if n > 0 {
			at := (float64(k) + 0.5) * end / queuePoints
			largest = append(largest, draw.Point{X: at, Y: top[k]})
			mean = append(mean, draw.Point{X: at, Y: sum[k] / float64(n)})
		}
	}
	return largest, mean
}

// links is the heat map of link loads; nil without samples.
func (a artist) links(b *block) *figure {
	loads := make([]map[string]float64, len(b.rows))
	names := map[string]bool{}
	for i, r := range b.rows {
		loads[i] = linkLoads(r.samples)
		for name := range loads[i] {
			names[name] = true
		}
	}
	if len(names) == 0 {
		return nil
	}
	groups := linkGroups(names)
	chart := draw.HeatMap{Title: "Load of links, by protocol", Format: percentText}
	for _, g := range groups {
		chart.Groups = append(chart.Groups, draw.HeatGroup{Name: g.name, More: fmt.Sprintf(" (%d)", len(g.links))})
	}
	for i, r := range b.rows {
		chart.Rows = append(chart.Rows, heatRow(r, loads[i], groups))
	}
	caption := "Bytes that every link carried in one run, as a share of what the busiest of its row did; the same link at the same place in every row, grouped by what it connects. An even strip is a spread load; single dark cells are collisions. On the right: the mean load of the busiest link, from start to end of the run."
	if slices.ContainsFunc(groups, func(g linkGroup) bool { return len(g.links) > heatCells }) {
		caption = "Bytes that every link carried in one run, as a share of what the busiest of its row did, in each group from the busiest to the idlest. An even strip is a spread load; a gradient means that some links are crowded while others idle. On the right: the mean load of the busiest link, from start to end of the run."
	}
	return newFigure("bars", "links", "Links", caption, chart.SVG())
}

// heatCells is how many links of a group are shown each at its own place; more are sorted and thinned.
const heatCells = 160

// linkLoads is the mean load of each link, of the first seed that has samples.
func linkLoads(samples []*compare.Sample) map[string]float64 {
	sum, count := map[string]float64{}, map[string]int{}
	for _, s := range samples {
		if s.Load != nil && s.Seed == samples[0].Seed {
			sum[s.Link] += *s.Load
			count[s.Link]++
		}
	}
	for name, n := range count {
		sum[name] /= float64(n)
	}
	return sum
}

// A linkGroup is the links between two kinds of nodes.
type linkGroup struct {
	name  string
	links []string
}

// linkGroups sorts link names ("leaf0-spine1") into groups ("leaf-spine"), hosts first.
func linkGroups(names map[string]bool) []linkGroup {
	byName := map[string][]string{}
	for name := range names {
		byName[kindOfLink(name)] = append(byName[kindOfLink(name)], name)
	}
	var groups []linkGroup
	for kind, links := range byName {
		slices.SortFunc(links, naturally)
		groups = append(groups, linkGroup{kind, links})
	}
	slices.SortFunc(groups, func(a, b linkGroup) int {
		return cmp.Or(cmp.Compare(hostRank(a.name), hostRank(b.name)), cmp.Compare(a.name, b.name))
	})
	return groups
}

var portPrefix = regexp.MustCompile(`\b[pr][0-9]+([a-z])`)

// kindOfLink drops the numbers of a link's ends, and of their plane or rail.
func kindOfLink(name string) string {
	name = portPrefix.ReplaceAllString(name, "$1")
	kind := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r == '.' {
			return -1
		}
		return r
	}, name)
	return strings.ReplaceAll(kind, "-", " → ")
}

// hostRank puts the links from hosts first and those to hosts last, as packets travel.
func hostRank(kind string) int {
	switch {
	case strings.HasPrefix(kind, "h →"):
		return 0
	case strings.HasSuffix(kind, "→ h"):
		return 2
	}
	return 1
}

// naturally compares names by their numbers where they have some: leaf2 before leaf10.
func naturally(a, b string) int {
	for a != "" && b != "" {
		na, nb := leadingNumber(a), leadingNumber(b)
		if na > 0 && nb > 0 {
			x, y := strings.TrimLeft(a[:na], "0"), strings.TrimLeft(b[:nb], "0")
			if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
				return c
			}
			a, b = a[na:], b[nb:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

func leadingNumber(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }

func heatRow(r *row, loads map[string]float64, groups []linkGroup) draw.HeatRow {
	row := draw.HeatRow{Label: r.label, Invalid: r.isInvalid()}
	busiest, most := "", -1.0
	for _, g := range groups {
		cells := make([]float64, len(g.links))
		for i, link := range g.links {
			cells[i] = loads[link]
			if loads[link] > most {
				busiest, most = link, loads[link]
			}
		}
		row.Groups = append(row.Groups, thinned(cells))
	}
	for _, cells := range row.Groups {
		for i := range cells {
			cells[i] /= max(most, math.SmallestNonzeroFloat64)
		}
	}
	if len(loads) > 0 {
		row.Note = fmt.Sprintf("busiest %s, %s", busiest, percentText(most))
	}
	return row
}

// thinned sorts the cells of large groups and keeps heatCells of them.
func thinned(cells []float64) []float64 {
	if len(cells) <= heatCells {
		return cells
	}
	slices.Sort(cells)
	slices.Reverse(cells)
	kept := make([]float64, heatCells)
	for i := range kept {
		kept[i] = cells[i*(len(cells)-1)/(heatCells-1)]
	}
	return kept
}
