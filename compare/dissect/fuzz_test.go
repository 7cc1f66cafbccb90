package dissect

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-transport/weft/compare/capture"
)

// FuzzDump feeds any file to all that weft dump does: nothing panics or hangs, every frame is counted once, every
// packet of the two protocols has its line and its JSON object, and the file's mistakes are one line.
func FuzzDump(f *testing.F) {
	for _, pattern := range []string{uetCaptures + "*.pcap", roceCaptures + "*.pcap"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			f.Fatal("no captures")
		}
		for _, name := range names {
			file, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(file[:min(len(file), 4000)])
		}
	}
	for _, film := range []*film{story(f), rare(f)} {
		film.out.Flush()
		f.Add(film.file.Bytes())
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		lines, d, broken := fuzzed(t, file, &Lines{Width: 80, Relative: true, Colour: true})
		if d == nil {
			return
		}
		total := &d.Totals
		others := int64(0)
		for _, n := range total.Others {
			others += n
		}
		if total.Frames != total.UET+total.RoCE+others || total.Printed != total.UET+total.RoCE {
			t.Fatalf("%+v", *total)
		}
		if total.Printed > 0 && int64(strings.Count(lines, "\n")) < total.Printed+1 {
			t.Fatalf("%d packets on\n%s", total.Printed, lines)
		}
		if strings.Contains(broken, "\n") {
			t.Fatalf("%q", broken)
		}
		objects, again, _ := fuzzed(t, file, &JSON{})
		if n := int64(strings.Count(objects, "\n")); n != total.Printed || again.Totals.Frames != total.Frames {
			t.Fatalf("%d packets, %d objects", total.Printed, n)
		}
		for _, line := range strings.Split(strings.TrimSpace(objects+jsonSummary(again)), "\n") {
			if !json.Valid([]byte(line)) {
				t.Fatalf("not JSON: %s", line)
			}
		}
		fuzzed(t, file, &Tree{})
		out := bufio.NewWriter(io.Discard)
		Summary(out, d, 90)
		held := 0
		for _, c := range d.Tracker.Contexts() {
			for i := range c.Flows {
				held += len(c.Flows[i].slots) + len(c.Flows[i].open)
				if c.Flows[i].flying < 0 || c.Flows[i].Missing < 0 {
					t.Fatalf("%+v", c.Flows[i])
				}
			}
		}
		if held+d.Tracker.budget != maxSlots {
			t.Fatalf("%d slots and messages held, %d free of %d", held, d.Tracker.budget, maxSlots)
		}
	})
}

func fuzzed(t *testing.T, file []byte, print Printer) (text string, d *Dump, broken string) {
	in, err := capture.NewReader(bytes.NewReader(file))
	if err != nil {
		return "", nil, ""
	}
	var b bytes.Buffer
	d = newDump(print)
	if err = d.Run(context.Background(), in, bufio.NewWriter(&b)); err != nil {
		broken = err.Error()
	}
	return b.String(), d, broken
}

// Files that claim what they do not hold cost no memory and end in one error, behind what could be read.
func TestHostileFiles(t *testing.T) {
	good := read(t, uetCaptures+"01-rud-send-open-close.pcap")
	huge := append(bytes.Clone(good), make([]byte, 16)...)
	binary.LittleEndian.PutUint32(huge[len(huge)-8:], 0xfffffff0)
	binary.LittleEndian.PutUint32(huge[len(huge)-4:], 0xfffffff0)
	for name, c := range map[string]struct {
		file  []byte
		lines int
		why   string
	}{
		"4 GB frame": {huge, 5, "broken at byte 428, behind frame 4: a frame claims 4294967280 captured bytes; expected 262144 at most"},
		"cut":        {good[:len(good)-10], 4, "behind frame 3: the file is cut: a frame ends after 44 of 54 bytes"},
		"cut head":   {good[:24+178+5], 2, "behind frame 1: the file is cut: the head of a record ends after 5 of 16 bytes"},
	} {
		d := newDump(&Lines{})
		text, err := dump(t, c.file, d)
		if err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v; expected %s", name, err, c.why)
		}
		if n := strings.Count(text, "\n"); n != c.lines {
			t.Errorf("%s: %d lines; expected %d", name, n, c.lines)
		}
	}
}
