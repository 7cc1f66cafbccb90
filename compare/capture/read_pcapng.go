package capture

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"strings"
	"time"
)

// Block types.
const (
	blockSection    = 0x0a0d0d0a
	blockInterface  = 1
	blockPacketOld  = 2
	blockSimple     = 3
	blockStatistics = 5
	blockPacket     = 6
)

const orderMagic = 0x1a2b3c4d

// Options: 1 means the same in every block.
const (
	optionEnd         = 0
	optionComment     = 1
	optionName        = 2  // interface
	optionDescription = 3  // interface
	optionResolution  = 9  // interface
	optionOffset      = 14 // interface: seconds to add to stamps
	optionFlags       = 2  // packet: its low two bits are the Direction
	optionPacketID    = 5  // packet
	optionApplication = 4  // section
	optionDropped     = 5  // statistics: packets that the interface has lost
)

// openSection reads a section header, which decides the byte order and forgets the interfaces:
//
//	| 0a0d0d0a | block length 4 | 1a2b3c4d | version 2+2 | section length 8 | options | block length 4 |
func (r *Reader) openSection() error {
	start := r.offset
	r.block = r.block[:0]
	if err := r.fill(12, start, "a section header"); err != nil {
		return err
	}
	switch {
	case binary.LittleEndian.Uint32(r.block[8:]) == orderMagic:
		r.order = binary.LittleEndian
	case binary.BigEndian.Uint32(r.block[8:]) == orderMagic:
		r.order = binary.BigEndian
	default:
		return r.broken(start+8, "a section header with byte-order mark %x; expected %x in either order", r.block[8:12], uint32(orderMagic))
	}
	if err := r.body(start, r.order.Uint32(r.block[4:]), 28); err != nil {
		return err
	}
	if major := r.order.Uint16(r.block[12:]); major != 1 {
		return r.broken(start+12, "pcapng version %d; expected 1", major)
	}
	r.interfaces = r.interfaces[:0:0]
	r.application, r.comment = "", ""
	r.options(r.block[24:len(r.block)-4], func(code uint16, value []byte) {
		switch code {
		case optionApplication:
			r.application = text(value, maxName)
		case optionComment:
			r.comment = text(value, maxComment)
		}
	})
	return nil
}

// body reads the rest of a block, of which r.block holds the head, and checks its frame. least is the
// shortest that such a block can be.
func (r *Reader) body(start int64, length uint32, least uint32) error {
	switch {
	case length < least || length%4 != 0:
		return r.broken(start, "a block of %d bytes; expected %d or more, in steps of 4", length, least)
	case length > maxBlock:
		return r.broken(start, "a block claims %d bytes; expected %d at most", length, maxBlock)
	}
	if err := r.fill(int(length)-len(r.block), start, "a block"); err != nil {
		return err
	}
	if trailer := r.order.Uint32(r.block[length-4:]); trailer != length {
		return r.broken(start, "a block begins with length %d and ends with %d", length, trailer)
	}
	return nil
}

// nextBlock reads blocks up to the next packet.
func (r *Reader) nextBlock(f *Frame) error {
	for {
		start := r.offset
		if r.atEnd() {
			return io.EOF
		}
		head, err := r.in.Peek(8)
		if len(head) < 8 {
			return r.ended(err, start, "a block has 12 bytes at least")
		}
		kind, length := r.order.Uint32(head), r.order.Uint32(head[4:])
		r.block = r.block[:0]
		switch kind {
		case blockSection:
			err = r.openSection()
		case blockInterface:
			if err = r.body(start, length, 20); err == nil {
				err = r.addInterface(start)
			}
		case blockStatistics:
			if err = r.body(start, length, 24); err == nil {
				r.addStatistics()
			}
		case blockPacket, blockPacketOld:
			if err = r.body(start, length, 32); err == nil {
				return r.packet(f, start, kind)
			}
		case blockSimple:
			if err = r.body(start, length, 16); err == nil {
				return r.simple(f, start)
			}
		default:
			err = r.skip(start, length)
		}
		if err != nil {
			return err
		}
	}
}

// skip passes over a block of no interest, however long.
func (r *Reader) skip(start int64, length uint32) error {
	if length < 12 || length%4 != 0 {
		return r.broken(start, "a block of %d bytes; expected 12 or more, in steps of 4", length)
	}
	passed, err := io.CopyN(io.Discard, r.in, int64(length))
	r.offset += passed
	if err != nil {
		return r.ended(err, start, "a block is longer than the rest")
	}
	return nil
}

// addInterface takes an interface description: link type 2, reserved 2, snap length 4, options.
func (r *Reader) addInterface(start int64) error {
	if len(r.interfaces) == maxInterfaces {
		return r.broken(start, "more than %d interfaces", maxInterfaces)
	}
	one := &Interface{Index: len(r.interfaces), Link: LinkType(r.order.Uint16(r.block[8:])), SnapLength: r.order.Uint32(r.block[12:])}
	resolution := byte(6)
	r.options(r.block[16:len(r.block)-4], func(code uint16, value []byte) {
		switch {
		case code == optionName:
			one.Name = text(value, maxName)
		case code == optionDescription:
			one.Description = text(value, maxName)
		case code == optionResolution && len(value) == 1:
			resolution = value[0]
		case code == optionOffset && len(value) == 8:
			one.clock.offset = int64(r.order.Uint64(value))
		}
	})
	if !one.clock.set(resolution) {
		return r.broken(start, "interface %d counts time in steps of %s; expected 10^-19 s or 2^-63 s at the finest", one.Index, steps(resolution))
	}
	one.Decimals = one.clock.decimals()
	r.interfaces = append(r.interfaces, one)
	return nil
}

// addStatistics takes the count of packets that the interface could not deliver.
func (r *Reader) addStatistics() {
	r.options(r.block[20:len(r.block)-4], func(code uint16, value []byte) {
		if code == optionDropped && len(value) == 8 {
			r.drops += r.order.Uint64(value)
		}
	})
}

// packet takes a packet block. The old kind has 16 bits of interface and 16 of drops in front, the enhanced
// one 32 bits of interface:
//
//	| interface 4 | stamp, upper half 4 | lower half 4 | captured length 4 | length 4 | bytes, padded | options |
func (r *Reader) packet(f *Frame, start int64, kind uint32) error {
	which := r.order.Uint32(r.block[8:])
	if kind == blockPacketOld {
		which = uint32(r.order.Uint16(r.block[8:]))
	}
	if int64(which) >= int64(len(r.interfaces)) {
		return r.broken(start, "a packet of interface %d; %d are described before it", which, len(r.interfaces))
	}
	stamp := uint64(r.order.Uint32(r.block[12:]))<<32 | uint64(r.order.Uint32(r.block[16:]))
	captured, length := r.order.Uint32(r.block[20:]), r.order.Uint32(r.block[24:])
	rest := r.block[28 : len(r.block)-4]
	if int64(captured) > int64(len(rest)) || captured > MaxFrame {
		return r.broken(start, "a frame claims %d captured bytes in a block with room for %d", captured, min(len(rest), MaxFrame))
	}
	one := r.interfaces[which]
	*f = Frame{Interface: one, Time: one.clock.at(stamp), Data: rest[:captured], Length: max(int(length), int(captured))}
	options := rest[min(len(rest), (int(captured)+3)&^3):]
	r.options(options, func(code uint16, value []byte) {
		switch {
		case code == optionComment && len(value) > 0:
			f.Comments = append(f.Comments, text(value, len(value)))
		case code == optionFlags && len(value) == 4:
			f.Direction = Direction(r.order.Uint32(value) & 3)
		case code == optionPacketID && len(value) == 8:
			f.Packet, f.HasPacket = r.order.Uint64(value), true
		}
	})
	return nil
}

// simple takes a simple packet block: length 4 and bytes, of the first interface, at no time.
func (r *Reader) simple(f *Frame, start int64) error {
	if len(r.interfaces) == 0 {
		return r.broken(start, "a packet before any interface is described")
	}
	one := r.interfaces[0]
	length := r.order.Uint32(r.block[8:])
	rest := r.block[12 : len(r.block)-4]
	captured := min(int64(length), int64(len(rest)), MaxFrame)
	if one.SnapLength > 0 {
		captured = min(captured, int64(one.SnapLength))
	}
	*f = Frame{Interface: one, Data: rest[:captured], Length: max(int(length), int(captured))}
	return nil
}

// options calls do for each option of b: code 2, length 2, value, padded. What does not fit ends the list;
// the block that holds it has been checked, so nothing behind is lost.
func (r *Reader) options(b []byte, do func(code uint16, value []byte)) {
	for len(b) >= 4 {
		code, length := r.order.Uint16(b), int(r.order.Uint16(b[2:]))
		b = b[4:]
		if code == optionEnd || length > len(b) {
			return
		}
		do(code, b[:length])
		b = b[min(len(b), (length+3)&^3):]
	}
}

// text is a string of a file as a valid one, cut to so many bytes.
func text(b []byte, most int) string {
	return strings.ToValidUTF8(strings.TrimRight(string(b[:min(len(b), most)]), "\x00"), "?")
}

// A clock turns stamps of an interface into time.
type clock struct {
	perSecond uint64 // steps of a second; not 0
	offset    int64  // seconds to add
}

// set takes the resolution as the option has it: a negative power of 10, or of 2 with the upper bit set. It
// is false if a second has more steps than fit.
func (c *clock) set(resolution byte) bool {
	exponent := resolution & 0x7f
	if resolution&0x80 != 0 {
		c.perSecond = 1 << exponent
		return exponent < 64
	}
	c.perSecond = 1
	for range min(exponent, 20) {
		c.perSecond *= 10
	}
	return exponent < 20
}

// decimals returns how many digits of a second mean something, 9 at most.
func (c *clock) decimals() (n int) {
	for steps := uint64(1); n < 9 && steps < c.perSecond; n++ {
		steps *= 10
	}
	return n
}

// at returns the time of a stamp, cut to nanoseconds.
func (c *clock) at(stamp uint64) time.Time {
	seconds := int64(stamp/c.perSecond) + c.offset
	hi, lo := bits.Mul64(stamp%c.perSecond, 1e9)
	nanoseconds, _ := bits.Div64(hi, lo, c.perSecond) // the remainder is below perSecond, so the quotient is below 1e9
	return time.Unix(seconds, int64(nanoseconds)).UTC()
}

func steps(resolution byte) string {
	if resolution&0x80 != 0 {
		return fmt.Sprintf("2^-%d s", resolution&0x7f)
	}
	return fmt.Sprintf("10^-%d s", resolution)
}
