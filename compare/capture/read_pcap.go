package capture

import (
	"encoding/binary"
	"io"
	"time"
)

// Magic numbers of pcap files, as the writer's byte order shows them.
const (
	magicMicro = 0xa1b2c3d4
	magicNano  = 0xa1b23c4d
)

const (
	pcapHeadSize   = 24
	pcapRecordSize = 16
)

// openPcap reads the head of a pcap file.
//
//	| magic 4 | version 2+2 | zone 4, accuracy 4: unused | snap length 4 | link type 16 bits, FCS length above |
func (r *Reader) openPcap() error {
	r.format, r.next = "pcap", (*Reader).nextRecord
	head, err := r.in.Peek(pcapHeadSize)
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		if magic := order.Uint32(head); magic == magicMicro || magic == magicNano {
			r.order = order
		}
	}
	switch {
	case r.order == nil:
		return ErrNotCapture
	case len(head) < pcapHeadSize:
		return r.ended(err, 0, "its head has 24 bytes")
	}
	if major := r.order.Uint16(head[4:]); major != 2 {
		return r.broken(4, "pcap version %d; expected 2", major)
	}
	one := &Interface{Link: LinkType(r.order.Uint32(head[20:])), SnapLength: r.order.Uint32(head[16:]), Decimals: 6, clock: clock{perSecond: 1e6}}
	if r.order.Uint32(head) == magicNano {
		one.Decimals, one.clock.perSecond = 9, 1e9
	}
	r.interfaces = []*Interface{one}
	r.offset = pcapHeadSize
	_, err = r.in.Discard(pcapHeadSize)
	return err
}

// nextRecord reads one record: seconds 4, fraction 4, captured length 4, length 4, bytes.
func (r *Reader) nextRecord(f *Frame) error {
	start := r.offset
	if r.atEnd() {
		return io.EOF
	}
	r.block = r.block[:0]
	if err := r.fill(pcapRecordSize, start, "the head of a record"); err != nil {
		return err
	}
	captured, length := r.order.Uint32(r.block[8:]), r.order.Uint32(r.block[12:])
	seconds, fraction := r.order.Uint32(r.block), r.order.Uint32(r.block[4:])
	if captured > MaxFrame {
		return r.broken(start, "a frame claims %d captured bytes; expected %d at most", captured, MaxFrame)
	}
	one := r.interfaces[0]
	r.block = r.block[:0]
	if err := r.fill(int(captured), start, "a frame"); err != nil {
		return err
	}
	*f = Frame{Interface: one, Data: r.block, Length: max(int(length), int(captured)),
		Time: time.Unix(int64(seconds), int64(fraction)*int64(1e9/one.clock.perSecond)).UTC()}
	return nil
}
