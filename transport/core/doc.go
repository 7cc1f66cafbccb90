// Package core is the protocol without clock, socket or goroutine: Ultra Ethernet Transport as
// a state machine, and the seam (stack.go) through which carriers drive it.
package core
