package emulator

import (
	"unsafe"

	"github.com/weft-transport/weft/transport/prefetch"
)

// warmUp asks for the memory of the next two events while the current one is being carried out: of the one
// after next its link, of the next what its link leads to, each step of a chain of pointers one event later
// than the one before (docs/PERFORMANCE.md).
func (f *Fabric) warmUp(timers uint32) {
	next, after := f.cal.upcoming()
	if after < timers {
		prefetch.Line(unsafe.Pointer(&f.ports[after>>1]))
	}
	if next >= timers {
		return
	}
	p := &f.ports[next>>1]
	switch {
	case next&1 == 0:
		f.warmArrival(p)
	case p.state&fromHost != 0:
		f.warmHost(p.from)
	default:
		prefetch.Line(unsafe.Pointer(&f.queues[f.at(int32(next>>1), 0)]))
	}
}

func (f *Fabric) warmArrival(p *port) {
	prefetch.Line(unsafe.Pointer(&f.packets.records[p.wireHead]))
	if p.state&toHost != 0 {
		const headers = 3 // lines of a packet that hold its fields and a request header
		prefetch.Lines(unsafe.Pointer(f.packets.cold(p.wireHead)), headers)
		f.warmHost(p.to)
	}
}

func (f *Fabric) warmHost(h int32) {
	if w := f.hosts[h].warmer; w != nil {
		w.Warm()
	}
}
