package dissect

import (
	"time"

	"github.com/weft-transport/weft/compare/capture"
)

// maxSighted is how many packets of a file that numbers them are remembered, the latest ones: more than a fabric holds
// at a time.
const maxSighted = 1 << 16

// A sighting is where a packet was seen first.
type sighting struct {
	packet uint64 // its number and 1; 0: none
	frame  int64
	at     time.Duration
}

// allLinks is the view of what is captured at links: an interface there sees one direction, and of packets that are
// sprayed some. So packets are followed where they are seen first, which is behind their sender.
const allLinks = -1

// sight sets the view in which a packet is followed, and notes where it was seen before if the file numbers packets.
// It is false if the packet is not to be followed (again).
func (t *Tracker) sight(p *Packet) bool {
	f := p.Frame
	p.view = f.Interface.Index
	if !f.HasPacket || f.Interface.Name == capture.DropsPort {
		return true
	}
	if t.sighted == nil {
		t.sighted = make([]sighting, maxSighted)
	}
	first, links := &t.sighted[f.Packet%maxSighted], f.Direction == capture.Unknown
	if links {
		p.view = allLinks
	}
	switch number := f.Packet + 1; {
	case first.packet == number:
		p.note(Plain, "same packet as frame %d, %s later", first.frame, short(p.Since-first.at))
		return !links
	case first.packet > number: // its entry is another's by now
		return !links
	default:
		*first = sighting{number, f.Number, p.Since}
		return true
	}
}
