package wireshark_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/capture"
	"github.com/weft-transport/weft/compare/capture/elsewhere"
	"github.com/weft-transport/weft/transport/wire"
	"github.com/weft-transport/weft/transport/wire/encap"
)

// datagram cuts the Ethernet header and VLAN tags off a frame.
func datagram(frame []byte) []byte {
	f := capture.Frame{Interface: &capture.Interface{Link: capture.LinkEthernet}, Data: frame}
	return f.Datagram()
}

// read parses a frame, with or without a CRC of either order; nil if it is not UET.
func read(frame []byte, c *encap.Config) *seen {
	s := &seen{d: datagram(frame)}
	if s.d == nil {
		return nil
	}
	var why encap.Reason
	if s.ip, why = encap.Parse(s.d, c); why != encap.OK || !s.ip.Kind.IsUET() {
		return nil
	}
	order := wire.MostFirst
	switch {
	case s.ip.Missing > 0:
		order = wire.CRCOff
	case s.ip.CheckCRC(s.d, wire.MostFirst):
		s.crcOK = true
	case s.ip.CheckCRC(s.d, wire.LeastFirst):
		order, s.crcOK = wire.LeastFirst, true
	}
	s.bad = s.p.Parse(s.d[s.ip.Payload:s.ip.End], order)
	return s
}

// frames reads the whole frames of a capture, as Ethernet carries them.
func frames(t testing.TB, path string) (all [][]byte) {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	r, err := capture.NewReader(file)
	require.NoError(t, err, path)
	var f capture.Frame
	for err = r.Next(&f); err == nil; err = r.Next(&f) {
		d := f.Datagram()
		switch {
		case f.Snapped():
		case f.Interface.Link == capture.LinkEthernet:
			all = append(all, append([]byte(nil), f.Data...))
		case d != nil:
			all = append(all, ethernet(d))
		}
	}
	require.True(t, errors.Is(err, io.EOF), "%s: %v", path, err)
	return all
}

// captures are those of package wire, and those that are elsewhere.
func captures(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("../testdata/*.pcap")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	if dir := elsewhere.Dir("uet"); dir != "" {
		more, err := filepath.Glob(filepath.Join(dir, "*.pcap*"))
		require.NoError(t, err)
		require.NotEmpty(t, more, "%s holds no captures", dir)
		files = append(files, more...)
	}
	return files
}

// alike demands that Wireshark sees in every frame what package wire reads. It returns how many UET frames there were, and
// the fields of every frame by name, those among them that were asked for besides.
func alike(t *testing.T, file string, all [][]byte, config *encap.Config, also ...string) (count int, named []map[string]string) {
	t.Helper()
	columnsWanted, names := columnsOf(wholeColumns, pdsColumns, sesColumns)
	names = append([]string{"uet", "uet.expert.malformed", "_ws.malformed", "uet.crc.status", "icmp", "_ws.lua.error"}, names...)
	names = append(names, also...)
	rows := columns(t, file, "frame", names)
	require.Len(t, rows, len(all))
	for i, row := range rows {
		require.Empty(t, row[5], "frame %d: the dissector failed", i+1)
		named = append(named, map[string]string{})
		for j, name := range names {
			named[i][name] = row[j]
		}
		s := read(all[i], config)
		require.Equal(t, s != nil, row[0] != "" && row[4] == "", "frame %d is UET, and not what an ICMP message quotes", i+1)
		if s == nil {
			continue
		}
		count++
		malformed := s.bad != wire.OK && s.ip.Missing == 0
		require.Equal(t, malformed, row[1] != "", "frame %d, %v: uet.expert.malformed", i+1, s.bad)
		if s.ip.Missing == 0 { // else UDP complains of its length
			require.Equal(t, malformed, row[2] != "", "frame %d, %v: _ws.malformed", i+1, s.bad)
		}
		trailer := s.p.Has&wire.HasTSS == 0 && s.ip.Missing == 0
		if trailer && !s.crcOK { // whether such a packet has a trailer is a guess
			require.Contains(t, []string{"0", "3"}, row[3], "frame %d: CRC status", i+1)
			continue
		}
		require.Equal(t, trailer, row[3] == "1", "frame %d: CRC status %s", i+1, row[3])
		for j, c := range columnsWanted {
			if s.ip.Missing > 0 && !strings.HasPrefix(c.field, "uet.pds.") {
				continue // TestTrimmed knows what is left
			}
			require.Equal(t, c.want(s), row[6+j], "frame %d, %v (%v), %x: %s", i+1, s.p.Type, s.bad, s.d[s.ip.Payload:s.ip.End], c.field)
		}
	}
	return count, named
}

// TestCaptures compares every frame of the captures of the reference provider.
func TestCaptures(t *testing.T) {
	requireTshark(t)
	var all [][]byte
	for _, path := range captures(t) {
		all = append(all, frames(t, path)...)
	}
	n, _ := alike(t, writePcap(t, all), all, &encap.Default)
	require.Greater(t, n, 400)
	t.Logf("%d UET frames of %d alike", n, len(all))
}

// notes are what Wireshark says of a capture beyond its fields, one line for each frame that the filter lets through.
func notes(t *testing.T, name, filter string, fields ...string) string {
	t.Helper()
	var lines []string
	for _, row := range columns(t, filepath.Join("../testdata", name+".pcap"), filter, append([]string{"frame.number"}, fields...)) {
		lines = append(lines, strings.Join(row, " "))
	}
	return strings.Join(lines, "\n")
}

// TestNotes holds the dissector to what happened in captures, as their README tells it.
func TestNotes(t *testing.T) {
	requireTshark(t)
	for _, c := range []struct{ what, capture, filter, fields, want string }{
		{"a lost ACK: the request again, then the same answer", "42-rud-ack-loss",
			"uet.analysis.retransmission_of || uet.analysis.duplicate_ack_number", "uet.analysis.retransmission_of uet.analysis.duplicate_ack_of uet.pds.flags.retx", "5 3  1\n6  4 0"},
		{"requests know their ACKs, ACKs their requests", "09-rud-read-large",
			"frame.number >= 3 && frame.number <= 6", "uet.analysis.answered_in uet.analysis.acked_in uet.analysis.request_in uet.analysis.read_in", "3 9 9  \n4   1 \n5 8 8  1\n6   2 "},
		{"each PDC is a stream", "22-close-after-each-message", "uet.pds.flags.syn == 1 || uet.pds.ctl_type == 4", "uet.stream", "1 0\n3 0\n5 1\n7 1\n9 2\n11 2"},
		{"a restarted client opens another PDC with the same id", "52-client-restart-new-pdc", "uet", "uet.stream", "1 0\n2 0\n3 1\n4 1\n5 1\n6 1"},
		{"NACKs", "47-close-ack-loss-nack-inv-dpdcid", "uet.expert.nack || uet.expert.nack_fatal", "uet.pds.nack.code uet.analysis.request_in", "6 14 5"},
		{"two packets swapped: a gap, then what fills it", "45-rud-reorder", "uet.expert.gap || uet.expert.out_of_order", "uet.pds.psn_rel uet.analysis.missing", "19 11 1\n20 10 "},
		{"retransmissions until the end", "49-default-rto-5ms-total-loss", "uet.expert.retransmission", "uet.analysis.retransmission_of", "2 1\n3 1\n4 1\n5 1\n6 1"},
		{"RUDI answers name their requests", "15-rudi-write", "uet.pds.type == 5", "uet.analysis.request_in", "4 1\n5 2\n6 3"},
		{"the two broken trailers of the probes", "60-probe-target", "uet.crc.status != 1", "uet.crc.status", "84 0\n85 3"},
		{"the two malformed ones", "60-probe-target", "uet.expert.malformed", "uet.pds.type", "23 2\n59 11"},
	} {
		got := notes(t, c.capture, c.filter, strings.Fields(c.fields)...)
		require.Equal(t, c.want, got, "%s: %s", c.capture, c.what)
	}
}

// TestSnappedCaptures cuts the captures to the beginning of each frame, which is no fault of the packets.
func TestSnappedCaptures(t *testing.T) {
	requireTshark(t)
	for _, snap := range []int{44, 60, 90} { // 34 of Ethernet and IPv4, 4 of entropy header, 12 of ACKs and requests
		var all [][]byte
		for _, path := range captures(t) {
			all = append(all, frames(t, path)...)
		}
		fields := []string{"uet.expert.malformed", "_ws.lua.error", "uet.crc.status", "uet.pds.psn", "uet.pds.cack_psn", "uet.tss.counter", "uet.tss.icv"}
		for i, row := range columns(t, snappedPcap(t, all, snap), "frame", fields) {
			s := read(all[i], &encap.Default)
			if s == nil || s.bad != wire.OK || len(all[i]) <= snap || !s.ip.IsIPv4() {
				continue
			}
			require.Empty(t, row[0]+row[1]+row[6], "frame %d cut at %d", i+1, snap)
			if s.p.Has&wire.HasTSS == 0 {
				require.Equal(t, "2", row[2], "frame %d cut at %d: CRC status", i+1, snap)
			}
			if snap >= 54 {
				require.Equal(t, first(given(s.request(), s.p.Request.PSN), given(s.control(), s.p.Control.PSN)), row[3], "frame %d cut at %d", i+1, snap)
				require.Equal(t, given(s.ack(), s.p.Ack.CumPSN), row[4], "frame %d cut at %d", i+1, snap)
				require.Equal(t, given(s.p.Has&wire.HasTSS != 0, s.p.TSS.Counter), row[5], "frame %d cut at %d", i+1, snap)
			}
		}
	}
}
