package wire

import (
	"encoding/binary"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// datagrams reads a capture (pcap, little-endian, Ethernet) and returns its frames from the IP header on,
// without Ethernet padding.
func datagrams(t *testing.T, name string) [][]byte {
	t.Helper()
	file, err := os.ReadFile("testdata/" + name + ".pcap")
	require.NoError(t, err)
	require.Equal(t, uint32(0xA1B2C3D4), binary.LittleEndian.Uint32(file))
	var all [][]byte
	for rest := file[24:]; len(rest) >= 16; {
		size := binary.LittleEndian.Uint32(rest[8:])
		frame := rest[16+14 : 16+size]
		rest = rest[16+size:]
		length := int(binary.BigEndian.Uint16(frame[2:]))
		if frame[0]>>4 == 6 {
			length = 40 + int(binary.BigEndian.Uint16(frame[4:]))
		}
		all = append(all, frame[:length])
	}
	return all
}

// Every packet that rdma_rxe sent is read, written again byte for byte, and its checksum holds.
func TestCaptures(t *testing.T) {
	seen := map[Opcode]int{}
	naks := map[Syndrome]int{}
	for name, packets := range map[string]int{
		"rc-send": 46, "rc-write": 46, "rc-read": 33, "rc-atomic": 14, "rc-nak": 10, "rc-rnr": 15, "rc-write-ipv6": 46, "ud-send": 8,
	} {
		all := datagrams(t, name)
		require.Len(t, all, packets, name)
		for i, d := range all {
			ip := ipHeaderSize(d)
			require.Equal(t, uint16(Port), binary.BigEndian.Uint16(d[ip+2:]))
			var h Header
			payload, icrc, refusal := Split(d[ip+udpSize:], Standard, &h)
			require.Equal(t, Accepted, refusal, "%s packet %d", name, i)
			sum, ok := ICRC(d[:len(d)-ICRCSize])
			require.True(t, ok)
			require.Equal(t, icrc, sum, "%s packet %d: %v", name, i, h.Opcode)
			require.Equal(t, (4-len(payload)%4)%4, int(h.Pad), "%s packet %d", name, i)
			made := h.Append(nil, Standard)
			require.Equal(t, d[ip+udpSize:][:len(made)], made, "%s packet %d: %v", name, i, h.Opcode)
			seen[h.Opcode]++
			if h.Opcode == Acknowledge && !h.AETH.Syndrome.IsACK() {
				naks[h.AETH.Syndrome]++
			}
		}
	}
	for _, op := range []Opcode{SendFirst, SendMiddle, SendLast, SendLastImmediate, SendOnly, SendOnlyImmediate, WriteFirst,
		WriteMiddle, WriteLast, WriteLastImmediate, WriteOnly, WriteOnlyImmediate, ReadRequest, ReadResponseFirst,
		ReadResponseMiddle, ReadResponseLast, ReadResponseOnly, Acknowledge, AtomicAcknowledge, CompareSwap, FetchAdd, DatagramSend,
		DatagramSendImmediate} {
		require.NotZero(t, seen[op], op)
	}
	require.Equal(t, 2, naks[RNR(12)], "the second is for the repeated SEND, which came too early again")
	require.Equal(t, 4, naks[NakRemoteAccess])
	require.Equal(t, 1, naks[NakRemoteOperate])
	require.NotZero(t, naks[NakSequence])
}
