package cli

import (
	"io"

	"github.com/weft-transport/weft/compare/report"
)

// tableWidth is how wide tables may be that go to w: a terminal's columns, but neither too few for a table nor more than
// the eye follows; a file gets the same lines on every machine.
func tableWidth(w io.Writer) int {
	if columns := terminalWidth(w); columns > 0 {
		return min(max(columns, report.Narrow), report.Wide)
	}
	return report.Wide
}
