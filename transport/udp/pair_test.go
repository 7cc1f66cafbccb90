package udp

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/spray"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// patience is how long a test waits before it fails: machines are slow and shared, and nothing is
// measured here.
const patience = 2 * time.Minute

// An end is a carrier with a UET endpoint of its own.
type end struct {
	*Carrier
	host   *core.Endpoint
	events chan core.Event
}

// uet is a configuration for sockets of a machine that may be busy with something else: a window of 64
// packets, a timer that a sleeping peer does not set off, and any number of retries.
func uet(t testing.TB, params map[string]string) core.Config {
	t.Helper()
	window, _, err := congestion.Registry.Make("fixed", map[string]string{"window": "256KiB"})
	require.NoError(t, err)
	if params == nil {
		params = map[string]string{"run": "8", "evs": "64"}
	}
	sprayer, _, err := spray.Registry.Make("oblivious", params)
	require.NoError(t, err)
	return core.Config{PayloadMTU: 1024, ControlClass: 1, NewController: window, NewSprayer: sprayer, BaseRTT: 100 * instant.Microsecond,
		RTO: core.RTOConfig{Init: 20 * instant.Millisecond, Max: 200 * instant.Millisecond, MaxRetries: -1}, OnlyRegistered: true, Seed: 11}
}

// open makes an end; change, if not nil, may alter both configurations.
func open(t testing.TB, local string, change func(*Config, *core.Config)) *end {
	t.Helper()
	c := Config{Local: []netip.AddrPort{netip.AddrPortFrom(netip.MustParseAddr(local), 0)}, Lanes: 8}
	u := uet(t, nil)
	if change != nil {
		change(&c, &u)
	}
	k, err := Listen(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, k.Close()) })
	u.Self, u.Remote = k.Self(), k.Remote
	h, err := core.New(u)
	require.NoError(t, err)
	e := &end{k, h, make(chan core.Event, 1<<12)}
	require.NoError(t, k.Start(h, e.take))
	return e
}

func (e *end) take(core.Time) {
	var buf [16]core.Event
	for n := e.host.Events(buf[:]); n > 0; n = e.host.Events(buf[:]) {
		for _, v := range buf[:n] {
			e.events <- v
		}
	}
}

// register makes memory known to the host.
func (e *end) register(b []byte) (key uint32) {
	e.Do(func(core.Time) { key = e.host.Register(b) })
	return key
}

// write sends a message.
func (e *end) write(t testing.TB, m core.Message) {
	t.Helper()
	var err error
	require.NoError(t, e.Do(func(now core.Time) { err = e.host.Send(now, m) }))
	require.NoError(t, err)
}

// await returns the next event of a kind.
func (e *end) await(t testing.TB, kind core.EventKind) core.Event {
	t.Helper()
	late := time.After(patience)
	for {
		select {
		case v := <-e.events:
			require.NotEqual(t, core.Failed, v.Kind, "a message failed: %v", v.Err)
			if v.Kind == kind {
				return v
			}
		case <-late:
			s, _ := e.Stats()
			require.Fail(t, "nothing came", "%+v", s)
		}
	}
}

// stats returns the statistics of a running carrier.
func (e *end) stats(t testing.TB) Stats {
	t.Helper()
	s, err := e.Stats()
	require.NoError(t, err)
	return s
}

// random returns bytes that no mistake reproduces.
func random(n int, seed uint64) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	r.Read(b)
	return b
}

// move writes count messages of length bytes from a to b and compares every byte.
func move(t testing.TB, a, b *end, count, length int) {
	t.Helper()
	to, err := a.Resolve(b.Local()[0].String())
	require.NoError(t, err)
	from, into := random(count*length, uint64(count)), make([]byte, count*length)
	source, key := a.register(from), b.register(into)
	for i := range count {
		at := uint64(i * length)
		a.write(t, core.Message{To: to, Buffer: source, Offset: at, Length: uint64(length), RemoteKey: uint64(key), RemoteOffset: at, Cookie: uint64(i)})
	}
	for range count {
		a.await(t, core.Completed)
	}
	for range count {
		require.EqualValues(t, length, b.await(t, core.Delivered).Length)
	}
	var same bool
	require.NoError(t, b.Do(func(core.Time) { same = string(from) == string(into) }))
	require.True(t, same, "other bytes than were sent")
}
