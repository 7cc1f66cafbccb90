package dissect

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/capture/elsewhere"
)

// A known is what is known of a capture from those who made it (the tables beside the captures), and from
// counting by other means.
type known struct {
	frames              int64
	badCheck, malformed int64
	marked, other       int64
	check               func(t *testing.T, d *Dump)
}

// flows sums up all flows of a capture.
func flows(d *Dump) (sum Stats) {
	for _, c := range d.Tracker.Contexts() {
		for i := range c.Flows {
			sum.merge(&c.Flows[i].Stats)
		}
	}
	return sum
}

var roceKnown = map[string]known{
	"rc-send":  {frames: 46, check: completes(17)},
	"rc-write": {frames: 46, check: completes(17)},
	"rc-read": {frames: 33, check: func(t *testing.T, d *Dump) { // one READ was asked again
		s := flows(d)
		require.EqualValues(t, []int64{11, 1, 12}, []int64{s.Messages, s.Again, s.Packets})
	}},
	"rc-atomic": {frames: 14, check: completes(7)},
	"rc-nak": {frames: 10, check: func(t *testing.T, d *Dump) {
		require.Len(t, d.Tracker.Contexts(), 5)
		require.Equal(t, map[string]int64{"NAK remote access error": 4, "NAK remote operational error": 1}, flows(d).Reasons)
	}},
	"rc-rnr": {frames: 15, check: func(t *testing.T, d *Dump) {
		require.Equal(t, map[string]int64{"RNR NAK": 2, "NAK PSN sequence error": 2}, flows(d).Reasons)
	}},
	"rc-write-100pct-loss": {frames: 8, check: func(t *testing.T, d *Dump) {
		s := flows(d)
		require.EqualValues(t, []int64{0, 6, 0}, []int64{s.Messages, s.Again, s.Copies}, "two packets, four tries")
	}},
	"rc-write-mtu256": {frames: 105, check: completes(17)},
	"rc-write-ipv6":   {frames: 46, check: completes(17)},
	"ud-send": {frames: 8, check: func(t *testing.T, d *Dump) {
		require.Empty(t, d.Tracker.Contexts())
	}},
	"rc-write-loss1pct-veth0": {frames: 370, check: completes(40)},
	"rc-write-loss1pct-veth1": {frames: 367, check: completes(40)},
	"rc-send-loss1pct-veth0":  {frames: 416, check: completes(40)},
	"rc-send-loss1pct-veth1":  {frames: 412, check: completes(40)},
	"rc-read-loss1pct-veth0":  {frames: 397, check: completes(40)},
	"rc-write-reorder10pct-veth0": {frames: 612, check: func(t *testing.T, d *Dump) {
		s := flows(d)
		require.EqualValues(t, []int64{20, 160 + 339, 339, 16}, []int64{s.Messages, s.Packets, s.Again, s.Refusals})
	}},
	"rc-write-dup10pct-veth1": {frames: 120, check: func(t *testing.T, d *Dump) {
		s := flows(d)
		require.EqualValues(t, []int64{10, 80}, []int64{s.Messages, s.Packets - s.Again - s.Copies}, "10 messages of 8 packets")
		require.Greater(t, s.Copies, s.Again)
	}},
	"rc-write-corrupt5pct-veth0": {frames: 205, check: completes(16)},
	"rc-write-corrupt5pct-veth1": {frames: 205, badCheck: 11, check: completes(16)},
	"rc-write-red-ecn-veth1":     {frames: 180, marked: 126, check: completes(20)},
	"ibv-rc-pingpong": {frames: 12, check: func(t *testing.T, d *Dump) {
		require.Len(t, d.Tracker.Contexts(), 1, "both directions are one connection")
		c := d.Tracker.Contexts()[0]
		require.EqualValues(t, []int64{2, 2}, []int64{c.Flows[0].Messages, c.Flows[1].Messages})
	}},
	"perftest-atomic-cas": {frames: 10, check: completes(5)},
}

var uetKnown = map[string]known{
	"01-rud-send-open-close":            {frames: 4, check: closes(1, 1)},
	"02-rud-send-multipacket":           {frames: 18, check: closes(2, 1)},
	"03-rod-send-multipacket":           {frames: 12, check: closes(2, 1)},
	"04-rud-tsend":                      {frames: 6, check: closes(2, 1)},
	"05-rud-tsend-no-match-retry":       {frames: 51, check: closes(1, 1)},
	"06-rud-write":                      {frames: 8, check: closes(1, 1)},
	"07-rud-write-imm":                  {frames: 8, check: closes(1, 1)},
	"08-rud-read-small-in-ack":          {frames: 5, check: closes(1, 1)},
	"09-rud-read-large":                 {frames: 14, check: closes(1, 1)},
	"10-rod-read-large":                 {frames: 14, check: closes(1, 1)},
	"11-rud-atomic":                     {frames: 4, check: closes(1, 1)},
	"12-rud-fetch-add":                  {frames: 5, check: closes(1, 1)},
	"13-rud-cswap":                      {frames: 5, check: closes(1, 1)},
	"14-rud-deferred-send-rtr":          {frames: 69, check: closes(2, 1)},
	"15-rudi-write":                     {frames: 6, check: closes(0, 0)},
	"17-uud-send":                       {frames: 2, check: closes(0, 0)},
	"18-ack-cc-per-pkt":                 {frames: 12, check: closes(1, 1)},
	"20-rud-write-bad-key":              {frames: 5, check: closes(0, 1)},
	"21-target-close-req":               {frames: 6, check: closes(1, 0)},
	"22-close-after-each-message":       {frames: 12, check: closes(3, 3)},
	"23-prov-key-write":                 {frames: 4, check: closes(1, 1)},
	"24-coalesced-ack-20-packets":       {frames: 86},
	"26-write-160-packets-natural-loss": {frames: 429},
	"30-tss-direct":                     {frames: 4, check: closes(0, 0)},
	"31-tss-direct-ssi":                 {frames: 4},
	"32-tss-cluster":                    {frames: 4},
	"33-tss-cluster-ssi":                {frames: 4},
	"34-tss-server-ssi":                 {frames: 4},
	"35-tss-cluster-1rtt":               {frames: 6},
	"37-tss-cluster-ipv6":               {frames: 4},
	"40-rud-loss-ackcc-sack":            {frames: 36, check: closes(2, 1)},
	"42-rud-ack-loss":                   {frames: 10, check: closes(3, 1)},
	"44-rud-loss-nack-procg":            {frames: 55, check: closes(2, 1)},
	"45-rud-reorder":                    {frames: 27, check: closes(2, 1)},
	"46-rod-reorder":                    {frames: 27, check: closes(2, 1)},
	"47-close-ack-loss-nack-inv-dpdcid": {frames: 6, check: closes(1, 1)},
	"49-default-rto-5ms-total-loss":     {frames: 6, check: closes(0, 0)},
	"50-tss-cluster-loss":               {frames: 9},
	"52-client-restart-new-pdc":         {frames: 6, check: closes(1, 0)},
	"60-probe-target":                   {frames: 123, badCheck: 2, malformed: 2, marked: 1, other: 5},
	"62-ack-without-ses-response":       {frames: 8, other: 2, check: closes(2, 1)},
	"90-ipv4-length-check-bug":          {frames: 15, check: closes(0, 0)},
}

// completes expects so many messages to be complete, whatever happened to their packets.
func completes(messages int64) func(*testing.T, *Dump) {
	return func(t *testing.T, d *Dump) { require.Equal(t, messages, flows(d).Messages) }
}

// closes expects so many messages, and PDCs that were closed.
func closes(messages, closed int) func(*testing.T, *Dump) {
	return func(t *testing.T, d *Dump) {
		n := 0
		for _, c := range d.Tracker.Contexts() {
			if c.Closed > 0 {
				n++
			}
		}
		require.Equal(t, []int{messages, closed}, []int{int(flows(d).Messages), n}, "messages complete, PDCs closed")
	}
}

// TestCaptures sets what is found in captures beside what is known of them. WEFT_CAPTURES names a directory with
// folders uet and rocev2 that holds all of them; without it, those in the repository are read.
func TestCaptures(t *testing.T) {
	for _, set := range []struct {
		folder, local string
		known         map[string]known
	}{{"uet", uetCaptures, uetKnown}, {"rocev2", roceCaptures, roceKnown}} {
		for name, want := range set.known {
			t.Run(name, func(t *testing.T) {
				path := filepath.Join(set.local, name+".pcap")
				if dir := elsewhere.Dir(set.folder); dir != "" {
					path = filepath.Join(dir, name+".pcap")
				}
				file := existing(t, path)
				d := newDump(&Lines{})
				text, err := dump(t, file, d)
				require.NoError(t, err)
				got := &d.Totals
				require.Equal(t, []int64{want.frames, want.badCheck, want.malformed, want.marked, want.other},
					[]int64{got.Frames, got.BadCheck, got.Malformed, got.Marked, got.Frames - got.UET - got.RoCE},
					"frames, wrong checksums, malformed, marked, other")
				require.EqualValues(t, got.UET+got.RoCE+1, bytes.Count([]byte(text), []byte("\n")), "a line for each, and the head")
				if want.check != nil {
					want.check(t, d)
				}
			})
		}
	}
}

// existing returns a capture; one that is not here is skipped.
func existing(t *testing.T, path string) []byte {
	for _, p := range []string{path, path + ".gz"} {
		if _, err := os.Stat(p); err == nil {
			return read(t, p)
		}
	}
	t.Skipf("%s is not here; %s names where all are", filepath.Base(path), elsewhere.Variable)
	return nil
}

// Corrupt frames are printed with the verdict, and nothing of them goes into contexts.
func TestBadChecksums(t *testing.T) {
	d := newDump(&Lines{NoHead: true})
	var err error
	d.Filter, err = ParseFilter("trouble,roce")
	require.NoError(t, err)
	text, err := dump(t, read(t, roceCaptures+"rc-write-corrupt5pct-veth1.pcap"), d)
	require.NoError(t, err)
	require.Equal(t, 11, bytes.Count([]byte(text), []byte("  BAD   ")))
	require.Equal(t, 11, bytes.Count([]byte(text), []byte("\n")))

	d = newDump(&Lines{NoHead: true})
	d.Filter, err = ParseFilter("frame=84..85")
	require.NoError(t, err)
	text, err = dump(t, read(t, uetCaptures+"60-probe-target.pcap"), d)
	require.NoError(t, err)
	require.Regexp(t, `(?m)^   84 .*  BAD .*\n   85 .*  MISS `, text)
}
