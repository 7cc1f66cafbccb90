package emulator

import "github.com/weft-transport/weft/transport/core"

// In-band telemetry: every switch port that a packet of a class with Telemetry leaves by adds what
// it knows of itself, and the packet grows by that on the wire (Li et al., HPCC, SIGCOMM 2019, section 4). The receiver
// may send the reports back with an acknowledgement, which grows by them, too.

// MaxHops is how many ports can report in one packet; further ones are silent.
const MaxHops = 8

// HopBytes is what one report adds to a packet: rate, stamp, bytes sent and queue, packed.
const HopBytes = 8

// A report is the telemetry of one packet under way.
type report struct {
	hops  [MaxHops]core.Hop
	count int
	next  uint32 // in the list of unused ones
}

// A notebook holds the reports of all packets that carry one, by handle; 0 is none.
type notebook struct {
	reports []report
	unused  uint32
}

func (n *notebook) take() uint32 {
	if h := n.unused; h != 0 {
		n.unused = n.reports[h].next
		n.reports[h].count = 0
		return h
	}
	if len(n.reports) == 0 {
		n.reports = make([]report, 1, 64)
	}
	n.reports = append(n.reports, report{})
	return uint32(len(n.reports) - 1)
}

func (n *notebook) free(h uint32) {
	n.reports[h].next = n.unused
	n.unused = h
}

// stamp adds the report of the port that packet i is leaving by, of whose class so many bytes
// stay queued.
func (f *Fabric) stamp(link int32, i uint32, queued int64) {
	p := f.packets.cold(i)
	if p.Telemetry == 0 {
		p.Telemetry = f.notes.take()
	}
	r := &f.notes.reports[p.Telemetry]
	if r.count == MaxHops {
		return
	}
	r.hops[r.count] = core.Hop{Port: uint32(link), RateBps: f.net.Links[link].RateBps, Stamp: f.now, SentBytes: int64(f.ports[link].txBytes), QueueBytes: queued}
	r.count++
	f.packets.records[i].size += HopBytes
}

// Hops returns the telemetry behind the handle of a packet that is being handled: first hop first. The
// slice is the fabric's and valid until the next packet; nil for handle 0.
func (f *Fabric) Hops(handle uint32) []core.Hop {
	if handle == 0 {
		return nil
	}
	r := &f.notes.reports[handle]
	return r.hops[:r.count]
}

// Release takes back the handle of telemetry that a Stack took from a packet and will not send.
func (f *Fabric) Release(handle uint32) { f.notes.free(handle) }

// attach makes the telemetry that a Stack sends with a packet part of it, and returns its bytes.
func (f *Fabric) attach(pkt *core.Packet) int64 {
	if !f.plan.telemetry {
		pkt.Telemetry = 0
	}
	if pkt.Telemetry == 0 {
		return 0
	}
	return int64(f.notes.reports[pkt.Telemetry].count) * HopBytes
}

// forget frees the telemetry of a packet that has ended.
func (f *Fabric) forget(i uint32) {
	if !f.plan.telemetry {
		return
	}
	if p := f.packets.cold(i); p.Telemetry != 0 {
		f.notes.free(p.Telemetry)
		p.Telemetry = 0
	}
}
