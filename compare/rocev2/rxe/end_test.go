//go:build linux

package rxe

import (
	"encoding/binary"
	"hash/fnv"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/rocev2"
	"github.com/weft-transport/weft/compare/rocev2/sockets"
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/splitmix"
	"github.com/weft-transport/weft/transport/udp"
)

// A side is one end of a connection, with memory of its own.
type side interface {
	post(r request)
	receive(id, at, length uint64)
	next() ending // the next completion
	fill(at, length, seed uint64)
	digest(at, length uint64) uint64
	set(at, value uint64)
	get(at uint64) uint64
	String() string
}

// A request is what is asked of a side. Places are offsets in the memories of both.
type request struct {
	verb         rocev2.Verb
	id           uint64
	at, length   uint64 // here
	there        uint64
	keyOff       uint32 // added to the key, to make it wrong
	add, compare uint64
}

// An ending is a completion.
type ending struct {
	id        uint64
	status    rocev2.Status
	length    uint64 // of receives
	immediate uint32 // likewise
}

// immediate is what a request with immediate data brings: what peer.c sends, too.
func immediate(id uint64) uint32 { return 0x01020300 + uint32(id) }

// memoryBytes is what both ends have, at most.
const memoryBytes = 8 << 20

// Our names for things; any will do.
const (
	ourQPN  = 0x400000
	ourKey  = 0x5eed0001
	ourBase = 0x7f00_0000_0000
)

// An end is ours: the host over the carrier of sockets.
type end struct {
	t       testing.TB
	carrier *udp.Carrier
	host    *rocev2.Host
	pair    rocev2.QueuePair
	memory  []byte
	buffer  uint32
	there   place
	done    chan rocev2.Completion
}

var _, _ side = (*end)(nil), (*guest)(nil)

// openEnd makes our end.
func openEnd(t testing.TB, own netip.Addr, c conditions) *end {
	e := &end{t: t, memory: make([]byte, memoryBytes), done: make(chan rocev2.Completion, 1<<12)}
	var err error
	e.carrier, err = udp.Listen(udp.Config{Local: []netip.AddrPort{netip.AddrPortFrom(own, 0)}, Format: sockets.Format{}, OnePerAddress: true,
		Refuse: true, NoGSO: true, Spin: -1})
	require.NoError(t, err)
	t.Cleanup(func() { e.carrier.Close() })
	config := rocev2.Config{Path: congestion.Path{LineRateBps: 10e9, BaseRTT: instant.Millisecond, MTU: c.mtu + 100, MSS: c.mtu}, Control: 1,
		Remote: e.carrier.Remote, MaxOutstanding: 32, RetryCount: c.retries, RNRRetry: c.rnrRetries, RNRTimer: rnrCode}
	if c.retries == forever {
		config.RetryCount = -1
	}
	e.host, err = rocev2.New(e.carrier.Self(), config)
	require.NoError(t, err)
	e.buffer, err = e.host.RegisterRegion(rocev2.Region{Bytes: e.memory, Base: ourBase, Key: ourKey, Access: rocev2.AllAccess})
	require.NoError(t, err)
	require.NoError(t, e.carrier.Start(e.host, e.notify))
	return e
}

// notify passes completions on. It runs where the host is driven.
func (e *end) notify(core.Time) {
	var buf [32]rocev2.Completion
	for n := e.host.Completions(buf[:]); n > 0; n = e.host.Completions(buf[:]) {
		for _, c := range buf[:n] {
			e.done <- c
		}
	}
}

func (e *end) do(f func(now core.Time) error) {
	e.t.Helper()
	var err error
	require.NoError(e.t, e.carrier.Do(func(now core.Time) { err = f(now) }))
	require.NoError(e.t, err)
}

// connect makes the queue pair to that of the guest.
func (e *end) connect(c conditions, peer string, peerQPN uint32) {
	e.t.Helper()
	addr, err := e.carrier.Resolve(peer)
	require.NoError(e.t, err)
	e.do(func(core.Time) (err error) {
		e.pair, err = e.host.Connect(rocev2.Connection{Peer: addr, QPN: ourQPN, PeerQPN: peerQPN, SendPSN: c.ourPSN, ReceivePSN: c.guestPSN})
		return err
	})
}

func (e *end) place() place   { return place{ourKey, ourBase} }
func (e *end) meet(p place)   { e.there = p }
func (e *end) String() string { return "we" }

func (e *end) post(r request) {
	e.t.Helper()
	w := rocev2.WorkRequest{Verb: r.verb, Buffer: e.buffer, Offset: r.at, Length: r.length, RemoteKey: e.there.key + r.keyOff,
		RemoteOffset: e.there.base + r.there, Add: r.add, Compare: r.compare, Immediate: immediate(r.id), Cookie: r.id}
	e.do(func(now core.Time) error { return e.host.Post(now, e.pair, w) })
}

func (e *end) receive(id, at, length uint64) {
	e.t.Helper()
	b := rocev2.Buffer{Handle: e.buffer, Offset: at, Length: length, Cookie: id}
	e.do(func(now core.Time) error { return e.host.PostReceive(now, e.pair, b) })
}

func (e *end) next() ending {
	e.t.Helper()
	select {
	case c := <-e.done:
		x := ending{id: c.Cookie, status: c.Status}
		if c.Verb == rocev2.Receive && c.Status == rocev2.Success {
			x.length, x.immediate = c.Length, c.Immediate
		}
		return x
	case <-time.After(patience):
		require.FailNow(e.t, "our end waits for a completion that does not come")
		panic("not reached")
	}
}

// inside calls f where nobody else touches the memory.
func (e *end) inside(f func()) {
	e.t.Helper()
	e.do(func(core.Time) error { f(); return nil })
}

func (e *end) fill(at, length, seed uint64) {
	e.t.Helper()
	e.inside(func() { fill(e.memory[at:at+length], seed) })
}

func (e *end) digest(at, length uint64) (d uint64) {
	e.t.Helper()
	e.inside(func() { d = digest(e.memory[at : at+length]) })
	return d
}

func (e *end) set(at, value uint64) {
	e.t.Helper()
	e.inside(func() { binary.LittleEndian.PutUint64(e.memory[at:], value) })
}

func (e *end) get(at uint64) (value uint64) {
	e.t.Helper()
	e.inside(func() { value = binary.LittleEndian.Uint64(e.memory[at:]) })
	return value
}

// fill makes b the sequence of a seed, as the guest does.
func fill(b []byte, seed uint64) {
	var word [8]byte
	for len(b) > 0 {
		binary.LittleEndian.PutUint64(word[:], splitmix.Next(&seed))
		b = b[copy(b, word[:]):]
	}
}

func digest(b []byte) uint64 {
	h := fnv.New64a()
	h.Write(b)
	return h.Sum64()
}
