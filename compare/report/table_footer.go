package report

import (
	"fmt"
	"strings"
)

// footer writes the rules and the findings.
func (t *tableWriter) footer(v *view, marks marks) {
	if len(v.blocks) == 0 {
		t.line("no runs")
		return
	}
	if len(marks) > 0 {
		t.wrapped("How switches treat a protocol's packets, by the letter behind its name:")
		t.classes(marks)
		t.line("")
	}
	t.wrapped(tableRules)
	for _, line := range seedLines(v) {
		t.wrapped(line)
	}
	t.line("")
	t.title("Findings")
	for _, f := range findings(v).lines(v) {
		for i, line := range wrap(f, t.width-len(indent), indent) {
			if i == 0 {
				line = indent + "* " + strings.TrimPrefix(line, indent)
			} else {
				line = indent + line
			}
			t.line(line)
		}
	}
}

const tableRules = "FCT: from a flow's start to its last acknowledgement, at the sender; last: the longest of a run. slowdown: FCT over " +
	"the flow's ideal, which counts the same headers for all; below 1 has smaller ones. gain: times better than the row marked 1 in what the column says, paired by seed, with its 95% interval; above 1 is better. pairing: " +
	"correlation of what is paired, 1 where both met the same luck. Figures are geometric means over seeds; p99 needs 100 flows a run. resent, spurious, trimmed, marked, " +
	"reordered: of the data packets sent; dropped: of all packets; discarded: of the payload sent, what receivers threw away, as duplicate or behind a gap. " +
	"waited, paused: sums over flows and ports of a run."

// seedLines says which seeds the scenarios ran with, once for those that agree.
func seedLines(v *view) []string {
	var lines []string
	for _, group := range groupBy(v.blocks, func(b *block) string { return seedRange(b.seeds()) }) {
		seeds := group[0].seeds()
		text := fmt.Sprintf("%s: %s", plural(len(seeds), "seed"), seedRange(seeds))
		if len(group) < len(v.blocks) {
			text += " (" + joinNames(group) + ")"
		}
		if len(seeds) == 1 {
			text += "; one seed gives no interval"
		}
		lines = append(lines, text+".")
	}
	return lines
}

// seedRange writes seeds as 1..5, 9.
func seedRange(seeds []uint64) string {
	var parts []string
	for i := 0; i < len(seeds); {
		j := i
		for j+1 < len(seeds) && seeds[j+1] == seeds[j]+1 {
			j++
		}
		if j > i {
			parts = append(parts, fmt.Sprintf("%d..%d", seeds[i], seeds[j]))
		} else {
			parts = append(parts, fmt.Sprint(seeds[i]))
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

// groupBy gathers blocks with the same key, in order of first appearance.
func groupBy(blocks []*block, key func(*block) string) [][]*block {
	at := map[string]int{}
	var groups [][]*block
	for _, b := range blocks {
		k := key(b)
		i, known := at[k]
		if !known {
			i = len(groups)
			at[k] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], b)
	}
	return groups
}

func joinNames(blocks []*block) string {
	names := make([]string, len(blocks))
	for i, b := range blocks {
		names[i] = b.info.Name
	}
	return strings.Join(names, ", ")
}
