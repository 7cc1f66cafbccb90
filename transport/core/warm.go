package core

import (
	"unsafe"

	"github.com/weft-transport/weft/transport/prefetch"
)

// A Warmer is a Stack that asks for its memory when its carrier knows that it will soon be called
// (package prefetch). Warm changes nothing.
type Warmer interface{ Warm() }

const line = 64

// Warm asks for what nearly every packet touches: the endpoint's own fields and, in its nest, the first entry
// of each slab, which is the only one where there is one peer.
func (e *Endpoint) Warm() {
	n := &e.nest
	prefetch.Lines(unsafe.Pointer(e), 16)
	prefetch.Lines(unsafe.Pointer(&n.contexts[1]), int(unsafe.Sizeof(n.contexts[1])+line-1)/line)
	prefetch.Lines(unsafe.Pointer(&n.pdcs[1]), int(unsafe.Sizeof(n.pdcs[1])+line-1)/line)
	prefetch.Lines(unsafe.Pointer(&n.targets[1]), int(unsafe.Sizeof(n.targets[1])+line-1)/line)
	prefetch.Line(unsafe.Pointer(&n.messages[1]))
	prefetch.Line(unsafe.Pointer(&n.inbound[1]))
	prefetch.Lines(unsafe.Pointer(&n.timers), 4) // timers and control packets
}
