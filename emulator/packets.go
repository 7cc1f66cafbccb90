package emulator

import "github.com/weft-transport/weft/transport/core"

// A record is what the hops of a packet touch: 32 bytes. The packet itself lies beside it in a
// cold slab and is touched by its two ends only.
type record struct {
	next    uint32 // behind it in a queue or on a wire; 0: none
	dst     uint32
	hash    uint32 // of addresses, protocol and entropy
	ingress int32  // link it came to this switch by
	after   Time   // when the packet behind it on the wire arrives; its own arrival is in the calendar
	size    uint16 // bytes on the wire
	class   uint8
	flags   uint8
	leaf    int32 // number of the switch that dst hangs on, as routes count them
}

// Flags of a record: those of core.Packet that matter, and three of its own.
const (
	packetFlags uint8 = core.Trimmable | core.WasTrimmed | core.TrimmedLastHop | core.Corrupt
	recECT      uint8 = core.InRun // runs mean nothing in the fabric; their bits are free
	recMarked   uint8 = core.EndOfRun
	recData     uint8 = 1 << 6 // carries message bytes, or did before it was trimmed
)

// A pool holds all packets that are under way, by number; 0 is nobody.
type pool struct {
	records []record
	chunks  []*[chunk]core.Packet
	unused  uint32
	live    int
}

const chunk = 1024

func (p *pool) init() {
	p.records = make([]record, 1, chunk)
	p.chunks = []*[chunk]core.Packet{new([chunk]core.Packet)}
}

func (p *pool) cold(i uint32) *core.Packet { return &p.chunks[i/chunk][i%chunk] }

func (p *pool) take() uint32 {
	p.live++
	if i := p.unused; i != 0 {
		p.unused = p.records[i].next
		return i
	}
	i := uint32(len(p.records))
	p.records = append(p.records, record{})
	if i%chunk == 0 {
		p.chunks = append(p.chunks, new([chunk]core.Packet))
	}
	return i
}

func (p *pool) free(i uint32) {
	p.live--
	p.records[i].next = p.unused
	p.unused = i
}
