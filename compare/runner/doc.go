// Package runner runs scenarios: it builds the fabric and the hosts of one protocol, plays the
// workload on them, checks that nothing was lost or done twice without a count, and reduces
// what happened to the lines of the results.
package runner
