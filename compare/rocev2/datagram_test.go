package rocev2

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/core"
)

// Datagrams go out as the kernel's did, and what the kernel sent arrives.
func TestKernelDatagrams(t *testing.T) {
	c := conversations(t, "ud-send")[0]
	h, err := New(hostA, Config{Path: testConfig().Path})
	require.NoError(t, err)
	on, err := h.OpenDatagrams(c.qpnA, 0x11111111, c.firstA)
	require.NoError(t, err)
	c2 := testConfig()
	c2.Remote = func(core.Addr) core.Memory { return c }
	b, err := New(hostB, c2)
	require.NoError(t, err)
	at, err := b.OpenDatagrams(c.qpnB, 0x11111111, c.firstB)
	require.NoError(t, err)
	memory := make([]byte, 1<<14)
	buffer := b.Register(memory)
	require.Len(t, c.requests, 8)
	for k := range c.requests {
		p := &c.requests[k]
		w := WorkRequest{Verb: Datagram, Buffer: h.Register(p.v.Payload), Length: uint64(len(p.v.Payload)), Immediate: p.v.Immediate, To: hostB,
			RemoteOffset: uint64(p.v.DestQP), RemoteKey: p.v.DETH.QKey, Cookie: uint64(k)}
		if p.v.Opcode.HasImmediate() {
			w.Verb = DatagramImmediate
		}
		require.NoError(t, h.Post(p.at, on, w))
		head, packet := transmit(t, h, p.at)
		require.NotNil(t, head)
		head.Migrated = false // as rxe leaves it
		require.Equal(t, p.v.Header, *head)
		require.Equal(t, hostB, packet.To)
		payload := make([]byte, packet.Payload.Length)
		h.ReadAt(packet.Payload.Buffer, packet.Payload.Offset, payload)
		require.Equal(t, p.v.Payload, payload)
		var done [2]Completion
		require.Equal(t, 1, h.Completions(done[:]))
		require.Equal(t, Completion{QP: on, Verb: w.Verb, At: p.at, Length: w.Length, Cookie: uint64(k)}, done[0])

		require.NoError(t, b.PostReceive(p.at, at, Buffer{Handle: buffer, Offset: 1024 * uint64(k), Length: 1024, Cookie: 9}))
		arrived := c.packet(p, hostA, hostB)
		copy(arrived.Header[4:8], []byte{0, 0, 0, byte(c.qpnB)})
		b.HandlePacket(p.at, arrived)
		require.Equal(t, 1, b.Completions(done[:]))
		require.Equal(t, Completion{QP: at, Verb: Receive, At: p.at, Length: w.Length, Cookie: 9, Opcode: p.v.Opcode, Immediate: p.v.Immediate,
			From: hostA, FromQPN: c.qpnA}, done[0])
		require.Equal(t, p.v.Payload, memory[1024*k:][:len(p.v.Payload)])
	}
	for _, x := range []*Host{h, b} {
		require.NoError(t, x.Audit())
		require.Equal(t, never, x.Deadline())
		require.Zero(t, x.count.Malformed)
	}
}

// What cannot be taken is dropped, and nobody is told.
func TestDatagramsDropped(t *testing.T) {
	n := newNet(t, 2, testConfig())
	on, err := n.hosts[0].OpenDatagrams(9, 1, 0)
	require.NoError(t, err)
	at, err := n.hosts[1].OpenDatagrams(0x555555, 77, 0)
	require.NoError(t, err)
	_, err = n.hosts[1].Connect(Connection{Peer: 1, QPN: 0x666666, PeerQPN: 0x777777})
	require.NoError(t, err)
	mail := func(length uint64, qpn, qkey uint32) {
		require.NoError(t, n.hosts[0].Post(n.now, on, WorkRequest{Verb: Datagram, Length: length, To: 2, RemoteOffset: uint64(qpn), RemoteKey: qkey}))
		n.run(n.now + 100*us)
	}
	mail(10, 0x555555, 77) // no receive
	require.NoError(t, n.hosts[1].PostReceive(0, at, Buffer{Length: 500}))
	mail(501, 0x555555, 77) // too long
	mail(500, 0x555555, 78) // wrong key
	mail(500, 0x666666, 77) // to a connection
	mail(500, 0x444444, 77) // to nobody
	mail(500, 0x555555, 77)
	var done [8]Completion
	require.Equal(t, 6, n.hosts[0].Completions(done[:]))
	require.Equal(t, 1, n.hosts[1].Completions(done[:]))
	require.EqualValues(t, 500, done[0].Length)
	require.EqualValues(t, 3, n.hosts[1].count.Discarded)
	require.EqualValues(t, 2, n.hosts[1].count.Malformed)
	require.Zero(t, n.hosts[1].count.Sent)
	require.Zero(t, n.hosts[1].Misplaced())

	h := n.hosts[0]
	for want, err := range map[string]error{
		"not for queue pair":      h.Post(0, on, WorkRequest{Verb: Write, Length: 1}),
		"at most one packet":      h.Post(0, on, WorkRequest{Verb: Datagram, Length: testMTU + 1}),
		"number 9 is taken":       second(h.OpenDatagrams(9, 1, 0)),
		"expected a number from":  second(h.OpenDatagrams(1, 1, 0)),
		"and 24 bits":             second(h.OpenDatagrams(10, 1, 1<<24)),
		"queue pair number 9 is ": second(h.Connect(Connection{Peer: 2, QPN: 9, PeerQPN: 5})),
	} {
		require.ErrorContains(t, err, want, fmt.Sprint(wire.DatagramSend))
	}
}

func second(_ QueuePair, err error) error { return err }
