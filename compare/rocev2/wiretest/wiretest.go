// Package wiretest reads the packet captures that the tests of the RoCE v2 baseline are held against: those in
// wire/testdata, and those in a directory of the reader's choice (WEFT_CAPTURES).
package wiretest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/weft-transport/weft/compare/capture"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/wire/encap"
)

// A Frame is one captured packet.
type Frame struct {
	At       instant.Time // since the first frame of the file
	Datagram []byte       // from the IP header on, Ethernet padding included
}

// A Capture is one file.
type Capture struct {
	Name   string // of the file, without directory and suffix
	Frames []Frame
}

// Read reads all captures in a directory, by name: NAME.pcap and NAME.pcapng, packed (.gz) or not; of one NAME the first
// of these. What is not RoCE v2, or not there as a whole, is passed over.
func Read(dir fs.FS) ([]Capture, error) {
	files, err := fs.Glob(dir, "*.pcap*")
	if err != nil {
		return nil, err
	}
	var all []Capture
	for _, file := range files { // sorted
		name, packing, _ := strings.Cut(path.Base(file), ".pcap")
		if !slices.Contains([]string{"", ".gz", "ng", "ng.gz"}, packing) || len(all) > 0 && all[len(all)-1].Name == name {
			continue
		}
		c := Capture{Name: name}
		if c.Frames, err = read(dir, file); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, c)
	}
	return all, nil
}

func read(dir fs.FS, name string) (frames []Frame, err error) {
	file, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r, err := capture.NewReader(file)
	if err != nil {
		return nil, err
	}
	var start int64
	var f capture.Frame
	for {
		err := r.Next(&f)
		if errors.Is(err, io.EOF) {
			return frames, nil
		}
		if err != nil {
			return nil, err
		}
		datagram := f.Datagram()
		if h, _ := encap.Parse(datagram, &encap.Default); h.Kind != encap.RoCE || f.Snapped() {
			continue
		}
		if len(frames) == 0 {
			start = f.Time.UnixNano()
		}
		frames = append(frames, Frame{At: instant.Time(f.Time.UnixNano()-start) * instant.Nanosecond, Datagram: bytes.Clone(datagram)})
	}
}
