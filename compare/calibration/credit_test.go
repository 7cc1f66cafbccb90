//go:build long

package calibration

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCreditsOfHtsim holds receiver credits, alone and together with NSCC, to single runs of htsim_uec. One path has the
// worst collision for its last flow, on another matrix than ours.
func TestCreditsOfHtsim(t *testing.T) {
	const close, usual, onePath = 0.02, 0.10, 0.20
	for file, rows := range map[string]map[string]struct{ theirs, within float64 }{
		"htsim-one-flow-100g":         {"nscc": {176.2, close}, "rccc": {177.4, close}},
		"htsim-128-400g-rccc":         {"rccc, mixed 256, ACK 4:1": {59.2, usual}, "nscc+rccc, mixed 256, ACK 4:1": {59.2, usual}},
		"htsim-128-400g-tornado-rccc": {"rccc, mixed 256, ACK 4:1": {104.5, usual}, "nscc+rccc, mixed 256, ACK 4:1": {104.5, usual}},
		"htsim-1024-100g-rccc": {"rccc, oblivious": {208.8, usual}, "rccc, bitmap": {204.1, usual}, "rccc, reps, ACK 1:1": {197.3, usual},
			"rccc, reps, ACK 4:1": {210.0, usual}, "rccc, mixed, ACK 1:1": {195.6, usual}, "rccc, mixed, ACK 4:1": {203.4, usual},
			"nscc+rccc, mixed, ACK 4:1": {202.6, usual}, "rccc, one path": {1063, onePath}, "nscc+rccc, one path": {1047.1, onePath}},
	} {
		us := last(t, file)
		for label, r := range rows {
			require.InEpsilon(t, r.theirs, us[label], r.within, "%s, %s", file, label)
		}
	}
}
