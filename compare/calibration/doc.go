// Package calibration holds this project to results of others: what their papers say, and what their simulators
// print. It has tests only, of minutes, behind the build tag long:
//
//	go test -tags long -timeout 60m -v ./compare/calibration
//
// The scenarios are files under compare/scenarios/published, which `weft compare published` runs as well; they hold the figures
// of others, testdata their distributions. docs/VALIDATION.md tells of set-ups, figures and differences.
package calibration
