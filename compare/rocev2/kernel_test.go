package rocev2

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/compare/rocev2/wiretest"
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// Behaviour against the Linux kernel's rdma_rxe: the captures of wire/testdata are conversations of two kernels. Our
// responder is fed with what arrived at B (kernel_responder_test.go), our requester with what arrived at A
// (kernel_requester_test.go). What differs is written down in docs/ROCE.md, section 13, and pinned here.

const (
	hostA, hostB = core.Addr(1), core.Addr(2)
	captured     = uint32(1) // the buffer of the payloads of captured packets
)

// A caught is one captured packet.
type caught struct {
	at      Time
	v       wire.Datagram
	intact  bool
	payload uint64 // offset in the memory of the conversation
	twin    bool   // the same packet as one before, byte for byte: the network doubled it
}

func (c *caught) String() string { return describe(&c.v.Header) }

// describe returns what the comparison is about: PSN and opcode, and of answers syndrome, MSN and original value.
func describe(h *wire.Header) string {
	s := fmt.Sprintf("%v %d", h.Opcode, h.PSN)
	if h.Opcode.HasAETH() {
		s += fmt.Sprintf(" syndrome %#x msn %d", uint8(h.AETH.Syndrome), h.AETH.MSN)
	}
	if h.Opcode == wire.AtomicAcknowledge {
		s += fmt.Sprintf(" original %d", h.Original)
	}
	return s
}

// A conversation is what two queue pairs of a capture say to each other, in the direction from A, which asks, to B,
// which answers.
type conversation struct {
	name     string
	requests []caught // requests of A and answers of B, in order of time
	payloads []byte
	qpnA     uint32
	qpnB     uint32
	firstA   wire.PSN
	firstB   wire.PSN
	mtu      int64
	code     uint8 // of the ACK timeout
	retries  int
}

// ReadAt makes the payloads a core.Memory.
func (c *conversation) ReadAt(_ uint32, offset uint64, dst []byte) { copy(dst, c.payloads[offset:]) }

func (c *conversation) isRequest(p *caught) bool { return p.v.Opcode.IsRequest() }

// conversations reads a capture. A queue pair's number at A is what B's answers are sent to.
func conversations(t testing.TB, name string) []*conversation {
	t.Helper()
	files, err := wiretest.Read(os.DirFS("wire/testdata"))
	require.NoError(t, err)
	at := slices.IndexFunc(files, func(c wiretest.Capture) bool { return c.Name == name })
	require.GreaterOrEqual(t, at, 0, name)
	byQPN := map[string]*conversation{}
	var all []*conversation
	seen := map[string]bool{}
	for _, f := range files[at].Frames {
		p := caught{at: f.At, twin: seen[string(f.Datagram)]}
		seen[string(f.Datagram)] = true
		n, refusal := wire.ParseDatagram(f.Datagram, wire.Standard, &p.v)
		require.Equal(t, wire.Accepted, refusal)
		p.intact = wire.Intact(f.Datagram[:n])
		asks := p.v.Opcode.IsRequest()
		key := p.v.IP.Src.String() // who asks; where both do, each is a conversation of its own
		if !asks {
			key = p.v.IP.Dst.String()
		}
		key += fmt.Sprint(p.v.DestQP) // equal at both ends in all captures
		c := byQPN[key]
		if c == nil {
			c = &conversation{name: name, qpnA: p.v.DestQP, qpnB: p.v.DestQP, firstA: p.v.PSN, firstB: 0xABCD, mtu: 1024, code: 10, retries: -1}
			byQPN[key] = c
			all = append(all, c)
		}
		p.payload = uint64(len(c.payloads))
		c.payloads = append(c.payloads, p.v.Payload...)
		c.requests = append(c.requests, p)
	}
	switch name {
	case "rc-write-mtu256":
		all[0].mtu = 256
	case "rc-write-100pct-loss":
		all[0].code, all[0].retries = 8, 3
	}
	return all
}

// host makes our end of the conversation, with the settings of the kernel's.
func (c *conversation) host(t *testing.T, self, peer core.Addr) (*Host, QueuePair) {
	t.Helper()
	h, err := New(self, Config{
		Path:   congestion.Path{LineRateBps: 1e9, BaseRTT: 100 * us, MTU: c.mtu + 100, MSS: c.mtu},
		Remote: func(core.Addr) core.Memory { return c }, Timeout: wire.AckTimeout(c.code), RetryCount: c.retries,
		MaxReads: 4, RNRTimer: 12, NakBehindRNR: true, LongSend: wire.NakRemoteOperate, ReadResumes: true,
	})
	require.NoError(t, err)
	at := Connection{Peer: peer, QPN: c.qpnA, PeerQPN: c.qpnB, SendPSN: c.firstA, ReceivePSN: c.firstB}
	if self == hostB {
		at = Connection{Peer: peer, QPN: c.qpnB, PeerQPN: c.qpnA, SendPSN: c.firstB, ReceivePSN: c.firstA}
	}
	at.QPN, at.PeerQPN = at.QPN|1<<20, at.PeerQPN|1<<20 // small numbers belong to the queue pairs of core.Message
	on, err := h.Connect(at)
	require.NoError(t, err)
	return h, on
}

// packet returns p as our host gets it.
func (c *conversation) packet(p *caught, from, to core.Addr) *core.Packet {
	made := &core.Packet{From: from, To: to, Proto: core.ProtoRoCE, EV: p.v.IP.Entropy, ECN: core.ECN(p.v.IP.Class.ECN()),
		Payload: core.Payload{Owner: from, Buffer: captured, Offset: p.payload, Length: uint32(len(p.v.Payload))}}
	header := p.v.Header
	header.DestQP |= 1 << 20
	made.HeaderLen = uint8(len(header.Append(made.Header[:0], wire.Standard)))
	if !p.intact {
		made.Flags |= core.Corrupt
	}
	return made
}

// transmit returns the next packet that h sends now, nil if none.
func transmit(t *testing.T, h *Host, now Time) (*wire.Header, *core.Packet) {
	var p core.Packet
	if !h.Transmit(now, core.Pull{Open: core.AllClasses}, &p) {
		return nil, nil
	}
	var head wire.Header
	n, refusal := wire.Parse(p.Header[:p.HeaderLen], wire.Standard, &head)
	require.Equal(t, wire.Accepted, refusal)
	require.Equal(t, int(p.HeaderLen), n)
	return &head, &p
}

// clone returns a copy of h that goes its own way but for the registered memory.
func clone(h *Host) *Host {
	c := *h
	c.peers, c.qps, c.control = slices.Clone(h.peers), slices.Clone(h.qps), slices.Clone(h.control)
	c.parts, c.messages, c.works = slices.Clone(h.parts), slices.Clone(h.messages), slices.Clone(h.works)
	c.verbs, c.receives, c.replies, c.replays = slices.Clone(h.verbs), slices.Clone(h.receives), slices.Clone(h.replies), slices.Clone(h.replays)
	c.completions = slices.Clone(h.completions)
	c.timers = timerHeap{entries: slices.Clone(h.timers.entries), places: slices.Clone(h.timers.places)}
	c.ports = slices.Clone(h.ports)
	for k := range c.ports {
		p := &c.ports[k]
		p.answers.slots, p.ready.slots, p.replies.slots = slices.Clone(p.answers.slots), slices.Clone(p.ready.slots), slices.Clone(p.replies.slots)
	}
	c.events.slots = slices.Clone(h.events.slots)
	c.byQPN = maps.Clone(h.byQPN)
	return &c
}

// affine returns size bytes, of which byte j is 7j + add, as the programs that made the captures filled their memory.
func affine(size int, add byte) []byte {
	b := make([]byte, size)
	for j := range b {
		b[j] = byte(7*j) + add
	}
	return b
}

const ms = instant.Millisecond
