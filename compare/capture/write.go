package capture

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/weft-transport/weft/transport/instant"
)

// A Direction says which way a frame passed an interface.
type Direction uint8

// Directions.
const (
	Unknown Direction = iota
	Inbound
	Outbound
)

// A Port describes an interface of a file that is written.
type Port struct{ Name, Description string }

// Limits bound what a Writer keeps. The zero Limits keep everything.
type Limits struct {
	Snap    int    // bytes of every frame that are kept; 0: all. The file tells the original length
	Packets uint64 // frames that are written; 0: all. A comment on the last one says so
}

// A Writer writes a pcapng file (draft-ietf-opsawg-pcapng): one section, Ethernet interfaces, stamps in nanoseconds. It streams,
// and repeats itself to the byte: nothing in a file depends on the machine or the hour.
//
// Every frame carries the number of its packet (epb_packetid), which is the same wherever the packet is seen, and
// its direction (epb_flags). Three kinds of blocks are all there is to it, so they are written here: the library that
// reads files back in the tests brings every protocol of the Internet along, and takes longer to compile than
// everything of this module.
//
//	+------+--------+--------------------+---------+--------+
//	| type | length | fields, frame      | options | length |    little-endian, padded to four bytes
//	+------+--------+--------------------+---------+--------+
type Writer struct {
	out    *bufio.Writer
	limits Limits
	frames uint64
	block  []byte // the one that is being put together
	failed error
}

// Types of blocks, and codes of options.
const (
	sectionHeader  = 0x0a0d0d0a
	interfaceBlock = 1
	enhancedPacket = 6

	optComment     = 1
	optUserAppl    = 4 // of a section
	optName        = 2 // of an interface
	optDescription = 3
	optResolution  = 9
	optFlags       = 2 // of a packet
	optPacketID    = 5

	longestOption = 1<<16 - 1
)

// NewWriter writes the head of a file: the program that made it, what the file holds, and its interfaces, which
// frames name by index.
func NewWriter(file io.Writer, program, comment string, ports []Port, limits Limits) (*Writer, error) {
	if len(ports) == 0 {
		return nil, errors.New("a capture without interfaces")
	}
	w := &Writer{out: bufio.NewWriterSize(file, 1<<16), limits: limits}
	w.begin(sectionHeader, 0x1a2b3c4d, 1, 1<<32-1, 1<<32-1) // byte order; version 1.0; length of the section: not told
	w.text(optComment, comment)
	w.text(optUserAppl, program)
	w.end()
	for _, p := range ports {
		const ethernet = 1
		w.begin(interfaceBlock, ethernet, uint32(limits.Snap))
		w.text(optName, p.Name)
		w.text(optDescription, p.Description)
		w.option(optResolution, []byte{9}) // ten to the power of -9 seconds
		w.end()
	}
	return w, w.failed
}

// Full tells whether nothing more is taken: the limit of packets is reached, or the file failed.
func (w *Writer) Full() bool {
	return w.failed != nil || w.limits.Packets > 0 && w.frames >= w.limits.Packets
}

// Write adds a frame that was seen at an interface. Of stamps finer than a nanosecond the rest is cut. An error of
// the file is kept for Flush.
func (w *Writer) Write(port int, at instant.Time, way Direction, packet uint64, frame []byte, comments ...string) {
	if w.Full() {
		return
	}
	w.frames++
	if w.frames == w.limits.Packets {
		comments = append(comments, fmt.Sprintf("the capture ends here, at its limit of %d packets", w.limits.Packets))
	}
	kept := frame
	if w.limits.Snap > 0 && len(kept) > w.limits.Snap {
		kept = kept[:w.limits.Snap]
	}
	stamp := uint64(at / instant.Nanosecond)
	w.begin(enhancedPacket, uint32(port), uint32(stamp>>32), uint32(stamp), uint32(len(kept)), uint32(len(frame)))
	w.padded(kept)
	for _, c := range comments {
		w.text(optComment, c)
	}
	w.option(optFlags, binary.LittleEndian.AppendUint32(nil, uint32(way)))
	w.option(optPacketID, binary.LittleEndian.AppendUint64(nil, packet))
	w.end()
}

// Flush writes what is buffered, and returns the first error of the file.
func (w *Writer) Flush() error {
	if w.failed != nil {
		return w.failed
	}
	return w.out.Flush()
}

// begin starts a block with its fields.
func (w *Writer) begin(kind uint32, fields ...uint32) {
	w.block = binary.LittleEndian.AppendUint32(w.block[:0], kind)
	w.block = append(w.block, 0, 0, 0, 0) // length, see end
	for _, f := range fields {
		w.block = binary.LittleEndian.AppendUint32(w.block, f)
	}
}

func (w *Writer) padded(b []byte) {
	w.block = append(append(w.block, b...), 0, 0, 0)
	w.block = w.block[:len(w.block)&^3]
}

// text adds an option that is not empty; what is longer than an option can be is cut.
func (w *Writer) text(code uint16, s string) {
	if s != "" {
		w.option(code, []byte(s[:min(len(s), longestOption)]))
	}
}

func (w *Writer) option(code uint16, value []byte) {
	w.block = binary.LittleEndian.AppendUint16(w.block, code)
	w.block = binary.LittleEndian.AppendUint16(w.block, uint16(len(value)))
	w.padded(value)
}

// end ends options and block, and writes it.
func (w *Writer) end() {
	w.block = binary.LittleEndian.AppendUint32(w.block, 0) // opt_endofopt
	length := uint32(len(w.block) + 4)
	binary.LittleEndian.PutUint32(w.block[4:], length)
	w.block = binary.LittleEndian.AppendUint32(w.block, length)
	if w.failed == nil {
		_, w.failed = w.out.Write(w.block)
	}
}
