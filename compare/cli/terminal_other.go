//go:build !linux

package cli

import "io"

// terminalWidth is not known on this system.
func terminalWidth(io.Writer) int { return 0 }
