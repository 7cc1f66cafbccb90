package core_test

import (
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/capture"
	"github.com/weft-transport/weft/compare/capture/elsewhere"
	"github.com/weft-transport/weft/congestion"
	. "github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/wire"
	"github.com/weft-transport/weft/transport/wire/encap"
)

// The conversations of the reference provider's captures are played again with one side replaced by an Endpoint, which
// gets the other side's packets at the times of the capture. What it answers is compared with what was answered there.
// docs/REPLAY.md lists every difference with its reason, and a difference that it does not list fails the test.

// A spoken is one UET packet of a capture.
type spoken struct {
	at      Time
	byA     bool   // by the client, 10.9.0.1
	b       []byte // without encapsulation and trailer
	p       wire.Packet
	ev      uint16
	ce      bool
	lost    bool // on the way, as far as the other side shows
	badCRC  bool
	payload []byte
}

// A dialogue is a capture.
type dialogue struct {
	name    string
	packets []spoken
}

func dialogues(t *testing.T) (all []dialogue) {
	dirs := []string{filepath.Join("..", "wire", "testdata")}
	if dir := elsewhere.Dir("uet"); dir != "" {
		dirs = append(dirs, dir)
	}
	seen := map[string]bool{}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.pcap"))
		require.NoError(t, err)
		require.NotEmpty(t, files, "no captures in %s", dir)
		for _, path := range files {
			name := strings.TrimSuffix(filepath.Base(path), ".pcap")
			if _, known := scripts[name]; known && !seen[name] {
				seen[name] = true
				all = append(all, readDialogue(t, name, path))
			}
		}
	}
	return all
}

func readDialogue(t *testing.T, name, path string) (d dialogue) {
	d.name = name
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	r, err := capture.NewReader(file)
	require.NoError(t, err)
	client := netip.MustParseAddr("10.9.0.1")
	var f capture.Frame
	var first time.Time
	for err = r.Next(&f); err == nil; err = r.Next(&f) {
		data := bytes.Clone(f.Datagram())
		h, why := encap.Parse(data, &encap.Default)
		if why != encap.OK || h.Kind != encap.UETNative {
			continue
		}
		s := spoken{byA: h.Src == client, ev: h.Entropy, ce: h.Class.ECN() == encap.CE, badCRC: !h.CheckCRC(data, wire.MostFirst)}
		if len(d.packets) == 0 {
			first = f.Time
		}
		s.at = Time(f.Time.Sub(first))*instant.Nanosecond + instant.Millisecond
		s.b = data[h.Payload : h.End-wire.CRCSize]
		s.p, _ = wire.ParsePacket(s.b, wire.CRCOff)
		s.payload = s.b[s.p.Payload:]
		d.packets = append(d.packets, s)
	}
	require.ErrorIs(t, err, io.EOF)
	return d
}

// A script is what a capture does not say by itself.
type script struct {
	rto     Time // of the client; 0: 400 ms
	ackCC   bool // ACK_CC instead of ACK
	perACK  bool // one ACK for each packet
	silent  Time // no receive before; 0: there are enough from the start
	key     uint64
	lost    map[uint32]int // PSNs from the first one on: how many transmissions did not arrive
	lostACK map[int]bool   // packets of the server that did not arrive, counted from 0
	failed  int            // messages that fail at the client
	skip    map[int]bool   // packets that are not played: they are taken here and not there, and would shift all that follows
	foreign string         // "A" or "B": that side is not one provider but a script, or two processes, and is not replaced
}

var scripts = map[string]script{
	"01-rud-send-open-close":            {},
	"02-rud-send-multipacket":           {},
	"03-rod-send-multipacket":           {},
	"04-rud-tsend":                      {},
	"05-rud-tsend-no-match-retry":       {silent: 2000 * instant.Millisecond, rto: 3 * instant.Second},
	"06-rud-write":                      {},
	"07-rud-write-imm":                  {},
	"08-rud-read-small-in-ack":          {},
	"09-rud-read-large":                 {},
	"10-rod-read-large":                 {},
	"11-rud-atomic":                     {},
	"12-rud-fetch-add":                  {},
	"13-rud-cswap":                      {},
	"14-rud-deferred-send-rtr":          {silent: 711 * instant.Millisecond},
	"15-rudi-write":                     {},
	"17-uud-send":                       {},
	"18-ack-cc-per-pkt":                 {ackCC: true, perACK: true},
	"20-rud-write-bad-key":              {key: 0x99, failed: 1},
	"21-target-close-req":               {rto: 1500 * instant.Millisecond},
	"22-close-after-each-message":       {},
	"23-prov-key-write":                 {},
	"24-coalesced-ack-20-packets":       {ackCC: true},
	"40-rud-loss-ackcc-sack":            {ackCC: true, perACK: true, lost: map[uint32]int{10: 1, 12: 1}},
	"42-rud-ack-loss":                   {lostACK: map[int]bool{1: true}},
	"44-rud-loss-nack-procg":            {lost: map[uint32]int{8: 2, 15: 1}},
	"45-rud-reorder":                    {},
	"46-rod-reorder":                    {},
	"47-close-ack-loss-nack-inv-dpdcid": {lostACK: map[int]bool{1: true}},
	"49-default-rto-5ms-total-loss":     {rto: 5 * instant.Millisecond, lost: map[uint32]int{0: 6}},
	"52-client-restart-new-pdc":         {foreign: "A"},
	"60-probe-target":                   {foreign: "A", skip: map[int]bool{48: true, 54: true, 87: true, 88: true, 89: true}},
	"62-ack-without-ses-response":       {foreign: "B", rto: 1500 * instant.Millisecond},
	"90-ipv4-length-check-bug":          {rto: 230 * instant.Millisecond, lost: map[uint32]int{2: 6}},
}

// openWindow is a controller that never holds anything back.
type openWindow struct{}

func (openWindow) OnSent(Time, int64, int64)        {}
func (openWindow) OnAck(Time, congestion.Ack)       {}
func (openWindow) OnSignal(Time, congestion.Signal) {}
func (openWindow) OnTimeout(Time)                   {}
func (openWindow) Deadline() Time                   { return Never }
func (openWindow) Window() int64                    { return 1 << 40 }
func (openWindow) Rate() int64                      { return 0 }

// A player is one replaced side.
type player struct {
	t      *testing.T
	d      *dialogue
	s      script
	e      *Endpoint
	self   Addr
	window []byte // payload of the packet in hand
	said   []spoken
	now    Time
	// PDCIDs and PSNs of the provider, and ours.
	ours, theirs map[uint16]uint16
	shift        map[uint16]uint32 // by our PDCID: our PSN minus theirs
	idOf         map[uint16]uint16 // our message id for theirs
	events       []Event
}

func (pl *player) ReadAt(_ uint32, offset uint64, dst []byte) { copy(dst, pl.window[offset:]) }

func newPlayer(t *testing.T, d *dialogue, self Addr, start uint32) *player {
	pl := &player{t: t, d: d, s: scripts[d.name], self: self, ours: map[uint16]uint16{}, theirs: map[uint16]uint16{}, shift: map[uint16]uint32{}, idOf: map[uint16]uint16{}}
	rto := pl.s.rto
	if rto == 0 {
		rto = 400 * instant.Millisecond
	}
	c := Config{Self: self, PayloadMTU: 1024, MPR: 1, JobID: 1, ResourceIndex: 15, InitiatorID: 16, OnlyRegistered: true, StartPSN: start,
		ACK: ACKConfig{Plain: !pl.s.ackCC, PerPacket: pl.s.perACK, Trigger: 16384, MinAdd: 1024}, RTO: RTOConfig{Init: rto}, ClearTime: instant.Microsecond, MessageRetry: RetryConfig{Time: 25 * instant.Millisecond},
		Unexpected:    UnexpectedConfig{Messages: 8, Bytes: -1},
		NewController: func(congestion.Path) congestion.Controller { return openWindow{} },
		Remote: func(owner Addr) Memory {
			if owner == self {
				return pl.e
			}
			return pl
		}}
	if pl.s.silent != 0 && d.name != "14-rud-deferred-send-rtr" {
		c.Unexpected.Messages = -1
	}
	e, err := New(c)
	require.NoError(t, err)
	pl.e = e
	return pl
}

// until lets the endpoint work up to a time.
func (pl *player) until(at Time) {
	for pl.e.Deadline() <= at {
		pl.now = max(pl.now, pl.e.Deadline())
		pl.e.HandleTimeout(pl.now)
		pl.drain()
	}
	pl.now = max(pl.now, at)
}

// drain notes what the endpoint wants to send.
func (pl *player) drain() {
	var out Packet
	for pl.e.Transmit(pl.now, Pull{Open: AllClasses}, &out) {
		b := append([]byte(nil), out.Header[:out.HeaderLen]...)
		payload := make([]byte, out.Payload.Length)
		pl.e.ReadAt(out.Payload.Buffer, out.Payload.Offset, payload)
		s := spoken{at: pl.now, b: append(b, payload...), ev: out.EV}
		var why wire.Reason
		s.p, why = wire.ParsePacket(s.b, wire.CRCOff)
		require.Equal(pl.t, wire.OK, why, "%x", s.b)
		s.payload = s.b[s.p.Payload:]
		pl.said = append(pl.said, s)
	}
	var buf [8]Event
	for n := pl.e.Events(buf[:]); n > 0; n = pl.e.Events(buf[:]) {
		pl.events = append(pl.events, buf[:n]...)
	}
}

// hear hands a packet of the capture to the endpoint.
func (pl *player) hear(s *spoken, b []byte) {
	n, why := wire.HeaderLen(b)
	if why != wire.OK { // what cannot be cut is handed over whole, as far as there is room
		n = min(len(b), MaxHeader)
	}
	in := Packet{From: 3 - pl.self, To: pl.self, Proto: ProtoUET, EV: s.ev, HeaderLen: uint8(n)}
	if s.ce {
		in.ECN = CE
	}
	if s.badCRC {
		in.Flags |= Corrupt
	}
	copy(in.Header[:], b[:n])
	pl.window = b[n:]
	in.Payload = Payload{Owner: in.From, Buffer: 1, Length: uint32(len(pl.window))}
	pl.e.HandlePacket(pl.now, &in)
	pl.drain()
}

// renumbered is a packet of the capture with our PDCID for the provider's, and our PSNs if there is a shift.
func (pl *player) renumbered(s *spoken) []byte {
	p := s.p
	if p.Has&wire.HasPDS == 0 {
		return s.b
	}
	swap := func(id *uint16) {
		if to, known := pl.ours[*id]; known {
			*id = to
		}
	}
	switch p.Type {
	case wire.TypeRUD, wire.TypeROD, wire.TypeRUDCC, wire.TypeRODCC:
		if p.Request.Flags&wire.RequestSyn == 0 {
			swap(&p.Request.DPDCID)
			p.Request.PSN += pl.shift[p.Request.DPDCID]
		}
		if p.Next == wire.NextResponseData {
			p.ResponseData.ReadMessageID = pl.idOf[p.ResponseData.ReadMessageID]
		}
		if p.Next == wire.NextStandard && p.Standard.Opcode == wire.OpDeferrableRTR {
			p.Standard.Key++ // our tokens begin with 1
		}
	case wire.TypeAck, wire.TypeAckCC:
		swap(&p.Ack.DPDCID)
		p.Ack.CumPSN += pl.shift[p.Ack.DPDCID]
	case wire.TypeNack:
		swap(&p.Nack.DPDCID)
		p.Nack.PSN += pl.shift[p.Nack.DPDCID]
	case wire.TypeControl:
		if p.Control.Flags&wire.ControlSyn == 0 {
			swap(&p.Control.DPDCID)
		}
	}
	b := make([]byte, wire.MaxHeaders+len(s.b))
	n := p.Put(b, s.payload)
	return b[:n]
}

// key names what two packets must have in common to be compared.
func key(p *wire.Packet) string {
	switch p.Type {
	case wire.TypeRUD, wire.TypeROD, wire.TypeRUDCC, wire.TypeRODCC:
		return fmt.Sprint("request ", p.Request.PSN)
	case wire.TypeAck, wire.TypeAckCC:
		return fmt.Sprint("ack ", p.Ack.PSN(), p.Next)
	case wire.TypeNack:
		return fmt.Sprint("nack ", p.Nack.PSN)
	case wire.TypeControl:
		if p.Control.Control == wire.ControlClear {
			return fmt.Sprint("clear ", p.Control.Payload)
		}
		return fmt.Sprint(p.Control.Control, p.Control.PSN)
	case wire.TypeRUDI, wire.TypeRUDIResp:
		return fmt.Sprint(p.Type, p.RUDI.PacketID)
	}
	return p.Type.String()
}

// A ledger counts differences, as the document says them.
type ledger map[string]int

// settle compares what was said with what the provider said.
func (l ledger) settle(mine, theirs []spoken, about func(*wire.Packet) string) (equal int) {
	byKey := map[string][]spoken{}
	for _, s := range mine {
		byKey[key(&s.p)] = append(byKey[key(&s.p)], s)
	}
	for i := range theirs {
		k := key(&theirs[i].p)
		if len(byKey[k]) == 0 {
			l["not sent: "+about(&theirs[i].p)]++
			continue
		}
		near := 0
		for n := range byKey[k] {
			if distance(byKey[k][n].at, theirs[i].at) < distance(byKey[k][near].at, theirs[i].at) {
				near = n
			}
		}
		m := byKey[k][near]
		byKey[k] = append(byKey[k][:near:near], byKey[k][near+1:]...)
		if differences(l, &m, &theirs[i]) {
			equal++
		}
	}
	for _, rest := range byKey {
		for i := range rest {
			l["sent besides: "+about(&rest[i].p)]++
		}
	}
	return equal
}

func distance(a, b Time) Time { return max(a-b, b-a) }

// differences notes in which fields two packets differ; true if in none.
func differences(l ledger, m, th *spoken) (same bool) {
	same = true
	a, b := &m.p, &th.p
	note := func(what string, x, y any) {
		if x != y {
			same = false
			l[fmt.Sprintf("%v: %s %v, theirs %v", b.Type, what, x, y)]++
		}
	}
	note("type", a.Type, b.Type)
	if a.Type != b.Type {
		return false
	}
	note("next header", a.Next, b.Next)
	switch a.Type {
	case wire.TypeRUD, wire.TypeROD:
		x, y := a.Request, b.Request
		again := x.Flags & y.Flags & wire.RequestRetx
		if again != 0 && x.ClearOffset != y.ClearOffset {
			note("clear_psn_offset of a retransmission", "refreshed", "the old one")
			x.ClearOffset = y.ClearOffset
		}
		if again != 0 && x.Flags|wire.RequestSyn == y.Flags && x.Flags&wire.RequestSyn == 0 {
			note("a retransmission after the first ACK", "in the established form", "with SYN")
			x.Flags, x.PSNOffset, x.DPDCID = y.Flags, y.PSNOffset, y.DPDCID
		}
		note("flags", x.Flags, y.Flags)
		note("clear_psn_offset", x.ClearOffset, y.ClearOffset)
		note("psn_offset", x.PSNOffset, y.PSNOffset)
		note("SPDCID", x.SPDCID, y.SPDCID)
		note("DPDCID", x.DPDCID, y.DPDCID)
	case wire.TypeAck, wire.TypeAckCC:
		x, y := a.Ack, b.Ack
		note("flags", x.Flags, y.Flags)
		note("CACK ahead by", int32(x.CumPSN-y.CumPSN), int32(0))
		note("SPDCID", x.SPDCID, y.SPDCID)
		note("DPDCID", x.DPDCID, y.DPDCID)
		if a.Type == wire.TypeAckCC {
			note("mpr", x.MPR, y.MPR)
			note("map lacks", missing(&y.AckCC, &x.AckCC), 0)
		}
	case wire.TypeNack:
		x, y := a.Nack, b.Nack
		note("code", x.Code, y.Code)
		note("flags", x.Flags, y.Flags)
		note("SPDCID", x.SPDCID, y.SPDCID)
		note("DPDCID", x.DPDCID, y.DPDCID)
		note("payload", x.Payload, y.Payload)
	case wire.TypeControl:
		note("flags", a.Control.Flags, b.Control.Flags)
		note("SPDCID", a.Control.SPDCID, b.Control.SPDCID)
		note("DPDCID", a.Control.DPDCID, b.Control.DPDCID)
		note("payload", a.Control.Payload, b.Control.Payload)
	case wire.TypeRUDI, wire.TypeRUDIResp:
		note("flags", a.RUDI.Flags, b.RUDI.Flags)
	}
	if a.Next == b.Next {
		noteSES(note, a, b)
	}
	if !bytes.Equal(m.payload, th.payload) {
		note("payload of", len(m.payload), fmt.Sprint(len(th.payload), " other bytes"))
	}
	return same
}

// missing counts the PSNs that one map names and neither map nor CACK of the other.
func missing(of, in *wire.AckCC) (n int) {
	for i := range 64 {
		if of.Sack>>i&1 == 0 {
			continue
		}
		psn := of.CumPSN + uint32(int32(of.SackOffset)) + uint32(i)
		at := psn - in.CumPSN - uint32(int32(in.SackOffset))
		if int32(psn-in.CumPSN) > 0 && (at >= 64 || in.Sack>>at&1 == 0) {
			n++
		}
	}
	return n
}

func noteSES(note func(string, any, any), a, b *wire.Packet) {
	switch a.Next {
	case wire.NextStandard:
		x, y := a.Standard, b.Standard
		note("opcode", x.Opcode, y.Opcode)
		note("SES flags", x.Flags, y.Flags)
		note("message id", x.MessageID, y.MessageID)
		note("generation", x.Generation, y.Generation)
		note("job", x.JobID, y.JobID)
		note("PIDonFEP", x.PIDOnFEP, y.PIDOnFEP)
		note("resource index", x.ResourceIndex, y.ResourceIndex)
		note("initiator", x.Initiator, y.Initiator)
		note("payload length", x.PayloadLength, y.PayloadLength)
		note("message offset", x.MessageOffset, y.MessageOffset)
		note("request length", x.RequestLength, y.RequestLength)
		note("buffer offset", x.BufferOffset, y.BufferOffset)
		note("key or match bits", x.Key, y.Key)
		note("header data", x.HeaderData, y.HeaderData)
		note("extension", a.Extension, b.Extension)
		note("atomic", a.Swap.Atomic, b.Swap.Atomic)
		note("operands", a.Swap.CompareLow<<8^a.Swap.SwapLow, b.Swap.CompareLow<<8^b.Swap.SwapLow)
	case wire.NextResponse:
		x, y := a.Response, b.Response
		note("response", x.Op, y.Op)
		note("list", x.List, y.List)
		note("return code", x.Code, y.Code)
		note("generation", x.Generation, y.Generation)
		note("message id", x.MessageID, y.MessageID)
		note("job", x.JobID, y.JobID)
		note("modified length", x.ModifiedLength, y.ModifiedLength)
	case wire.NextResponseData:
		x, y := a.ResponseData, b.ResponseData
		note("response", x.Op, y.Op)
		note("return code", x.Code, y.Code)
		note("message id", x.MessageID, y.MessageID)
		note("message id of the read", x.ReadMessageID, y.ReadMessageID)
		note("job", x.JobID, y.JobID)
		note("payload length", x.PayloadLength, y.PayloadLength)
		note("modified length", x.ModifiedLength, y.ModifiedLength)
		note("message offset", x.MessageOffset, y.MessageOffset)
	}
}

// A row is one line of the document.
type row struct {
	capture, role string
	count         int
	difference    string
}

func (r row) String() string {
	return fmt.Sprintf("| %s | %s | %d | %s |", r.capture, r.role, r.count, r.difference)
}

func rowsOf(capture, role string, l ledger) (rows []row) {
	for difference, n := range l {
		rows = append(rows, row{capture, role, n, difference})
	}
	sort.Slice(rows, func(i, k int) bool { return rows[i].difference < rows[k].difference })
	return rows
}

func TestReplay(t *testing.T) {
	document, err := os.ReadFile(filepath.Join("..", "..", "docs", "REPLAY.md"))
	require.NoError(t, err)
	listed := map[string]bool{}
	for _, line := range strings.Split(string(document), "\n") {
		cells := strings.Split(line, " | ")
		if strings.HasPrefix(line, "| ") && len(cells) == 5 {
			require.NotEmpty(t, strings.TrimSuffix(strings.TrimSpace(cells[4]), "|"), "a reason is missing: %s", line)
			listed[strings.Join(cells[:4], " | ")+" |"] = true
		}
	}
	all := dialogues(t)
	played := map[string]bool{}
	for _, d := range all {
		played[d.name] = true
		for _, role := range []string{"target", "initiator"} {
			s := scripts[d.name]
			if role == "target" && s.foreign == "B" || role == "initiator" && s.foreign == "A" {
				continue
			}
			l := ledger{}
			var equal, of int
			if role == "target" {
				equal, of = playTarget(t, &d, l)
			} else {
				equal, of = playInitiator(t, &d, l)
			}
			t.Logf("%s as %s: %d of %d packets equal", d.name, role, equal, of)
			for _, r := range rowsOf(d.name, role, l) {
				if !listed[r.String()] {
					t.Errorf("not in docs/REPLAY.md: %v reason |", r)
				}
				delete(listed, r.String())
			}
		}
	}
	for line := range listed {
		if name := strings.Split(line, " | ")[0][2:]; played[name] {
			t.Errorf("docs/REPLAY.md lists what does not differ any more: %s", line)
		}
	}
	require.GreaterOrEqual(t, len(all), 28)
}
