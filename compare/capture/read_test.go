package capture

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/pcapgo"
	"github.com/stretchr/testify/require"
)

// all reads a capture to its end or to where it breaks.
func all(t *testing.T, file []byte) (frames []Frame, r *Reader, err error) {
	t.Helper()
	r, err = NewReader(bytes.NewReader(file))
	if err != nil {
		return nil, nil, err
	}
	for {
		var f Frame
		if err = r.Next(&f); err != nil {
			if err == io.EOF {
				err = nil
			}
			return frames, r, err
		}
		f.Data = bytes.Clone(f.Data)
		frames = append(frames, f)
	}
}

var orders = []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian}

// pcapFile makes a pcap file.
func pcapFile(o binary.AppendByteOrder, magic uint32, link LinkType, records ...[]byte) (b []byte) {
	b = o.AppendUint32(b, magic)
	b = o.AppendUint16(b, 2)
	b = o.AppendUint16(b, 4)
	b = append(b, make([]byte, 8)...)
	b = o.AppendUint32(b, 65535)
	b = o.AppendUint32(b, uint32(link))
	return append(b, bytes.Join(records, nil)...)
}

func record(o binary.AppendByteOrder, seconds, fraction, captured, length uint32, data string) (b []byte) {
	for _, v := range []uint32{seconds, fraction, captured, length} {
		b = o.AppendUint32(b, v)
	}
	return append(b, data...)
}

func TestPcap(t *testing.T) {
	for _, o := range orders {
		for magic, unit := range map[uint32]time.Duration{magicMicro: time.Microsecond, magicNano: time.Nanosecond} {
			file := pcapFile(o, magic, LinkSLL2, record(o, 1700000000, 123456, 5, 5, "hello"), record(o, 1700000001, 1, 3, 900, "cut"), record(o, 7, 0, 0, 0, ""))
			frames, r, err := all(t, file)
			require.NoError(t, err)
			require.Len(t, frames, 3)
			require.Equal(t, "pcap", r.Format())
			require.Equal(t, "hello", string(frames[0].Data))
			require.Equal(t, time.Unix(1700000000, int64(123456*unit)).UTC(), frames[0].Time)
			require.False(t, frames[0].Snapped())
			require.True(t, frames[1].Snapped())
			require.Equal(t, 900, frames[1].Length)
			require.EqualValues(t, 3, frames[2].Number)
		}
	}
}

// block makes a pcapng block.
func block(o binary.AppendByteOrder, kind uint32, body []byte) (b []byte) {
	for len(body)%4 != 0 {
		body = append(body, 0)
	}
	b = o.AppendUint32(b, kind)
	b = o.AppendUint32(b, uint32(len(body)+12))
	b = append(b, body...)
	return o.AppendUint32(b, uint32(len(body)+12))
}

func section(o binary.AppendByteOrder, options ...[]byte) []byte {
	b := o.AppendUint32(nil, orderMagic)
	b = o.AppendUint16(b, 1)
	b = o.AppendUint16(b, 0)
	return block(o, blockSection, append(o.AppendUint64(b, 1<<64-1), bytes.Join(options, nil)...))
}

func option(o binary.AppendByteOrder, code uint16, value string) []byte {
	b := o.AppendUint16(nil, code)
	b = append(o.AppendUint16(b, uint16(len(value))), value...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

func described(o binary.AppendByteOrder, link LinkType, snap uint32, options ...[]byte) []byte {
	b := o.AppendUint16(nil, uint16(link))
	b = o.AppendUint16(b, 0)
	return block(o, blockInterface, append(o.AppendUint32(b, snap), bytes.Join(options, nil)...))
}

func packet(o binary.AppendByteOrder, which uint32, stamp uint64, captured, length uint32, data string, options ...[]byte) []byte {
	b := o.AppendUint32(nil, which)
	b = o.AppendUint32(b, uint32(stamp>>32))
	b = o.AppendUint32(b, uint32(stamp))
	b = o.AppendUint32(b, captured)
	b = append(o.AppendUint32(b, length), data...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return block(o, blockPacket, append(b, bytes.Join(options, nil)...))
}

func TestPcapng(t *testing.T) {
	for _, o := range orders {
		file := bytes.Join([][]byte{
			section(o),
			described(o, LinkEthernet, 0, option(o, optionName, "host 0"), option(o, optionResolution, "\x09"), option(o, optionEnd, "")),
			described(o, LinkRaw, 96, option(o, optionName, "host 1"), option(o, optionDescription, "leaf 3"), option(o, optionResolution, "\x8a"),
				option(o, optionOffset, string(o.AppendUint64(nil, 1000)))),
			described(o, LinkSLL, 0, option(o, optionResolution, "\x0c")),
			block(o, 0xbad, make([]byte, 70000)), // nobody's
			packet(o, 0, 1_500_000_000_123_456_789, 5, 5, "first", option(o, optionComment, "trimmed at leaf 1"), option(o, optionFlags, string(o.AppendUint32(nil, 0x2a2))),
				option(o, optionPacketID, string(o.AppendUint64(nil, 77))), option(o, optionComment, "and marked")),
			packet(o, 1, 1024+512, 3, 1500, "cut"),
			packet(o, 2, 2_000_000_000_001, 1, 1, "p"),
			block(o, blockSimple, append(o.AppendUint32(nil, 4), "simp"...)),
			block(o, blockStatistics, append(append(o.AppendUint32(nil, 0), make([]byte, 8)...), option(o, optionDropped, string(o.AppendUint64(nil, 17)))...)),
			block(o, blockPacketOld, append(append(o.AppendUint16(o.AppendUint16(nil, 1), 9), make([]byte, 8)...), append(o.AppendUint32(o.AppendUint32(nil, 2), 2), "ol"...)...)),
			section(o, option(o, optionApplication, "a program"), option(o, optionComment, "what it is")),
			described(o, LinkIPv6, 0),
			packet(o, 0, 1, 2, 2, "v6"),
		}, nil)
		frames, r, err := all(t, file)
		require.NoError(t, err)
		require.Len(t, frames, 6)
		require.Equal(t, "pcapng", r.Format())
		require.EqualValues(t, 17, r.Dropped())
		application, comment := r.Origin()
		require.Equal(t, [2]string{"a program", "what it is"}, [2]string{application, comment})

		f := frames[0]
		require.Equal(t, "first", string(f.Data))
		require.Equal(t, []string{"trimmed at leaf 1", "and marked"}, f.Comments)
		require.Equal(t, Outbound, f.Direction)
		require.True(t, f.HasPacket)
		require.EqualValues(t, 77, f.Packet)
		require.Equal(t, time.Unix(1_500_000_000, 123_456_789).UTC(), f.Time)
		require.Equal(t, "host 0", f.Interface.Name)
		require.Equal(t, 9, f.Interface.Decimals)

		f = frames[1]
		require.Equal(t, time.Unix(1001, 5e8).UTC(), f.Time, "steps of 2^-10 s, 1000 s later")
		require.Equal(t, Interface{Index: 1, Name: "host 1", Description: "leaf 3", Link: LinkRaw, SnapLength: 96, Decimals: 4, clock: clock{1024, 1000}}, *f.Interface)
		require.True(t, f.Snapped())

		require.Equal(t, time.Unix(2, 0).UTC(), frames[2].Time, "picoseconds are cut")
		require.True(t, frames[3].Time.IsZero())
		require.Equal(t, "simp", string(frames[3].Data))
		require.Equal(t, "ol", string(frames[4].Data))
		require.Equal(t, "host 1", frames[4].Interface.Name)
		require.Equal(t, LinkIPv6, frames[5].Interface.Link)
	}
}

func TestBroken(t *testing.T) {
	o := binary.LittleEndian
	good := bytes.Join([][]byte{section(o), described(o, LinkEthernet, 0), packet(o, 0, 1, 4, 4, "good")}, nil)
	old := pcapFile(o, magicMicro, LinkEthernet, record(o, 1, 2, 4, 4, "good"))
	for _, c := range []struct {
		what   string
		file   []byte
		frames int
		why    string
	}{
		{"4 GB frame", append(bytes.Clone(old), record(o, 1, 2, 0xffffffff, 64, "x")...), 1, "broken at byte 44, behind frame 1: a frame claims 4294967295 captured bytes; expected 262144 at most"},
		{"cut head", append(bytes.Clone(old), 1, 2, 3), 1, "the file is cut: the head of a record ends after 3 of 16 bytes"},
		{"cut frame", append(bytes.Clone(old), record(o, 1, 2, 60, 60, "only these")...), 1, "the file is cut: a frame ends after 10 of 60 bytes"},
		{"cut pcap", old[:20], 0, "the file is cut: its head has 24 bytes"},
		{"pcap version", append(append(bytes.Clone(old[:4]), 9, 0), old[6:]...), 0, "pcap version 9; expected 2"},
		{"4 GB block", append(bytes.Clone(good), "\x06\x00\x00\x00\xfc\xff\xff\xff"...), 1, "a block claims 4294967292 bytes; expected 1048576 at most"},
		{"4 GB unknown block", append(bytes.Clone(good), "\x77\x00\x00\x00\xfc\xff\xff\xff"...), 1, "the file is cut: a block is longer than the rest"},
		{"block of nothing", append(bytes.Clone(good), "\x77\x00\x00\x00\x00\x00\x00\x00"...), 1, "a block of 0 bytes; expected 12 or more, in steps of 4"},
		{"odd block", append(bytes.Clone(good), "\x06\x00\x00\x00\x21\x00\x00\x00"...), 1, "a block of 33 bytes"},
		{"lengths differ", append(bytes.Clone(good[:len(good)-4]), 1, 0, 0, 0), 0, "a block begins with length 36 and ends with 1"},
		{"no such interface", append(bytes.Clone(good), packet(o, 7, 1, 0, 0, "")...), 1, "a packet of interface 7; 1 are described before it"},
		{"frame beyond block", append(bytes.Clone(good), packet(o, 0, 1, 400, 400, "x")...), 1, "a frame claims 400 captured bytes in a block with room for 4"},
		{"simple too early", append(section(o), block(o, blockSimple, o.AppendUint32(nil, 0))...), 0, "a packet before any interface is described"},
		{"time too fine", append(section(o), described(o, LinkRaw, 0, option(o, optionResolution, "\x14"))...), 0, "interface 0 counts time in steps of 10^-20 s"},
		{"byte order", append(bytes.Clone(good[:8]), make([]byte, 20)...), 0, "byte-order mark 00000000"},
		{"pcapng version", append(append(bytes.Clone(good[:12]), 3), good[13:]...), 0, "pcapng version 3; expected 1"},
		{"empty", nil, 0, "empty; expected pcap or pcapng"},
		{"no capture", []byte("#!/bin/sh\n"), 0, "not a capture; expected pcap or pcapng"},
		{"short", []byte("ab"), 0, "not a capture"},
	} {
		frames, _, err := all(t, c.file)
		require.ErrorContains(t, err, c.why, c.what)
		require.Len(t, frames, c.frames, c.what)
		require.NotContains(t, err.Error(), "\n")
	}
}

// A frame of a valid size whose bytes never come must not cost memory either.
func TestClaimsAreNotBelieved(t *testing.T) {
	o := binary.LittleEndian
	file := pcapFile(o, magicMicro, LinkEthernet, record(o, 1, 2, MaxFrame, MaxFrame, "x"))
	r, err := NewReader(bytes.NewReader(file))
	require.NoError(t, err)
	require.Error(t, r.Next(&Frame{}))
	require.Less(t, cap(r.block), 1<<17+1)
}

func TestPacked(t *testing.T) {
	o := binary.LittleEndian
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(pcapFile(o, magicMicro, LinkEthernet, record(o, 1, 2, 4, 4, "good")))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	frames, _, err := all(t, packed.Bytes())
	require.NoError(t, err)
	require.Len(t, frames, 1)

	_, _, err = all(t, packed.Bytes()[:packed.Len()-12])
	var broken *BrokenError
	require.ErrorAs(t, err, &broken)
}

// A file that fails is not a file that is broken.
func TestErrorOfFile(t *testing.T) {
	o := binary.LittleEndian
	failed := errors.New("disk on fire")
	file := io.MultiReader(bytes.NewReader(pcapFile(o, magicMicro, LinkEthernet, record(o, 1, 2, 40, 40, "go"))), failing{failed})
	r, err := NewReader(file)
	require.NoError(t, err)
	err = r.Next(&Frame{})
	require.ErrorIs(t, err, failed)
	var broken *BrokenError
	require.False(t, errors.As(err, &broken))
}

type failing struct{ error }

func (f failing) Read([]byte) (int, error) { return 0, f.error }

// What another reader of these formats finds in captures is what we find.
func TestAgainstPcapgo(t *testing.T) {
	names, err := filepath.Glob("../rocev2/wire/testdata/*.pcap")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		file, err := os.ReadFile(name)
		require.NoError(t, err)
		frames, r, err := all(t, file)
		require.NoError(t, err)
		other, err := pcapgo.NewReader(bytes.NewReader(file))
		require.NoError(t, err)
		require.EqualValues(t, other.LinkType(), r.Interfaces()[0].Link)
		for _, f := range frames {
			data, info, err := other.ReadPacketData()
			require.NoError(t, err)
			require.Equal(t, gopacket.CaptureInfo{Timestamp: f.Time, CaptureLength: len(f.Data), Length: f.Length}, info)
			require.Equal(t, data, f.Data)
		}
		_, _, err = other.ReadPacketData()
		require.Equal(t, io.EOF, err)
	}
}

// FuzzRead feeds any bytes: no panic, no endless loop, frames that fit what was read.
func FuzzRead(f *testing.F) {
	for _, o := range orders {
		f.Add(pcapFile(o, magicNano, LinkEthernet, record(o, 1, 2, 4, 4, "good"), record(o, 1, 2, 60, 60, "cut")))
		f.Add(bytes.Join([][]byte{section(o), described(o, LinkEthernet, 64, option(o, optionResolution, "\x8a")),
			packet(o, 0, 1, 4, 4, "good", option(o, optionComment, "why")), block(o, blockSimple, o.AppendUint32(nil, 0)), section(o)}, nil))
	}
	f.Add([]byte(strings.Repeat("\x0a\x0d\x0d\x0a", 8)))
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := NewReader(bytes.NewReader(file))
		if err != nil {
			return
		}
		var frame Frame
		for n := int64(1); ; n++ {
			if err = r.Next(&frame); err != nil {
				break
			}
			if frame.Number != n || len(frame.Data) > frame.Length || len(frame.Data) > len(file) || frame.Interface == nil {
				t.Fatalf("frame %d: %+v", n, frame)
			}
		}
		if n := int64(len(file)); r.offset > n && r.format == "pcap" || strings.Contains(err.Error(), "\n") {
			t.Fatalf("%d of %d bytes read: %v", r.offset, n, err)
		}
	})
}

// A datagram is found behind every link header, and nothing is where there is none or the frame ends.
func TestDatagram(t *testing.T) {
	const macs = "\x02\x00\x00\x00\x00\x0b\x02\x00\x00\x00\x00\x0a"
	for _, c := range []struct {
		link       LinkType
		head, rest string
	}{
		{LinkEthernet, macs + "\x08\x00", "E..."}, {LinkEthernet, macs + "\x91\x00\x00\x07\x81\x00\x60\x09\x86\xdd", "`..."},
		{LinkEthernet, macs + "\x08\x06", ""}, {LinkEthernet, macs[1:], ""}, {LinkEthernet, macs + "\x81\x00\x00", ""},
		{LinkRaw, "", "E..."}, {LinkRawOld, "", "`..."}, {LinkIPv6, "", ""}, {LinkIPv4, "0", ""}, {LinkLoop, "\x00\x00\x00\x1e", "`..."}, {LinkNull, "\x02\x00\x00\x00", ""},
		{LinkSLL, "\x00\x00\x00\x01\x00\x06" + macs[6:] + "\x00\x00\x08\x00", "E..."}, {LinkSLL2, "\x08\x06" + strings.Repeat("\x00", 18), ""},
		{LinkType(105), "\x08\x00", ""},
	} {
		f := Frame{Interface: &Interface{Link: c.link}, Data: []byte(c.head + c.rest)}
		require.Equal(t, c.rest, string(f.Datagram()), "%v %x", c.link, c.head)
	}
}
