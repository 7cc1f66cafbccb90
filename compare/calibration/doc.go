// Package calibration holds this project to results of others: what their papers say, and what their simulators
// print. It has tests only, of minutes, behind the build tag long:
//
//	go test -tags long -timeout 60m -v ./compare/calibration
//
// The scenarios are files under compare/scenarios/published, which the command line runs as well. What the others
// got is in testdata. docs/VALIDATION.md tells of set-ups, figures and differences.
package calibration
