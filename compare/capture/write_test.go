package capture

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/wire/encap"
)

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	require.NoError(t, err)
	return b
}

// counting is memory whose bytes say where they lie: buffer b holds b at offset 0, b+1 at offset 1, and so on.
type counting struct{}

func (counting) ReadAt(buffer uint32, offset uint64, dst []byte) {
	for i := range dst {
		dst[i] = byte(uint64(buffer) + offset + uint64(i))
	}
}

func packetOf(t *testing.T, proto core.Proto, header string, payload core.Payload) *core.Packet {
	t.Helper()
	p := &core.Packet{From: 1, To: 2, Proto: proto, Class: 2, EV: 0xC000, ECN: core.ECT0, Payload: payload}
	p.HeaderLen = uint8(copy(p.Header[:], unhex(t, header)))
	return p
}

var framer = Framer{Memory: func(core.Addr) core.Memory { return counting{} }, Overhead: 70}

// writeOnly is an RC WRITE Only of 16 bytes, and its ICRC a worked example: what the frame's class, which is not that of
// the example, does to it, the ICRC does not cover.
const writeOnly = "0a40ffff 00000012 80000064 0000000000001000 00001234 00000010"

func TestRoCEFrame(t *testing.T) {
	p := packetOf(t, core.ProtoRoCE, writeOnly, core.Payload{Buffer: 0x10, Offset: 0xFFFFF0, Length: 16})
	want := unhex(t, "020000000080 020000000001 0800"+
		"456a004c000040003e112835 0a000001 0a000002 c00012b7 00380000"+writeOnly+"000102030405060708090a0b0c0d0e0f ad88632b")
	require.Equal(t, want, framer.Frame(p, 1, 128, 2, 0))

	p.Flags = core.Corrupt
	damaged := bytes.Clone(want)
	for i := len(damaged) - 4; i < len(damaged); i++ {
		damaged[i] = ^damaged[i]
	}
	require.Equal(t, damaged, framer.Frame(p, 1, 128, 2, 0))

	p.Flags, p.ECN, p.Class = 0, core.NotECT, 0
	require.Equal(t, byte(0xC0), framer.Frame(p, 1, 128, 2, 0)[15], "control has a code point of its own")

	// Three bytes of payload are padded by one.
	p.Payload.Length = 3
	b := framer.Frame(p, 1, 128, 2, 0)
	require.Len(t, b, 14+20+8+28+4+4)
	require.Equal(t, []byte{0, 1, 2, 0}, b[70:74])
}

func TestUETFrame(t *testing.T) {
	request := "118cffff 00123456 01010000" + "010b0001" + strings.Repeat("00", 40)
	p := packetOf(t, core.ProtoUET, request, core.Payload{Length: 100})
	b := bytes.Clone(framer.Frame(p, 1, 128, 0, 0))
	require.Len(t, b, 14+20+8+56+100+4)
	require.Equal(t, unhex(t, "45020 0bc 0000 4000 40 11 262d 0a000001 0a000002 c000 12b9 00a8 0000"), b[14:42])
	require.Equal(t, unhex(t, request), b[42:98])
	require.Equal(t, make([]byte, 100), b[98:198], "a virtual payload is zeros")
	crc := crc32.Checksum(b[14+12:198], crc32.MakeTable(crc32.Castagnoli))
	require.Equal(t, crc, binary.BigEndian.Uint32(b[198:]))

	// A trimmed packet keeps 16 bytes behind UDP, or what the size of trimmed packets leaves of its header.
	for _, c := range []struct {
		flags uint8
		wire  int64
		left  int
		tos   byte
	}{
		{core.WasTrimmed, 64, 16, 16<<2 | 2}, {core.WasTrimmed | core.TrimmedLastHop, 64, 16, 18<<2 | 2},
		{core.WasTrimmed, 70 + 40, 40, 16<<2 | 2}, {core.WasTrimmed, 1000, 56, 16<<2 | 2}, {core.WasTrimmed | core.Corrupt, 64, 16, 16<<2 | 2},
	} {
		p.Flags = c.flags
		cut := framer.Frame(p, 1, 128, 0, c.wire)
		require.Len(t, cut, max(60, 42+c.left))
		require.Equal(t, c.tos, cut[15])
		require.Equal(t, uint16(28+c.left), binary.BigEndian.Uint16(cut[16:]), "the IP length is mended")
		require.Equal(t, uint16(0xa8), binary.BigEndian.Uint16(cut[38:]), "the UDP length is not")
		require.Equal(t, b[42:42+c.left], cut[42:42+c.left])
		config := encap.Default
		config.DSCP = Rules
		h, why := encap.Parse(cut[14:], &config)
		require.Equal(t, encap.OK, why)
		require.Equal(t, 160-c.left, h.Missing)
	}
}

func TestAnswersAreControlAndPadded(t *testing.T) {
	p := packetOf(t, core.ProtoUET, "5000010000123459 0202010100000000", core.Payload{}) // a NACK
	p.Class, p.ECN = 0, core.NotECT
	b := framer.Frame(p, 1, 128, 0, 0)
	require.Len(t, b, 14+20+8+16+4)
	require.Equal(t, byte(46<<2), b[15])
	p.HeaderLen = 12
	b = framer.Frame(p, 1, 128, 0, 0)
	require.Len(t, b, 60)
	require.Equal(t, uint16(44), binary.BigEndian.Uint16(b[16:]))
	require.Equal(t, []byte{0, 0}, b[58:])
	require.True(t, Frames(core.ProtoUET) && Frames(core.ProtoRoCE))
	require.False(t, Frames(core.ProtoTest))
}

func TestPauseFrames(t *testing.T) {
	const tail = "000000000000000000000000000000000000000000000000000000000000" // to 60 bytes
	for _, c := range []struct {
		proto  core.Proto
		class  core.Class
		resume bool
		want   string
	}{
		{core.ProtoRoCE, 2, false, "0101 0008 0000 0000 0000 ffff 0000 0000 0000 0000"},
		{core.ProtoRoCE, 2, true, "0101 0008 0000 0000 0000 0000 0000 0000 0000 0000"},
		{core.ProtoRoCE, 0, false, "0101 0040 0000 0000 0000 0000 0000 0000 ffff 0000"},
		{core.ProtoUET, 2, false, "0101 0001 ffff 0000 0000 0000 0000 0000 0000 0000"},
	} {
		want := unhex(t, "0180c2000001 020000000111 8808"+c.want+tail)[:60]
		require.Equal(t, want, framer.Pause(c.proto, c.class, 0x111, c.resume))
	}
	own := Framer{DSCP: func(c core.Class) encap.DSCP { return encap.DSCP(8*c + 3) }}
	want := unhex(t, "0180c2000001 020000000111 8808"+"0101 0002 0000 ffff 0000 0000 0000 0000 0000 0000"+tail)[:60]
	require.Equal(t, want, own.Pause(core.ProtoOther, 1, 0x111, false), "classes with code points of their own")
}

func TestAddresses(t *testing.T) {
	require.Equal(t, "10.0.0.3", HostAddr(3).String())
	require.Equal(t, "10.1.2.3", HostAddr(0x010203).String())
	require.Equal(t, [6]byte{2, 0, 0, 1, 2, 3}, HardwareAddr(0x010203))
}

func TestWriterIsReadBack(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file, "program", "what it holds", []Port{{"a", "first"}, {"b", ""}}, Limits{Snap: 100, Packets: 3})
	require.NoError(t, err)
	long := bytes.Repeat([]byte{7}, 150)
	w.Write(1, 1_999, Inbound, 11, long[:60])
	w.Write(0, 2_000_000_000_000_000+5_000, Outbound, 12, long, "one", "two")
	require.False(t, w.Full())
	w.Write(0, instant.Second, Unknown, 13, long[:61], "three")
	require.True(t, w.Full())
	w.Write(0, instant.Second, Unknown, 14, long)
	require.NoError(t, w.Flush())
	frames, r, err := all(t, file.Bytes())
	require.NoError(t, err)
	require.Len(t, frames, 3)
	require.Equal(t, []string{"a", "b"}, []string{r.Interfaces()[0].Name, r.Interfaces()[1].Name})
	require.Equal(t, "first", r.Interfaces()[0].Description)
	require.Equal(t, []int64{1, 2_000*int64(time.Second) + 5, int64(time.Second)}, []int64{frames[0].Time.UnixNano(), frames[1].Time.UnixNano(), frames[2].Time.UnixNano()})
	require.Equal(t, "b", frames[0].Interface.Name)
	require.Equal(t, long[:100], frames[1].Data)
	require.Equal(t, 150, frames[1].Length)
	require.Equal(t, []string{"one", "two"}, frames[1].Comments)
	require.Equal(t, []string{"three", "the capture ends here, at its limit of 3 packets"}, frames[2].Comments)

	file.Reset()
	w, err = NewWriter(&file, "", strings.Repeat("long", 1<<15), []Port{{"a", ""}}, Limits{})
	require.NoError(t, err)
	require.NoError(t, w.Flush())
	_, _, err = all(t, file.Bytes())
	require.NoError(t, err, "a comment that is too long is cut")

	_, err = NewWriter(&file, "program", "", nil, Limits{})
	require.EqualError(t, err, "a capture without interfaces")
}

// full is a disk with room for so many bytes.
type full struct{ room int }

var errFull = errors.New("disk full")

func (f *full) Write(b []byte) (int, error) {
	if f.room -= len(b); f.room < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestAFullDiskEndsTheCapture(t *testing.T) {
	for _, room := range []int{0, 1 << 18} {
		w, err := NewWriter(&full{room}, "", "", []Port{{"a", ""}}, Limits{})
		require.NoError(t, err)
		frame := make([]byte, 1500)
		n := 0
		for ; n < 1000 && !w.Full(); n++ {
			w.Write(0, 0, Unknown, 0, frame)
		}
		require.Less(t, n, 250)
		require.ErrorIs(t, w.Flush(), errFull)
	}
}

// TestRecordingAllocatesLittle: a frame of a recording without comments costs few allocations, none that grow with its size.
func TestRecordingAllocatesLittle(t *testing.T) {
	make, _, err := emulator.Topologies.Make("single", nil)
	require.NoError(t, err)
	n, err := make(emulator.Spec{Hosts: 2, RateBps: 1e9, LinkDelay: 1})
	require.NoError(t, err)
	r, err := NewRecording(io.Discard, Run{Network: n, Classes: []emulator.Class{{Name: "a"}, {}, {}}, Proto: core.ProtoUET}, AtHosts, Limits{})
	require.NoError(t, err)
	s := emulator.Sighting{What: emulator.Sent, Slot: 1, Class: 2, Packet: packetOf(t, core.ProtoUET, "118cffff0012345601010000", core.Payload{Length: 4096})}
	r.See(0, &s)
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { r.See(0, &s) }), 8.0)
	require.NoError(t, r.Flush())
}

// TestInterfacesFollowTheNetwork: by number of host, whatever the order of the cables, or by number of link.
func TestInterfacesFollowTheNetwork(t *testing.T) {
	n := &emulator.Network{Hosts: 2, Switches: 1, NodeNames: []string{"x", "y", "sw"}, Links: []emulator.LinkSpec{
		{From: 2, To: 1, RateBps: 4e11, Delay: instant.Microsecond, Name: "sw-y"}, {From: 1, To: 2, RateBps: 1e9, Name: "y-sw"},
		{From: 0, To: 2, RateBps: 1e9, Name: "x-sw"}, {From: 2, To: 0, RateBps: 1e9, Name: "sw-x"}}}
	drops := Port{"dropped", "packets that the fabric dropped, where it did"}
	require.Equal(t, []Port{{"x", "host x, 10.0.0.0"}, {"y", "host y, 10.0.0.1"}, drops}, portsOf(n, AtHosts, nil))
	links := portsOf(n, AtLinks, nil)
	require.Equal(t, Port{"sw-y", "far end of the link sw-y, 400 Gbit/s, 1us"}, links[0])
	require.Equal(t, []string{"sw-y", "y-sw", "x-sw", "sw-x", "dropped"}, []string{links[0].Name, links[1].Name, links[2].Name, links[3].Name, links[4].Name})
}
