package capture

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

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

// A Writer writes a pcapng file: one section, Ethernet interfaces, stamps in nanoseconds. It streams, and
// repeats itself to the byte: nothing in a file depends on the machine or the hour.
//
// Every frame carries the number of its packet (epb_packetid), which is the same wherever the packet is seen, and
// its direction (epb_flags).
type Writer struct {
	out    *pcapgo.NgWriter
	limits Limits
	frames uint64
	failed error
	flags  pcapgo.NgEpbFlags
	packet uint64
}

// NewWriter writes the head of a file: the program that made it, what the file holds, and its interfaces, which
// frames name by index.
func NewWriter(file io.Writer, program, comment string, ports []Port, limits Limits) (*Writer, error) {
	if len(ports) == 0 {
		return nil, errors.New("a capture without interfaces")
	}
	describe := func(p Port) pcapgo.NgInterface {
		return pcapgo.NgInterface{Name: p.Name, Description: p.Description, LinkType: layers.LinkTypeEthernet, SnapLength: uint32(limits.Snap)}
	}
	const longest = 1<<16 - 1 // bytes of a text in the file
	section := pcapgo.NgSectionInfo{Application: program, Comment: comment[:min(len(comment), longest)]}
	out, err := pcapgo.NewNgWriterInterface(bufio.NewWriterSize(file, 1<<16), describe(ports[0]), pcapgo.NgWriterOptions{SectionInfo: section})
	if err != nil {
		return nil, err
	}
	for _, p := range ports[1:] {
		if _, err := out.AddInterface(describe(p)); err != nil {
			return nil, err
		}
	}
	return &Writer{out: out, limits: limits}, nil
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
	w.packet = packet
	w.flags.Direction = [...]pcapgo.NgEpbFlag{pcapgo.NgEpbFlagDirectionUnknown, pcapgo.NgEpbFlagDirectionInbound, pcapgo.NgEpbFlagDirectionOutbound}[way]
	info := gopacket.CaptureInfo{Timestamp: time.Unix(0, int64(at/instant.Nanosecond)), InterfaceIndex: port, CaptureLength: len(kept), Length: len(frame)}
	w.failed = w.out.WritePacketWithOptions(info, kept, pcapgo.NgPacketOptions{Comments: comments, Flags: &w.flags, PacketID: &w.packet})
}

// Flush writes what is buffered, and returns the first error of the file.
func (w *Writer) Flush() error {
	if w.failed != nil {
		return w.failed
	}
	return w.out.Flush()
}
