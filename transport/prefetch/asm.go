//go:build amd64 || arm64

package prefetch

import "unsafe"

// Line asks for the cache line that p points into.
//
//go:noescape
func Line(p unsafe.Pointer)

// Lines asks for so many lines of 64 bytes from p on; n is at least 1.
//
//go:noescape
func Lines(p unsafe.Pointer, n int)
