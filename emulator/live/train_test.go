package live

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/core"
)

// superPacket is what a kernel hands over for bytes of payload that are cut to pieces.
func superPacket(proto byte, piece int, payload []byte) []byte {
	const ip = 24 // with an option
	l4, kind := leastUDP, byte(gsoUDP)
	if proto == protoTCP {
		l4, kind = 32, gsoTCP
	}
	b := make([]byte, virtioBytes+ip+l4)
	b[0], b[1] = needsSum, kind
	native.PutUint16(b[4:], uint16(piece))
	h := b[virtioBytes:]
	h[0], h[1], h[8], h[9] = 0x46, 0xb8|byte(core.ECT0), 64, proto
	binary.BigEndian.PutUint16(h[4:], 0xfffe) // it wraps
	copy(h[12:], "\x0a\x00\x00\x01\x0a\x00\x00\x02\x01\x01\x01\x00")
	copy(h[ip:], "\x12\x34\x00\x50")
	if proto == protoTCP {
		binary.BigEndian.PutUint32(h[ip+4:], 0xfffff000)
		h[ip+12], h[ip+13] = 8<<4, flagFIN|flagPSH|flagCWR|1<<4
	}
	return append(b, payload...)
}

// valid looks at the lengths and checksums of a packet, and returns its payload.
func valid(t *testing.T, b []byte) []byte {
	ip := int(b[0]&15) * 4
	require.EqualValues(t, len(b), binary.BigEndian.Uint16(b[2:]))
	require.EqualValues(t, 0xffff, fold(sum(b[:ip])))
	require.EqualValues(t, 0xffff, fold(sum(b[12:20])+uint64(b[9])+uint64(len(b)-ip)+sum(b[ip:])))
	if b[9] == protoTCP {
		return b[ip+int(b[ip+12]>>4)*4:]
	}
	require.EqualValues(t, len(b)-ip, binary.BigEndian.Uint16(b[ip+4:]))
	return b[ip+leastUDP:]
}

func TestTrainsAreWhatTheirPacketsAre(t *testing.T) {
	payload := make([]byte, 4001)
	for i := range payload {
		payload[i] = byte(i * 7)
	}
	for _, proto := range []byte{protoTCP, protoUDP} {
		var tr train
		require.True(t, tr.couple(superPacket(proto, 1000, payload)))
		require.Len(t, tr.parcels, 5)
		var got []byte
		for i := range tr.parcels {
			x := parcel{train: &tr, piece: i}
			ecn := core.ECT0
			if i == 2 {
				ecn = core.CE
			}
			b := x.appendIP(nil, ecn)
			require.Len(t, b, x.size())
			got = append(got, valid(t, b)...)
			require.EqualValues(t, uint16(0xfffe+i), binary.BigEndian.Uint16(b[4:]))
			require.EqualValues(t, 0xb8|byte(ecn), b[1])
			if tcp := b[24:]; proto == protoTCP {
				require.EqualValues(t, uint32(0xfffff000+uint64(i)*1000), binary.BigEndian.Uint32(tcp[4:]))
				require.Equal(t, i == 0, tcp[13]&flagCWR != 0)
				require.Equal(t, i == 4, tcp[13]&(flagFIN|flagPSH) != 0)
			}
		}
		require.Equal(t, payload, got)

		// A part of it is a smaller train, of the same packets.
		part := tr.headers(nil, 1, 4, core.ECT0)
		part = append(part, tr.payload(1, 4)...)
		var again train
		require.True(t, again.couple(bytes.Clone(part)))
		require.Len(t, again.parcels, 3)
		for i := range again.parcels {
			x, y := parcel{train: &tr, piece: i + 1}, parcel{train: &again, piece: i}
			require.Equal(t, x.appendIP(nil, core.ECT0), y.appendIP(nil, core.ECT0))
		}
	}
	for _, bad := range [][]byte{nil, make([]byte, 40), superPacket(protoTCP, 0, payload), superPacket(protoUDP, 100, nil), superPacket(50, 100, payload)} {
		var tr train
		require.False(t, len(bad) > virtioBytes && tr.couple(bad))
	}
}

func TestCopiesAndDamagedPacketsHaveTheirOwnBytes(t *testing.T) {
	f, err := New(Config{Network: network(t, "single", slowLink)})
	require.NoError(t, err)
	defer f.Close()
	tr := f.newTrain(shortTrain)
	require.True(t, tr.couple(append(tr.buf[:0], superPacket(protoTCP, 1000, make([]byte, 2500))...)))
	for i := range tr.parcels {
		tr.parcels[i] = parcel{train: tr, piece: i, ecn: core.ECT0, to: 1}
	}
	twin := f.copyOf(&tr.parcels[1])
	require.Equal(t, tr.parcels[1].appendIP(nil, core.ECT0), twin.bytes)
	require.EqualValues(t, 1, twin.to)
	require.Zero(t, twin.buf[headroom-virtioBytes], "nothing is left to do")
	own := f.finished(&tr.parcels[2])
	valid(t, own.bytes)
	require.EqualValues(t, 2, tr.left.Load())

	single := f.newParcel(60)
	head := tr.headers(nil, 1, 2, core.ECT0)
	binary.BigEndian.PutUint16(head[virtioBytes+2:], 60)
	copy(single.buf[headroom-virtioBytes:], head)
	pseudo := single.bytes[24:]
	binary.BigEndian.PutUint16(pseudo[16:], fold(sum(single.bytes[12:20])+protoTCP+60-24))
	binary.BigEndian.PutUint16(single.bytes[10:], 0)
	binary.BigEndian.PutUint16(single.bytes[10:], ^fold(sum(single.bytes[:24])))
	single.headers, single.train = 0, nil
	valid(t, f.finished(single).bytes)
}
