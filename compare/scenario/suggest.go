package scenario

import (
	"fmt"
	"strings"
)

// suggest returns " (did you mean ...?)" when a known name is close to what was typed.
func suggest(typed string, names []string) string {
	best, distance := "", min(len(typed), max(2, len(typed)/3)+1)
	for _, name := range names {
		if d := edits(strings.ToLower(typed), strings.ToLower(name)); d < distance {
			best, distance = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}

// edits counts the single-character changes between two words (Levenshtein).
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
