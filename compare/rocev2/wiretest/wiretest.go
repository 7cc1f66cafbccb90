// Package wiretest reads the packet captures that the tests of the RoCE v2 baseline are held against: those in
// wire/testdata, and those in a directory of the reader's choice (WEFT_CAPTURES).
package wiretest

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/weft-transport/weft/transport/instant"
)

// A Frame is one captured Ethernet frame that holds an IP packet.
type Frame struct {
	At       instant.Time // since the first frame of the file
	Ethernet []byte       // the 14 bytes of the Ethernet header
	Datagram []byte       // from the IP header on, Ethernet padding included
}

// A Capture is one file.
type Capture struct {
	Name   string // of the file, without directory and suffix
	Frames []Frame
}

// Read reads all captures in a directory, by name: NAME.pcap and NAME.pcap.gz. If NAME exists as both, the plain
// one is read.
func Read(dir fs.FS) ([]Capture, error) {
	files, err := fs.Glob(dir, "*.pcap*")
	if err != nil {
		return nil, err
	}
	var all []Capture
	for _, file := range files { // sorted: NAME.pcap before NAME.pcap.gz
		name, packed := strings.CutSuffix(file, ".gz")
		name, ok := strings.CutSuffix(path.Base(name), ".pcap")
		if !ok || len(all) > 0 && all[len(all)-1].Name == name {
			continue
		}
		c := Capture{Name: name}
		if c.Frames, err = open(dir, file, packed); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, c)
	}
	return all, nil
}

func open(dir fs.FS, file string, packed bool) ([]Frame, error) {
	b, err := fs.ReadFile(dir, file)
	if err == nil && packed {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(b)); err == nil {
			b, err = io.ReadAll(z)
		}
	}
	if err != nil {
		return nil, err
	}
	return Frames(b)
}

// Frames takes a capture apart: pcap in little-endian order, microseconds, Ethernet, whole packets.
func Frames(file []byte) ([]Frame, error) {
	const header, record, ethernet = 24, 16, 14
	if len(file) < header || binary.LittleEndian.Uint32(file) != 0xA1B2C3D4 || binary.LittleEndian.Uint32(file[20:]) != 1 {
		return nil, fmt.Errorf("expected a little-endian pcap file with microseconds and Ethernet frames")
	}
	var frames []Frame
	var start int64 // microseconds since 1970: too many for picoseconds
	for rest := file[header:]; len(rest) > 0; {
		if len(rest) < record {
			return nil, fmt.Errorf("frame %d: cut short", len(frames))
		}
		at := int64(binary.LittleEndian.Uint32(rest))*1e6 + int64(binary.LittleEndian.Uint32(rest[4:]))
		size := int(binary.LittleEndian.Uint32(rest[8:]))
		if size < ethernet || len(rest) < record+size || size != int(binary.LittleEndian.Uint32(rest[12:])) {
			return nil, fmt.Errorf("frame %d: cut short", len(frames))
		}
		if len(frames) == 0 {
			start = at
		}
		frame := rest[record : record+size]
		frames = append(frames, Frame{At: instant.Time(at-start) * instant.Microsecond, Ethernet: frame[:ethernet], Datagram: frame[ethernet:]})
		rest = rest[record+size:]
	}
	return frames, nil
}
