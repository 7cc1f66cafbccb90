package virtual

import "github.com/weft-transport/weft/transport/core"

// flights are the payloads of packets that are under way: copies, made when a packet leaves, as a card makes them. The
// sender may have other bytes there when it arrives: a datagram's buffer is free at once, a packet may overtake its
// own repetition, and a host may crash. It is the Memory of all payloads, and guarded by World.mu.
//
// The fabric has one core.Packet for each place in which a packet can be under way, and shows it to both ends, so that it
// tells flights apart.
type flights struct {
	bytes    map[*core.Packet][]byte
	arriving []byte // of the packet that is being handled
}

// leave copies the payload of a packet that is sent; what is virtual stays virtual.
func (f *flights) leave(p *core.Packet, m core.Memory) {
	if p.Payload.Buffer == 0 || p.Payload.Length == 0 || m == nil {
		return
	}
	n := int(p.Payload.Length)
	b := f.bytes[p]
	if cap(b) < n {
		b = make([]byte, n)
	}
	b = b[:n]
	m.ReadAt(p.Payload.Buffer, p.Payload.Offset, b)
	p.Payload.Offset, f.bytes[p] = 0, b
}

// double copies the payload of a packet that a link doubled.
func (f *flights) double(original, twin *core.Packet) {
	f.bytes[twin] = append(f.bytes[twin][:0], f.bytes[original]...)
}

// arrive makes the payload of a packet the one that is read.
func (f *flights) arrive(p *core.Packet) {
	f.arriving = nil
	if p.Payload.Buffer != 0 && p.Payload.Length != 0 {
		f.arriving = f.bytes[p]
	}
}

// ReadAt implements core.Memory.
func (f *flights) ReadAt(_ uint32, offset uint64, dst []byte) {
	clear(dst[copy(dst, f.arriving[min(offset, uint64(len(f.arriving))):]):])
}
