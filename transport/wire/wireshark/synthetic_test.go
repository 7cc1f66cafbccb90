package wireshark_test

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/wire"
	"github.com/weft-transport/weft/transport/wire/encap"
)

// ethernet puts an Ethernet header in front of an IP packet.
func ethernet(ip []byte) []byte {
	frame := []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}
	kind := uint16(0x0800)
	if ip[0]>>4 == 6 {
		kind = 0x86dd
	}
	return append(binary.BigEndian.AppendUint16(frame, kind), ip...)
}

// drawn makes a packet of a type, with a next header, of random bits: every field of every header takes
// every kind of value.
func drawn(r *rand.Rand, t wire.Type, next wire.Next, payload []byte) []byte {
	raw := make([]byte, wire.MaxHeaders)
	for i := range raw {
		raw[i] = byte(r.Uint32())
	}
	binary.BigEndian.PutUint16(raw, uint16(wire.MakePrologue(t, uint8(next), uint8(r.Uint32()))))
	if t == wire.TypeTSS {
		raw[0] = byte(wire.TypeTSS)<<3 | raw[0]&7
	}
	if ses := t.Size(); next.Size() > 0 && t != wire.TypeControl {
		raw[ses+1] &= 0x3f // version 0
		if r.IntN(4) > 0 {
			raw[ses] = raw[ses]&0xc0 | byte(r.IntN(16)) // an opcode that means something
		}
	}
	var p wire.Packet
	p.Parse(raw, wire.CRCOff)
	b := make([]byte, wire.MaxHeaders+len(payload)+wire.ICVSize)
	return b[:p.Put(b, payload)]
}

// wrap sends a packet by UDP or native IP, with a trailer where there is an order.
func wrap(r *rand.Rand, kind encap.Kind, v6 bool, order wire.CRCOrder, packet []byte) []byte {
	src, dst := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	if v6 {
		src, dst = netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	}
	h := encap.Default.Make(kind, src, dst, encap.MakeClass(0, encap.ECT0), uint16(r.Uint32()))
	if order != wire.CRCOff {
		packet = append(packet[:len(packet):len(packet)], 0, 0, 0, 0)
	}
	ip := make([]byte, h.Size()+len(packet))
	copy(ip[h.Put(ip, len(packet)):], packet)
	if order != wire.CRCOff {
		h.PutCRC(ip, order)
	}
	return ethernet(ip)
}

// TestDrawnPackets compares what captures have none of: all types with all next headers, of random fields, in all
// encapsulations, with either order of the trailer.
func TestDrawnPackets(t *testing.T) {
	requireTshark(t)
	r := rand.New(rand.NewPCG(4793, 253))
	var all [][]byte
	for round := range 4 {
		for kind := range wire.Type(16) {
			for next := range wire.Next(16) {
				payload := make([]byte, r.IntN(64))
				for i := range payload {
					payload[i] = byte(r.Uint32())
				}
				packet := drawn(r, kind, next, payload)
				order := []wire.CRCOrder{wire.MostFirst, wire.LeastFirst}[r.IntN(2)]
				if kind == wire.TypeTSS {
					order = wire.CRCOff
				}
				all = append(all, wrap(r, []encap.Kind{encap.UETUDP, encap.UETNative}[round%2], round >= 2, order, packet))
			}
		}
	}
	n, _ := alike(t, writePcap(t, all), all, &encap.Default)
	require.Equal(t, len(all), n)
}

// TestTrimmed reads what a switch leaves of a packet: at least 16 bytes, and the UDP length that the packet had, or, over
// native IP, a code point alone.
func TestTrimmed(t *testing.T) {
	requireTshark(t)
	r := rand.New(rand.NewPCG(4793, 16))
	packet := unhexed(t, "118cffff0012345601010000"+"010b00010000abcd0001000200000000000010000000000700000000"+"00002a00000000000000000000000400")
	config := encap.Default
	config.DSCP.Trimmed, config.DSCP.TrimmedLastHop = 16, 18
	var all [][]byte
	for _, kind := range []encap.Kind{encap.UETUDP, encap.UETNative} {
		for left := wire.MinTrimmed; left <= len(packet); left++ {
			h := config.Make(kind, netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"), encap.MakeClass(16, encap.CE), uint16(r.Uint32()))
			h.Missing = len(packet) + 1024 + wire.CRCSize - left
			ip := make([]byte, h.Size()+left)
			copy(ip[h.Put(ip, left):], packet)
			all = append(all, ethernet(ip))
		}
	}
	fields := []string{"uet.trimmed", "uet.expert.malformed", "uet.pds.psn", "uet.ses.opcode", "uet.ses.message_id", "uet.ses.request_length", "uet.crc.status", "uet.payload", "_ws.col.Info"}
	rows := columns(t, writePcap(t, all), "frame", fields, "-o", "uet.trimmed:16,18")
	require.Len(t, rows, len(all))
	for i, row := range rows {
		length := ""
		if wire.MinTrimmed+i%(len(packet)-wire.MinTrimmed+1) == len(packet) {
			length = "1024"
		}
		require.Equal(t, []string{"1", "", "1193046", "1", "1", length, "3", ""}, row[:8], "frame %d", i+1)
		require.Contains(t, row[8], "[Trimmed]", "frame %d", i+1)
		require.Contains(t, row[8], "RUD_REQ 257→? [ar+syn] PSN=0 WRITE Msg=1", "frame %d", i+1)
	}
	first := columns(t, writePcap(t, all), "frame.number == 1", []string{"uet.trimmed"})
	require.Equal(t, [][]string{{"1"}}, first, "the UDP length says it without a preference")
}

// TestPreferences gives the dissector other ports, another protocol number, and one order of the trailer or none.
func TestPreferences(t *testing.T) {
	requireTshark(t)
	r := rand.New(rand.NewPCG(1, 2))
	probe := unhexed(t, "5b00beef00000000010102020012345900")[:wire.ControlSize]
	all := [][]byte{
		wrap(r, encap.UETUDP, false, wire.MostFirst, probe), wrap(r, encap.UETNative, false, wire.LeastFirst, probe),
		wrap(r, encap.UETUDP, true, wire.CRCOff, probe), wrap(r, encap.UETNative, true, wire.MostFirst, probe),
	}
	file := writePcap(t, all)
	status := func(options ...string) (got []string) {
		for _, row := range columns(t, file, "frame", []string{"uet.crc.status"}, options...) {
			got = append(got, row[0])
		}
		return got
	}
	require.Equal(t, []string{"1", "1", "3", "1"}, status())
	require.Equal(t, []string{"1", "0", "0", "1"}, status("-o", "uet.crc:Most significant byte first"))
	require.Equal(t, []string{"3", "3", "3", "3"}, status("-o", "uet.crc:No trailer"))
	require.Equal(t, []string{"2", "2", "2", "2"}, status("-o", "uet.check:FALSE"))
	require.Equal(t, []string{"", "1", "", "1"}, status("-o", "uet.ports:49150"))
	require.Equal(t, []string{"1", "", "3", ""}, status("-o", "uet.protocol:254"))
}

// TestAnyEntropy sends entropy values that are ports of other protocols.
func TestAnyEntropy(t *testing.T) {
	requireTshark(t)
	probe := unhexed(t, "5b00beef000000000101020200123459")
	var all [][]byte
	for ev := uint16(0); ev < 4096; ev += 7 {
		h := encap.Default.Make(encap.UETUDP, netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"), 0, ev)
		ip := make([]byte, h.Size()+len(probe))
		copy(ip[h.Put(ip, len(probe)):], probe)
		all = append(all, ethernet(ip))
	}
	for i, row := range columns(t, writePcap(t, all), "", []string{"uet.pds.probe_opaque", "uet.entropy"}) {
		require.Equal(t, []string{"48879", strconv.Itoa(7 * i)}, row)
	}
}

func unhexed(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	require.NoError(t, err)
	return b
}

// TestDamagedPackets cuts and damages packets anywhere: the dissector may call them malformed, but must not fail.
func TestDamagedPackets(t *testing.T) {
	requireTshark(t)
	r := rand.New(rand.NewPCG(3, 4))
	var all [][]byte
	for kind := range wire.Type(16) {
		for next := range wire.Next(8) {
			for range 12 {
				frame := wrap(r, []encap.Kind{encap.UETUDP, encap.UETNative}[r.IntN(2)], r.IntN(2) == 0, wire.MostFirst, drawn(r, kind, next, make([]byte, 8)))
				for range r.IntN(6) {
					frame[14+r.IntN(len(frame)-14)] ^= 1 << r.IntN(8)
				}
				all = append(all, frame[:len(frame)-r.IntN(len(frame)-34)])
			}
		}
	}
	out := tshark(t, "-2", "-r", writePcap(t, all), "-V", "-Y", "uet")
	require.Greater(t, strings.Count(out, "\nUltra Ethernet Transport\n"), len(all)/2)
}
