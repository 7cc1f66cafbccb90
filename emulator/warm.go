package emulator

import (
	"unsafe"

	"github.com/weft-transport/weft/transport/prefetch"
)

// warmUp asks for the memory of the next two events while the current one is being carried out: of the one
// after next its link, of the next what its link leads to, each step of a chain of pointers one event later
// than the one before (docs/PERFORMANCE.md).
func (f *Fabric) warmUp(links uint32) {
	next, after := f.cal.upcoming()
	if after < 2*links {
		prefetch.Line(unsafe.Pointer(&f.cal.entries[after]))
		if after >= links {
			after -= links
		}
		prefetch.Line(unsafe.Pointer(&f.ports[after]))
	}
	switch {
	case next < links:
		f.warmArrival(&f.ports[next])
	case next < 2*links:
		if p := &f.ports[next-links]; p.state&fromHost != 0 {
			f.warmHost(p.from)
		} else {
			prefetch.Line(unsafe.Pointer(&f.queues[f.at(int32(next-links), 0)]))
		}
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
