//go:build !amd64 && !arm64

package prefetch

import "unsafe"

// Line does nothing on this processor.
func Line(unsafe.Pointer) {}

// Lines does nothing on this processor.
func Lines(unsafe.Pointer, int) {}
