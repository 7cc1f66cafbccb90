package wire_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/capture/elsewhere"
	. "github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/compare/rocev2/wiretest"
)

func captures(t testing.TB, dir string) []wiretest.Capture {
	t.Helper()
	all, err := wiretest.Read(os.DirFS(dir))
	require.NoError(t, err)
	require.NotEmpty(t, all, "%s holds no captures", dir)
	return all
}

// The seeds of the fuzz targets: all packets of the short captures, the first ones of the long.
func init() {
	Captured = func(t testing.TB) (datagrams [][]byte) {
		for _, c := range captures(t, "testdata") {
			for _, f := range c.Frames[:min(len(c.Frames), 20)] {
				datagrams = append(datagrams, f.Datagram)
			}
		}
		return datagrams
	}
}

// A tally counts what captures hold.
type tally struct {
	packets, bad int
	opcodes      map[Opcode]int
	naks         map[Syndrome]int
	bytes        int
}

// readBack reads every frame of a capture, writes it again byte for byte, and holds its checksums against what they
// must be.
func readBack(t *testing.T, c wiretest.Capture) tally {
	sum := tally{packets: len(c.Frames), opcodes: map[Opcode]int{}, naks: map[Syndrome]int{}}
	for i, f := range c.Frames {
		var v Datagram
		n, refusal := ParseDatagram(f.Datagram, Standard, &v)
		require.Equal(t, Accepted, refusal, "%s frame %d", c.Name, i)
		require.Equal(t, f.Datagram[:n], v.Append(nil, Standard), "%s frame %d: %v", c.Name, i, v.Opcode)
		require.Equal(t, n, v.Size(Standard))
		sum.opcodes[v.Opcode]++
		sum.bytes += n
		if v.Opcode == Acknowledge && !v.AETH.Syndrome.IsACK() {
			sum.naks[v.AETH.Syndrome]++
		}
		sealed := v
		made := sealed.AppendSealed(nil, Standard)
		if !Intact(f.Datagram[:n]) {
			sum.bad++
			require.NotEqual(t, v.ICRC, sealed.ICRC)
			continue
		}
		require.Equal(t, f.Datagram[:n], made)
		require.Equal(t, v, sealed, "%s frame %d: %v", c.Name, i, v.Opcode)
		require.Zero(t, (len(v.Payload)+int(v.Pad))%4, "%s frame %d", c.Name, i)
		require.Zero(t, v.PadBytes)
	}
	return sum
}

// Every packet that rdma_rxe sent is read, written again byte for byte, and its checksums hold, but for the
// 11 that were damaged on the way.
func TestCaptures(t *testing.T) {
	packets := map[string]int{
		"ibv-rc-pingpong": 12, "perftest-atomic-cas": 10, "rc-atomic": 14, "rc-nak": 10, "rc-read": 33, "rc-read-loss1pct-veth0": 397,
		"rc-rnr": 15, "rc-send": 46, "rc-send-loss1pct-veth0": 416, "rc-send-loss1pct-veth1": 412, "rc-write": 46, "rc-write-100pct-loss": 8,
		"rc-write-corrupt5pct-veth0": 205, "rc-write-corrupt5pct-veth1": 205, "rc-write-dup10pct-veth1": 120, "rc-write-ipv6": 46,
		"rc-write-loss1pct-veth0": 370, "rc-write-loss1pct-veth1": 367, "rc-write-mtu256": 105, "rc-write-red-ecn-veth1": 180,
		"rc-write-reorder10pct-veth0": 612, "ud-send": 8,
	}
	all := tally{opcodes: map[Opcode]int{}, naks: map[Syndrome]int{}}
	for _, c := range captures(t, "testdata") {
		one := readBack(t, c)
		require.Equal(t, packets[c.Name], one.packets, c.Name)
		damaged := 0
		if c.Name == "rc-write-corrupt5pct-veth1" {
			damaged = 11
		}
		require.Equal(t, damaged, one.bad, "%s: frames with a wrong ICRC", c.Name)
		all.packets += one.packets
		all.bytes += one.bytes
		for op, n := range one.opcodes {
			all.opcodes[op] += n
		}
		for s, n := range one.naks {
			all.naks[s] += n
		}
		delete(packets, c.Name)
	}
	require.Empty(t, packets, "captures that are missing")
	for _, op := range []Opcode{SendFirst, SendMiddle, SendLast, SendLastImmediate, SendOnly, SendOnlyImmediate, WriteFirst,
		WriteMiddle, WriteLast, WriteLastImmediate, WriteOnly, WriteOnlyImmediate, ReadRequest, ReadResponseFirst,
		ReadResponseMiddle, ReadResponseLast, ReadResponseOnly, Acknowledge, AtomicAcknowledge, CompareSwap, FetchAdd, DatagramSend,
		DatagramSendImmediate} {
		require.NotZero(t, all.opcodes[op], op)
	}
	require.Equal(t, 2, all.naks[RNR(12)], "the second is for the repeated SEND, which came too early again")
	require.Equal(t, 4, all.naks[NakRemoteAccess])
	require.Equal(t, 1, all.naks[NakRemoteOperate])
	require.NotZero(t, all.naks[NakSequence])
	t.Logf("%d packets, %d bytes", all.packets, all.bytes)
}

// Captures that are not here are read as well, if WEFT_CAPTURES says where they are. A file with "corrupt" in its name may
// hold damaged packets.
func TestCapturesElsewhere(t *testing.T) {
	dir := elsewhere.Dir("rocev2")
	if dir == "" {
		t.Skip(elsewhere.Variable + " is not set")
	}
	for _, c := range captures(t, dir) {
		one := readBack(t, c)
		if !strings.Contains(c.Name, "corrupt") {
			require.Zero(t, one.bad, "%s: frames with a wrong ICRC", c.Name)
		}
		t.Logf("%s: %d frames, %d with a wrong ICRC", c.Name, one.packets, one.bad)
	}
}

// Whole datagrams that are none are refused with the reason.
func TestDatagramRefusals(t *testing.T) {
	frame := captures(t, "testdata")[0].Frames[0].Datagram
	for name, c := range map[string]struct {
		want   Refusal
		change func(b []byte) []byte
	}{
		"empty":            {BadEnvelope, func(b []byte) []byte { return nil }},
		"cut":              {BadEnvelope, func(b []byte) []byte { return b[:len(b)-1] }},
		"UDP shorter":      {BadEnvelope, func(b []byte) []byte { b[25]--; return b }},
		"header checksum":  {BadEnvelope, func(b []byte) []byte { b[8]++; return b }},
		"another port":     {BadEnvelope, func(b []byte) []byte { b[23]++; return b }},
		"unknown opcode":   {BadOpcode, func(b []byte) []byte { b[28] = 0x15; return b }},
		"padding in First": {BadPadding, func(b []byte) []byte { b[29] |= 0x10; return b }},
	} {
		var v Datagram
		n, got := ParseDatagram(c.change(append([]byte(nil), frame...)), Standard, &v)
		require.Equal(t, c.want, got, name)
		require.Zero(t, n, name)
	}
	require.False(t, Intact(nil))
	require.False(t, Intact(frame[:40]))
}
