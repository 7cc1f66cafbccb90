package dissect

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/capture"
	"github.com/weft-transport/weft/transport/wire/encap"
)

var update = flag.Bool("update", false, "write the golden files")

// Captures of others, which are testdata of the packages of their formats.
const (
	uetCaptures  = "../../transport/wire/testdata/"
	roceCaptures = "../rocev2/wire/testdata/"
)

// read returns a capture, packed or not.
func read(t testing.TB, path string) []byte {
	t.Helper()
	file, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		file, err = os.ReadFile(path + ".gz")
	}
	require.NoError(t, err)
	return file
}

func newDump(p Printer) *Dump {
	config := encap.Default
	config.DSCP = capture.Rules
	return &Dump{Decoder: Decoder{Config: config}, Tracker: NewTracker(), Printer: p}
}

// dump decodes a capture and returns what was printed.
func dump(t testing.TB, file []byte, d *Dump) (string, error) {
	t.Helper()
	in, err := capture.NewReader(bytes.NewReader(file))
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	err = d.Run(context.Background(), in, bufio.NewWriter(&text))
	return text.String(), err
}

func summary(d *Dump) string {
	var text bytes.Buffer
	out := bufio.NewWriter(&text)
	Summary(out, d, 0)
	out.Flush()
	return text.String()
}

func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "go test ./compare/dissect -update writes it")
	require.Equal(t, string(want), text, "%s: if the change is meant, go test ./compare/dissect -update", path)
}

// What people see of conversations with opens, closes, losses, refusals, reads and security.
func TestLines(t *testing.T) {
	for _, path := range []string{
		uetCaptures + "01-rud-send-open-close.pcap", uetCaptures + "09-rud-read-large.pcap", uetCaptures + "13-rud-cswap.pcap", uetCaptures + "15-rudi-write.pcap", uetCaptures + "18-ack-cc-per-pkt.pcap",
		uetCaptures + "21-target-close-req.pcap", uetCaptures + "35-tss-cluster-1rtt.pcap", uetCaptures + "42-rud-ack-loss.pcap", uetCaptures + "45-rud-reorder.pcap",
		uetCaptures + "52-client-restart-new-pdc.pcap", uetCaptures + "60-probe-target.pcap",
		roceCaptures + "rc-read.pcap", roceCaptures + "rc-rnr.pcap", roceCaptures + "rc-nak.pcap", roceCaptures + "rc-atomic.pcap", roceCaptures + "ud-send.pcap",
		roceCaptures + "ibv-rc-pingpong.pcap",
	} {
		d := newDump(&Lines{})
		text, err := dump(t, read(t, path), d)
		require.NoError(t, err)
		golden(t, strings.TrimSuffix(filepath.Base(path), ".pcap"), text+"\n"+summary(d))
	}
}

// The other ways to print, of two short captures.
func TestOtherViews(t *testing.T) {
	uet, roce := read(t, uetCaptures+"08-rud-read-small-in-ack.pcap"), read(t, roceCaptures+"rc-nak.pcap")
	for name, print := range map[string]func() Printer{
		"tree":       func() Printer { return &Tree{} },
		"json":       func() Printer { return &JSON{} },
		"narrow":     func() Printer { return &Lines{Width: 100, Relative: true, Time: "delta"} },
		"wide-utc":   func() Printer { return &Lines{Width: 160, Time: "utc"} },
		"colour":     func() Printer { return &Lines{Width: 100, Colour: true, NoHead: true} },
		"json-total": func() Printer { return nil },
	} {
		var text strings.Builder
		for _, file := range [][]byte{uet, roce} {
			d := newDump(print())
			lines, err := dump(t, file, d)
			require.NoError(t, err)
			text.WriteString(lines)
			if name == "json-total" {
				var b bytes.Buffer
				out := bufio.NewWriter(&b)
				new(JSON).Summary(out, d, "")
				out.Flush()
				text.Write(b.Bytes())
			}
		}
		golden(t, name, text.String())
	}
}

// No line is wider than asked for, and folding loses nothing but spaces.
func TestFold(t *testing.T) {
	file := read(t, uetCaptures+"60-probe-target.pcap")
	whole, err := dump(t, file, newDump(&Lines{}))
	require.NoError(t, err)
	for _, width := range []int{60, 80, 100, 160} {
		text, err := dump(t, file, newDump(&Lines{Width: width}))
		require.NoError(t, err)
		for _, line := range strings.Split(text, "\n")[1:] {
			require.LessOrEqual(t, len(line), width, line)
		}
		require.Equal(t, strings.Fields(whole), strings.Fields(text))
	}
}

func jsonSummary(d *Dump) string {
	var text bytes.Buffer
	out := bufio.NewWriter(&text)
	new(JSON).Summary(out, d, "")
	out.Flush()
	return text.String()
}
