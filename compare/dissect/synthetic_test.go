package dissect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/capture"
	roce "github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/wire"
	"github.com/weft-transport/weft/transport/wire/encap"
)

// A film is a capture that a test makes.
type film struct {
	t    testing.TB
	file bytes.Buffer
	out  *pcapgo.NgWriter
	now  time.Time
}

func newFilm(t testing.TB, links ...capture.LinkType) *film {
	f := &film{t: t, now: time.Unix(1000, 0)}
	for i, link := range links {
		port := pcapgo.NgInterface{Name: fmt.Sprintf("if%d", i), LinkType: layers.LinkType(link), SnapLength: 0}
		var err error
		if i == 0 {
			f.out, err = pcapgo.NewNgWriterInterface(&f.file, port, pcapgo.NgWriterOptions{})
		} else {
			_, err = f.out.AddInterface(port)
		}
		require.NoError(t, err)
	}
	return f
}

// shoot adds a frame, a microsecond after the one before; cut bytes of it are not kept.
func (f *film) shoot(port int, frame []byte, cut int, comments ...string) {
	f.now = f.now.Add(time.Microsecond)
	info := gopacket.CaptureInfo{Timestamp: f.now, InterfaceIndex: port, CaptureLength: len(frame) - cut, Length: len(frame)}
	require.NoError(f.t, f.out.WritePacketWithOptions(info, frame[:len(frame)-cut], pcapgo.NgPacketOptions{Comments: comments}))
}

func (f *film) dump(print Printer) (string, *Dump) {
	require.NoError(f.t, f.out.Flush())
	d := newDump(print)
	text, err := dump(f.t, f.file.Bytes(), d)
	require.NoError(f.t, err)
	return text, d
}

var hostA, hostB = netip.MustParseAddr("10.1.0.1"), netip.MustParseAddr("10.1.0.2")

type putter interface{ Put([]byte) int }

// packet makes a whole IP datagram of headers and payload, with CRC.
func packet(kind encap.Kind, src, dst netip.Addr, class encap.Class, payload int, headers ...putter) []byte {
	b := make([]byte, 200+payload)
	h := encap.Default.Make(kind, src, dst, class, 0xabcd)
	n := h.Size()
	at := n
	for _, x := range headers {
		at += x.Put(b[at:])
	}
	at += payload + wire.CRCSize
	h.Put(b, at-n)
	h.PutCRC(b[:at], wire.MostFirst)
	return b[:at]
}

// request is a RUD request of A's PDC 7, psn counted from its start.
func request(psn uint32, flags wire.RequestFlags) *wire.Request {
	r := &wire.Request{Type: wire.TypeRUD, Next: wire.NextStandard, Flags: flags, ClearOffset: -1, PSN: 1000 + psn, SPDCID: 7, DPDCID: 9}
	if flags&wire.RequestSyn != 0 {
		r.PSNOffset = uint16(psn)
	}
	return r
}

func write(id uint16, flags wire.SESFlags, at, part, length uint32) *wire.Standard {
	s := &wire.Standard{Opcode: wire.OpWrite, Flags: wire.SESRelative | flags, MessageID: id, RequestLength: length}
	if flags&wire.SESStart == 0 {
		s.PayloadLength, s.MessageOffset = uint16(part), at
	}
	return s
}

const whole = wire.SESStart | wire.SESEnd

func ack(cumulative, offset int) *wire.Ack {
	return &wire.Ack{CumPSN: uint32(1000 + cumulative), Offset: int16(offset), SPDCID: 9, DPDCID: 7}
}

// behind puts a link header in front of a datagram.
func behind(head string, datagram []byte) []byte { return append([]byte(head), datagram...) }

const macs = "\x02\x00\x00\x00\x00\x0b\x02\x00\x00\x00\x00\x0a"

// Every link type leads to the same packet.
func TestLinkTypes(t *testing.T) {
	data := packet(encap.UETUDP, hostA, hostB, encap.DefaultRules.Data(), 100, request(0, wire.RequestSyn), write(1, whole, 0, 0, 100))
	for _, c := range []struct {
		link capture.LinkType
		head string
		tags int
	}{
		{capture.LinkEthernet, macs + "\x08\x00", 0},
		{capture.LinkEthernet, macs + "\x81\x00\xa0\x05\x08\x00", 1},
		{capture.LinkEthernet, macs + "\x88\xa8\x00\x07\x81\x00\x60\x09\x08\x00", 2},
		{capture.LinkRaw, "", 0}, {capture.LinkIPv4, "", 0}, {capture.LinkRawBSD, "", 0},
		{capture.LinkSLL, "\x00\x00\x00\x01\x00\x06\x02\x00\x00\x00\x00\x0a\x00\x00\x08\x00", 0},
		{capture.LinkSLL, "\x00\x00\x00\x01\x00\x06\x02\x00\x00\x00\x00\x0a\x00\x00\x81\x00\x00\x05\x08\x00", 1},
		{capture.LinkSLL2, "\x08\x00\x00\x00\x00\x00\x00\x03\x00\x01\x00\x06\x02\x00\x00\x00\x00\x0a\x00\x00", 0},
		{capture.LinkNull, "\x02\x00\x00\x00", 0}, {capture.LinkLoop, "\x00\x00\x00\x02", 0},
	} {
		var p Packet
		f := &capture.Frame{Interface: &capture.Interface{Link: c.link}, Data: behind(c.head, data), Length: len(c.head) + len(data)}
		(&Decoder{Config: encap.Default}).Decode(f, &p)
		require.Equal(t, UET, p.Kind, "%v: %s", c.link, p.Other)
		require.Equal(t, Good, p.Check, c.link)
		require.Equal(t, 100, p.Payload)
		require.Len(t, p.Link.Tags, c.tags)
		for n := range f.Data { // cut anywhere, it is said and not read beyond
			short := *f
			short.Data = f.Data[:n:n]
			(&Decoder{Config: encap.Default}).Decode(&short, &p)
			require.False(t, p.Kind == UET && p.Check == Good, "%v cut to %d bytes", c.link, n)
			_ = p.layers()
		}
	}
}

// The story of a PDC on two interfaces: opened, marked, trimmed, sent again, snapped, acknowledged, copied, closed,
// with what is neither in between. The golden file shows how each is told.
func story(t testing.TB) *film {
	f := newFilm(t, capture.LinkEthernet, capture.LinkRaw)
	data := encap.MakeClass(encap.CS0, encap.ECT0)
	eth := func(datagram []byte) []byte { return behind(macs+"\x08\x00", datagram) }
	first := packet(encap.UETUDP, hostA, hostB, data, 1024, request(0, wire.RequestSyn), write(1, wire.SESStart, 0, 0, 2048))
	second := packet(encap.UETUDP, hostA, hostB, encap.MakeClass(encap.CS0, encap.CE), 1024, request(1, wire.RequestSyn|wire.RequestAR), write(1, wire.SESEnd, 1024, 1024, 2048))
	f.shoot(0, eth(first), 0)
	cut := bytes.Clone(second[:28+16])
	h, _ := encap.Parse(second, &encap.Default)
	h.Class, h.Missing = encap.MakeClass(capture.Rules.Trimmed, encap.ECT0), len(second)-len(cut)
	h.Put(cut, 16)
	f.shoot(0, eth(cut), 0, "trimmed at leaf 1: queue full")
	f.shoot(0, eth(packet(encap.UETUDP, hostB, hostA, encap.DefaultRules.Answers(), 0, &wire.Nack{Code: wire.NackTrimmed, PSN: 1001, SPDCID: 9, DPDCID: 7})), 0)
	again := packet(encap.UETUDP, hostA, hostB, encap.MakeClass(encap.CS0, encap.CE), 1024, request(1, wire.RequestSyn|wire.RequestRetx|wire.RequestAR), write(1, wire.SESEnd, 1024, 1024, 2048))
	f.shoot(0, eth(again), 0, "marked CE at leaf 1", "and seen")
	f.shoot(0, eth(first), 1000)
	f.shoot(0, eth(packet(encap.UETUDP, hostB, hostA, encap.DefaultRules.Answers(), 0,
		&wire.AckCC{Ack: wire.Ack{Flags: wire.AckMarked, CumPSN: 1001, SPDCID: 9, DPDCID: 7}, MPR: 8, ServiceTime: 4, RcvdBytes: 8, Sack: 1})), 0)
	f.shoot(1, first, 0)
	f.shoot(1, packet(encap.UETNative, hostA, hostB, data, 64, request(1, 0), &wire.Standard{Opcode: wire.OpAtomic, Flags: whole, RequestLength: 8}, &wire.Atomic{Op: wire.AtomicSum, DataType: wire.TypeUint64}), 0)
	f.shoot(0, eth(first[:60]), 0)
	f.shoot(0, behind(macs+"\x08\x06", make([]byte, 28)), 0)
	tcp := bytes.Clone(first)
	tcp[9] = 6
	f.shoot(0, eth(tcp), 0)
	f.shoot(0, behind(macs+"\x08\x00", []byte{0x45, 0, 0}), 0)
	f.shoot(0, eth(packet(encap.UETUDP, hostA, hostB, encap.DefaultRules.Answers(), 0, &wire.Control{Control: wire.ControlProbe, Opaque: 0xbeef, SPDCID: 7, DPDCID: 9, Payload: 1002})), 0)
	f.shoot(0, eth(packet(encap.UETUDP, hostA, hostB, encap.DefaultRules.Answers(), 0, &wire.Control{Control: wire.ControlClose, Flags: wire.ControlAR, PSN: 1002, SPDCID: 7, DPDCID: 9})), 0)
	f.shoot(0, eth(packet(encap.UETUDP, hostB, hostA, encap.DefaultRules.Answers(), 0, ack(1, 1))), 0)
	v6 := [2]netip.Addr{netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2")}
	f.shoot(1, packet(encap.UETUDP, v6[0], v6[1], data, 32, &wire.RUDI{Type: wire.TypeRUDI, Next: wire.NextSmall, PacketID: 5}, &wire.Small{Opcode: wire.OpWrite, RequestLength: 32}), 0)
	f.shoot(1, packet(encap.UETUDP, v6[0], v6[1], data, 0, &wire.Request{Type: wire.TypeRUDCC, Next: wire.NextMedium, Flags: wire.RequestSyn, PSN: 1, SPDCID: 3, CCC: 2, CreditTarget: 100},
		&wire.Medium{Opcode: wire.OpRead, RequestLength: 77, Key: 5}), 0)
	f.shoot(1, packet(encap.UETUDP, v6[1], v6[0], data, 0, &wire.NackCCX{Nack: wire.Nack{Code: wire.NackNoPDC, PSN: 1, DPDCID: 3}, CCType: 14, State: [2]uint64{1, 2}}), 0)
	f.shoot(1, packet(encap.UETUDP, v6[1], v6[0], data, 0, &wire.AckCCX{AckCC: wire.AckCC{Ack: wire.Ack{CumPSN: 1, SPDCID: 4, DPDCID: 3}}, State: [2]uint64{3, 4}}), 0)
	f.shoot(1, packet(encap.UETUDP, v6[0], v6[1], data, 0, &wire.Request{Type: wire.TypeROD, Next: wire.NextStandard, PSN: 2, SPDCID: 3, DPDCID: 4},
		&wire.Standard{Opcode: wire.OpRendezvousSend, Flags: whole, RequestLength: 1 << 20}, &wire.Rendezvous{ReadKey: 9, ReadOffset: 8}), 0)
	return f
}

func TestStory(t *testing.T) {
	text, d := story(t).dump(&Lines{})
	golden(t, "story", text+"\n"+summary(d))
	require.EqualValues(t, map[string]int64{"ARP": 1, "TCP": 1, "IP: short": 1}, d.Totals.Others)
	require.EqualValues(t, 1, d.Totals.Snapped)
	require.EqualValues(t, 1, d.Totals.Trimmed)
	require.EqualValues(t, 2, d.Totals.Commented)
}

// Headers of RoCE v2 that the kernel's captures do not have.
func rare(t testing.TB) *film {
	f := newFilm(t, capture.LinkRaw)
	for _, h := range []roce.Header{
		roce.CNP(0x11),
		{BTH: roce.BTH{Opcode: roce.Flush, DestQP: 5, PSN: 1}, Flush: 0x11},
		{BTH: roce.BTH{Opcode: roce.SendOnlyInvalidate, DestQP: 5, PSN: 2, PKey: 7}, Immediate: 9},
		{BTH: roce.BTH{Opcode: roce.Acknowledge, DestQP: 6, PSN: 2}, AETH: roce.AETH{Syndrome: 5, MSN: 1}},
		{BTH: roce.BTH{Opcode: roce.Acknowledge, DestQP: 6, PSN: 2}, AETH: roce.AETH{Syndrome: roce.NakSelective, MSN: 1}, Selective: roce.Selective{Flags: roce.FlagMap, Base: 3, Bitmap: 5}},
		{BTH: roce.BTH{Opcode: roce.DatagramSendImmediate, DestQP: 8}, DETH: roce.DETH{QKey: 1, SourceQP: 2}, Immediate: 3},
		{BTH: roce.BTH{Opcode: 0x47, DestQP: 8}},
	} {
		b := make([]byte, 28, 200)
		e := encap.Default.Make(encap.RoCE, hostA, hostB, 0, 0xc000)
		b = h.Append(b, roce.Standard)
		e.Put(b[:cap(b)], len(b)-28+roce.ICRCSize)
		b, ok := roce.AppendICRC(b)
		require.True(t, ok)
		f.shoot(0, b, 0)
	}
	return f
}

func TestRareHeaders(t *testing.T) {
	film := rare(t)
	text, d := film.dump(&Lines{})
	golden(t, "rare", text+"\n"+summary(d))
}

// Every key that JSON has is documented, and every documented key is one that JSON can have.
func TestKeys(t *testing.T) {
	documented := map[string]bool{}
	for _, k := range Keys {
		for _, key := range k.Keys {
			for _, word := range regexp.MustCompile(`[a-z_]+`).FindAllString(key.Name+" "+key.Doc, -1) {
				documented[word] = true
			}
		}
	}
	used := map[string]bool{}
	var walk func(v any, under string)
	walk = func(v any, under string) {
		switch v := v.(type) {
		case map[string]any:
			for k, inside := range v {
				if under != "types" && under != "others" && under != "reasons" {
					require.True(t, documented[k], "key %q below %q is not documented", k, under)
					used[k] = true
				}
				walk(inside, k)
			}
		case []any:
			for _, inside := range v {
				walk(inside, under)
			}
		}
	}
	documented["kind"], documented["context"] = true, true
	views := []*film{story(t), rare(t)}
	texts := []string{}
	for _, f := range views {
		text, d := f.dump(&JSON{})
		texts = append(texts, text+jsonSummary(d))
	}
	for _, path := range []string{uetCaptures + "60-probe-target.pcap", uetCaptures + "37-tss-cluster-ipv6.pcap", uetCaptures + "31-tss-direct-ssi.pcap", uetCaptures + "15-rudi-write.pcap",
		uetCaptures + "08-rud-read-small-in-ack.pcap", roceCaptures + "rc-rnr.pcap", roceCaptures + "rc-atomic.pcap", roceCaptures + "rc-read.pcap"} {
		d := newDump(&JSON{})
		text, err := dump(t, read(t, path), d)
		require.NoError(t, err)
		texts = append(texts, text+jsonSummary(d))
	}
	for _, text := range texts {
		for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
			require.Regexp(t, `^\{"kind":"(uet|roce|context|totals)"`, line)
			var v map[string]any
			require.NoError(t, json.Unmarshal([]byte(line), &v), line)
			walk(v, "")
		}
	}
	for _, key := range []string{"vlan", "udp_checksum", "credit", "restore_cwnd", "rcvd_bytes", "features", "request_psn", "broken"} {
		delete(documented, key) // in none of these captures
	}
	for _, k := range Keys[:1] {
		for _, key := range k.Keys {
			names := key.Name
			if strings.Contains(names, ".") {
				names = key.Doc
			}
			for _, word := range regexp.MustCompile(`[a-z]+(_[a-z]+)+`).FindAllString(names, -1) {
				require.True(t, used[word] || !documented[word], "documented key %q is never there", word)
			}
		}
	}
}

// What cannot be read to its header is still a line, with the reason.
func TestUnreadable(t *testing.T) {
	f := newFilm(t, capture.LinkRaw)
	b := packet(encap.UETUDP, hostA, hostB, 0, 10, request(0, wire.RequestSyn), write(1, whole, 0, 0, 10))
	b[25]-- // UDP length
	f.shoot(0, b, 0)
	r := bytes.Clone(b)
	r[22], r[23] = byte(encap.RoCEPort>>8), byte(encap.RoCEPort&0xff)
	f.shoot(0, r, 0)
	f.shoot(0, packet(encap.UETUDP, hostA, hostB, 0, 0), 0)
	f.shoot(0, packet(encap.UETUDP, hostA, hostB, 0, 30, &wire.RUDI{Type: 31, PacketID: 1}), 0)
	f.shoot(0, packet(encap.UETNative, hostA, hostB, 0, 5, &wire.TSS{Domain: 1}), 0)
	text, d := f.dump(&Lines{NoHead: true})
	lines := strings.Split(text, "\n")
	for i, want := range []string{"UET        malformed: IP or UDP: bad length", "RoCE       malformed: IP or UDP: bad length", "UET        malformed: ends before its PDS header",
		"31         malformed: packet type 31 is reserved", "malformed: 21 bytes are too few for a security header and an ICV"} {
		require.Contains(t, lines[i], want)
	}
	require.EqualValues(t, 5, d.Totals.Malformed)
	_, d = f.dump(&Tree{})
	require.EqualValues(t, 5, d.Totals.Printed)
}

// In files that number packets, each sighting names the first one. At hosts each interface has its view; at links,
// where directions are not told and each interface sees a part, there is one view, without gaps.
func TestSightings(t *testing.T) {
	for _, atLinks := range []bool{false, true} {
		f := newFilm(t, capture.LinkRaw, capture.LinkRaw, capture.LinkRaw)
		frames := [3][]byte{}
		for i := range frames {
			frames[i] = packet(encap.UETUDP, hostA, hostB, 0, 10, request(uint32(i), wire.RequestSyn), write(uint16(i), whole, 0, 0, 10))
		}
		for _, s := range []struct {
			port int
			id   uint64
		}{{0, 0}, {0, 1}, {1, 1}, {0, 2}, {2, 0}, {1, 2}, {2, 2}} {
			f.now = f.now.Add(time.Microsecond)
			flags := pcapgo.NgEpbFlags{Direction: pcapgo.NgEpbFlagDirectionInbound}
			if atLinks {
				flags.Direction = pcapgo.NgEpbFlagDirectionUnknown
			}
			b := frames[s.id]
			require.NoError(t, f.out.WritePacketWithOptions(gopacket.CaptureInfo{Timestamp: f.now, InterfaceIndex: s.port, CaptureLength: len(b), Length: len(b)}, b,
				pcapgo.NgPacketOptions{PacketID: &s.id, Flags: &flags}))
		}
		text, d := f.dump(&Lines{})
		require.Contains(t, text, "[same packet as frame 2, 1.00 us later")
		require.Contains(t, text, "[same packet as frame 1, 4.00 us later")
		if s := flows(d); atLinks {
			require.Len(t, d.Tracker.Contexts(), 1)
			require.EqualValues(t, []int64{3, 0, 0, 0}, []int64{s.Packets, s.Gaps, s.Copies, s.Again})
		} else {
			require.Len(t, d.Tracker.Contexts(), 3)
			require.EqualValues(t, []int64{7, 2}, []int64{s.Packets, s.Gaps})
		}
	}
}

// Headers that the capture cut are no fault of the packet: it is said what is there, and nothing is followed.
func TestCutHeaders(t *testing.T) {
	data := packet(encap.UETUDP, hostA, hostB, encap.DefaultRules.Data(), 100, request(0, wire.RequestSyn), write(1, whole, 0, 0, 100))
	for _, c := range []struct {
		kept      int
		snapped   bool
		malformed string
		note      string
	}{
		{kept: 64, snapped: true, note: "captured 64 of 188 bytes: REQUEST_STD ends after 24 of 44 bytes"},
		{kept: 34, snapped: true, note: "captured 34 of 188 bytes: RUD_REQ ends after 6 of 12 bytes of its header"},
		{kept: 96, snapped: true, note: "captured 96 of 188 bytes"},
		{kept: 64, malformed: "REQUEST_STD ends after 24 of 44 bytes", note: "124 bytes that the lengths promise are not there"},
	} {
		f := &capture.Frame{Interface: &capture.Interface{Link: capture.LinkRaw}, Data: data[:c.kept], Length: c.kept}
		if c.snapped {
			f.Length = len(data)
		}
		d := newDump(nil)
		var p Packet
		d.Decoder.Decode(f, &p)
		d.Tracker.Follow(&p)
		d.Totals.add(&p)
		require.Equal(t, c.malformed, p.Malformed)
		require.Equal(t, c.note, p.Notes[0].Text)
		require.Equal(t, c.malformed != "", d.Totals.Malformed == 1)
		require.Equal(t, c.kept == 96, p.Context != nil)
	}
}
