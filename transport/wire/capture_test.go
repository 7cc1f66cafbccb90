package wire_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/capture"
	"github.com/weft-transport/weft/compare/capture/elsewhere"
	. "github.com/weft-transport/weft/transport/wire"
	"github.com/weft-transport/weft/transport/wire/encap"
)

// wrong lists the frames of the known captures, counted from 1, whose CRC is wrong on purpose: the first has a flipped
// trailer, the second has none.
var wrong = map[string][]int{"60-probe-target": {84, 85}}

// complaints lists what is refused on purpose in them: an SES header of version 1, and a control packet of type 12.
var complaints = map[string]map[Reason]int{"60-probe-target": {BadVersion: 1, BadControl: 1}}

// A conversation is one capture file: its frames from the IP header on, nil for those that hold no IP, and for
// those that are not there as a whole.
type conversation struct {
	name   string
	frames [][]byte
}

// conversations reads all captures of a directory.
func conversations(t testing.TB, dir string) (all []conversation) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.pcap*"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "%s holds no captures", dir)
	for _, path := range files {
		file, err := os.Open(path)
		require.NoError(t, err)
		r, err := capture.NewReader(file)
		require.NoError(t, err, path)
		c := conversation{name: strings.Split(filepath.Base(path), ".")[0]}
		var f capture.Frame
		for err = r.Next(&f); err == nil; err = r.Next(&f) {
			if f.Snapped() { // nobody can write it again
				c.frames = append(c.frames, nil)
				continue
			}
			c.frames = append(c.frames, bytes.Clone(f.Datagram()))
		}
		require.ErrorIs(t, err, io.EOF, path)
		require.NoError(t, file.Close())
		all = append(all, c)
	}
	return all
}

// A seen is one frame of a capture, as this package and package encap read it.
type seen struct {
	ip  encap.Header
	why encap.Reason
	p   Packet
	bad Reason
}

func read(d []byte) (s seen) {
	if s.ip, s.why = encap.Parse(d, &encap.Default); s.why == encap.OK && s.ip.Kind.IsUET() {
		order := MostFirst
		if s.ip.CheckCRC(d, LeastFirst) {
			order = LeastFirst
		}
		s.bad = s.p.Parse(d[s.ip.Payload:s.ip.End], order)
	}
	return s
}

// A tally counts what a conversation holds.
type tally struct {
	uet, checked int
	bad          []int // frames with a wrong CRC
	complaints   map[Reason]int
	orders       map[CRCOrder]int // of the trailers
	headers      map[string]int
}

// readBack reads every UET frame of a conversation, writes it again byte for byte from what was read, and checks its CRC.
// Only a capture that is not known may have reserved bits set, which do not come back.
func readBack(t *testing.T, c conversation, strict bool) tally {
	sum := tally{complaints: map[Reason]int{}, orders: map[CRCOrder]int{}, headers: map[string]int{}}
	for i, d := range c.frames {
		s := read(d)
		if d == nil || s.why == encap.OtherProtocol || s.why == encap.OtherPort || s.ip.Kind == encap.RoCE {
			continue // no UET: what asks for neighbours, and probes of other ports
		}
		what := fmt.Sprintf("%s frame %d: %v %+v", c.name, i+1, s.p.Type, s.ip)
		require.Equal(t, encap.OK, s.why, what)
		require.NotZero(t, s.p.Has&(HasPDS|HasTSS), "%s: %v", what, s.bad)
		sum.uet++
		if s.bad != OK {
			sum.complaints[s.bad]++
		}
		again := make([]byte, s.ip.Size()+MaxHeaders+len(d))
		n := s.ip.Put(again, s.p.End)
		n += s.p.Put(again[n:], d[s.ip.Payload+s.p.Payload:s.ip.Payload+s.p.Trailer])
		if strict {
			require.Equal(t, d[:s.ip.End], again[:n], what)
		} else {
			requireSame(t, d[:s.ip.End], again[:n], packetReserved(&s.p, d[s.ip.Payload:s.ip.End]), what)
		}
		count(sum.headers, &s.p)
		if s.p.Has&HasTSS != 0 {
			require.Equal(t, HasTSS, s.p.Has, what)
			continue
		}
		sum.checked++
		sum.orders[s.p.Order]++
		right := append([]byte(nil), d...)
		require.True(t, s.ip.PutCRC(right, s.p.Order), what)
		require.Equal(t, s.ip.CheckCRC(d, s.p.Order), bytes.Equal(d, right), what)
		if !bytes.Equal(d, right) {
			sum.bad = append(sum.bad, i+1)
		}
	}
	t.Logf("%s: %d UET frames of %d, %d with CRC, %v, wrong in frames %v; complaints %v", c.name, sum.uet, len(c.frames), sum.checked, sum.orders, sum.bad, sum.complaints)
	return sum
}

// Every UET frame of the provider is read and written again byte for byte, and its CRC holds (most significant byte
// first).
func TestCaptures(t *testing.T) {
	all := conversations(t, "testdata")
	require.Len(t, all, 36)
	headers, uet, checked := map[string]int{}, 0, 0
	for _, c := range all {
		sum := readBack(t, c, true)
		require.Equal(t, wrong[c.name], sum.bad, "%s: frames with a wrong CRC", c.name)
		if want := complaints[c.name]; want != nil {
			require.Equal(t, want, sum.complaints, c.name)
		} else {
			require.Empty(t, sum.complaints, c.name)
		}
		require.Zero(t, sum.orders[LeastFirst], c.name)
		uet, checked = uet+sum.uet, checked+sum.checked
		for k, n := range sum.headers {
			headers[k] += n
		}
	}
	require.Equal(t, 410, uet)
	require.Equal(t, 372, checked)
	for _, want := range []string{"RUD_REQ", "ROD_REQ", "RUDI_REQ", "RUDI_RESP", "UUD_REQ", "ACK", "ACK_CC", "NACK", "CP", "TSS", "RUD_CC_REQ",
		"REQUEST_STD", "REQUEST_MEDIUM", "REQUEST_SMALL", "RESPONSE", "RESPONSE_DATA", "atomic", "compare and swap"} {
		require.NotZero(t, headers[want], want)
	}
}

// further returns the conversations that are elsewhere (pcap or pcapng, packed or not); none if nothing is.
func further(t *testing.T) []conversation {
	if dir := elsewhere.Dir("uet"); dir != "" {
		return conversations(t, dir)
	}
	return nil
}

func TestFurtherCaptures(t *testing.T) {
	all := further(t)
	if all == nil {
		t.Skip("WEFT_CAPTURES is not set")
	}
	for _, c := range all {
		sum := readBack(t, c, false)
		if known, ok := wrong[c.name]; ok {
			known = slices.DeleteFunc(slices.Clone(known), func(n int) bool { return c.frames[n-1] == nil })
			require.ElementsMatch(t, known, sum.bad, "%s: frames with a wrong CRC", c.name)
		} else if !strings.Contains(c.name, "probe") && !strings.Contains(c.name, "corrupt") {
			require.Empty(t, sum.bad, "%s: frames with a wrong CRC; a file that has some on purpose says probe or corrupt in its name", c.name)
		}
	}
}

// requireSame demands that a packet came back as it was but for reserved bits, given for what is behind the encapsulation.
func requireSame(t *testing.T, want, got, reserved []byte, what string) {
	require.Len(t, got, len(want), what)
	from := len(want) - len(reserved)
	for i := range want {
		free := byte(0)
		if i >= from {
			free = reserved[i-from]
		}
		require.Zero(t, (want[i]^got[i])&^free, "%s: byte %d of\n%x became\n%x", what, i, want, got)
	}
}

// count notes which headers a packet has.
func count(headers map[string]int, p *Packet) {
	if p.Has&HasTSS != 0 {
		headers["TSS"]++
		return
	}
	headers[p.Type.String()]++
	if p.Has&HasSES != 0 {
		headers[p.Next.String()]++
	}
	if p.Has&HasExtension != 0 {
		headers[p.Extension.String()]++
	}
}

// The fields are those that another decoder has found.
func TestLadders(t *testing.T) {
	text, err := os.ReadFile("testdata/ladders.txt")
	require.NoError(t, err)
	ladders := map[string][]string{}
	name := ""
	for _, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		if after, ok := strings.CutPrefix(line, "## "); ok {
			name = after
			continue
		}
		ladders[name] = append(ladders[name], line)
	}
	all := append(conversations(t, "testdata"), further(t)...)
	compared := 0
	for _, c := range all {
		for _, line := range ladders[c.name] {
			words := strings.Fields(line)
			number, err := strconv.Atoi(words[0])
			require.NoError(t, err)
			if c.frames[number-1] == nil {
				continue // cut by the capture
			}
			s := read(c.frames[number-1])
			want, got := strings.Join(words[4:], " "), ladder(&s)
			if s.p.Has&HasTSS != 0 { // the rest is not ours to read
				want = want[:min(len(want), len(got))]
			}
			if len(line) >= 149 { // the list ends there
				got = got[:min(len(want), len(got))]
			}
			require.Equal(t, want, got, "%s frame %d", c.name, number)
			compared++
		}
	}
	require.GreaterOrEqual(t, compared, 278)
}

// ladder writes a packet as the other decoder does.
func ladder(s *seen) string {
	var b bytes.Buffer
	add := func(format string, args ...any) { fmt.Fprintf(&b, format+" ", args...) }
	if s.why != encap.OK {
		return fmt.Sprintf("not UET: IPv4 protocol %d", s.ip.Protocol)
	}
	p := &s.p
	if p.Has&HasTSS != 0 {
		x := p.TSS
		add("TSS SP=%d AN=%d SDI=%d", bit(x.HasSource), bit(x.Key), x.Domain)
		if x.HasSource {
			add("SSI=%d", x.Source)
		}
		add("TSC=%d", x.Counter)
		return b.String()
	}
	switch p.Type {
	case TypeRUD, TypeROD:
		r := p.Request
		add("%v %s psn=%d clear=%d s=%d", p.Type, flags(uint8(r.Flags), "RETX", 0x10, "AR", 8, "SYN", 4), r.PSN, r.ClearOffset, r.SPDCID)
		if r.Flags&RequestSyn != 0 {
			add("synoff=%d", r.PSNOffset)
		} else {
			add("d=%d", r.DPDCID)
		}
	case TypeAck, TypeAckCC:
		a := p.Ack.AckCC
		add("%v %s cack=%d ackoff=%+d (ack psn %d) s=%d d=%d", p.Type, flags(uint8(a.Flags), "REQ_CLEAR", 2), a.CumPSN, a.Offset, a.PSN(), a.SPDCID, a.DPDCID)
		if p.Type == TypeAckCC {
			add("mpr=%d sackoff=%+d bm=%016x cc=%d", a.MPR, a.SackOffset, a.Sack, a.CCType)
		}
	case TypeNack:
		n := p.Nack
		add("NACK %s code=%#x psn=%d s=%d d=%d payload=%d", flags(uint8(n.Flags), "RETX", 0x10), uint8(n.Code), n.PSN, n.SPDCID, n.DPDCID, n.Payload)
	case TypeControl:
		c := p.Control
		add("CP %s %s psn=%d s=%d d=%d payload=%d", strings.TrimSuffix(c.Control.String(), "_CMD"), flags(uint8(c.Flags), "RETX", 0x10, "AR", 8, "SYN", 4), c.PSN, c.SPDCID, c.DPDCID, c.Payload)
	case TypeRUDI, TypeRUDIResp:
		add("%v fl=%#x id=%d", p.Type, uint8(p.RUDI.Flags), p.RUDI.PacketID)
	case TypeUUD:
		add("UUD_REQ")
	}
	ladderSES(p, add)
	if n := p.Trailer - p.Payload; n > 0 && p.Has&HasSES != 0 && p.Next != NextMedium && p.Extension != ExtensionCompareSwap {
		add("[%dB]", n)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func ladderSES(p *Packet, add func(string, ...any)) {
	defaultResponse := func(o ResponseOp) string {
		if o == RespDefault {
			return "DEFAULT_RESPONSE"
		}
		return o.String()
	}
	optional := func(format string, value, normal uint64) {
		if value != normal {
			add(format, value)
		}
	}
	switch {
	case p.Has&HasSES == 0:
	case p.Next == NextStandard:
		s := p.Standard
		op := strings.NewReplacer("FETCHING_ATOMIC", "FETCH_ATOMIC", "DATAGRAM_SEND", "DGRAM_SEND").Replace(s.Opcode.String())
		add("%s %s msg=%d", op, flags(uint8(s.Flags), "DC", 0x20, "IE", 0x10, "REL", 8, "HD", 4, "EOM", 2, "SOM", 1), s.MessageID)
		if s.PIDOnFEP != 0 || s.ResourceIndex != 15 {
			add("pid=%d ri=%d", s.PIDOnFEP, s.ResourceIndex)
		}
		optional("off/tok=%#x", s.BufferOffset, 0)
		optional("ini=%d", uint64(s.Initiator), 16)
		optional("key/match=%#x", s.Key, 0)
		optional("hdrdata=%#x", s.HeaderData, 0)
		if s.Flags&SESStart == 0 {
			add("plen=%d moff=%d", s.PayloadLength, s.MessageOffset)
		}
		add("reqlen=%d", s.RequestLength)
		if p.Has&HasExtension != 0 {
			add("amo=%d dt=%d ctl=%d", p.Swap.Op, p.Swap.DataType, p.Swap.Semantic)
		}
	case p.Next == NextResponse:
		r := p.Response
		add("%s list=%d rc=%v msg=%d", defaultResponse(r.Op), r.List, r.Code, r.MessageID)
		if r.JobID != 1 || r.Generation != 0 {
			add("gen=%d job=%d", r.Generation, r.JobID)
		}
		add("modlen=%d", r.ModifiedLength)
	case p.Next == NextResponseData:
		r := p.ResponseData
		add("%v rc=%v msg=%d job=%d rdmsg=%d plen=%d modlen=%d moff=%d", r.Op, r.Code, r.MessageID, r.JobID, r.ReadMessageID, r.PayloadLength, r.ModifiedLength, r.MessageOffset)
	}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// flags lists the words whose bit is set: pairs of word and bit.
func flags(f uint8, pairs ...any) string {
	var set []string
	for i := 0; i < len(pairs); i += 2 {
		if int(f)&pairs[i+1].(int) != 0 {
			set = append(set, pairs[i].(string))
		}
	}
	return strings.Join(set, "+")
}
