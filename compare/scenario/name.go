package scenario

import "strings"

// isScenarioName accepts a name, and behind a slash what tells one point of a sweep from another:
// "permutation/workload.size=2MiB,spec.qps=4". That part may hold any visible ASCII but quotes and
// backslashes.
func isScenarioName(s string) bool {
	base, point, isPoint := strings.Cut(s, "/")
	if !isName(base) || isPoint && point == "" {
		return false
	}
	for _, c := range point {
		if c <= ' ' || c > '~' || c == '"' || c == '\'' || c == '\\' || c == '`' {
			return false
		}
	}
	return true
}
