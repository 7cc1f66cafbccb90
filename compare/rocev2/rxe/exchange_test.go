//go:build linux

package rxe

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/rocev2"
)

// A lab is the guest with the cable to it.
type lab struct {
	own   netip.Addr
	guest *guest
	cable *gateway
	seed  uint64
}

// TestKernel runs everything in the company of one guest, since its boot takes longest.
func TestKernel(t *testing.T) {
	dir := os.Getenv("WEFT_RXE")
	if dir == "" {
		t.Skip("WEFT_RXE names no directory with a guest; .ci/rxe makes one")
	}
	id := os.Getpid() // so that two runs do not meet
	own := netip.AddrFrom4([4]byte{127, 64 | byte(id>>8)&63, byte(id), 1})
	socket := filepath.Join(t.TempDir(), "frames")
	l := &lab{own: own, cable: openGateway(t, own, own.Next(), socket)}
	l.guest = boot(t, dir, socket, own.Next(), own)
	t.Run("exchange", l.exchanges)
	t.Run("not ready", l.notReady)
	t.Run("refused", l.refused)
	t.Run("sparse", l.sparse)
	t.Run("dark", l.dark)
	t.Run("gives up", l.givesUp)
}

// meet connects our end and the kernel's.
func (l *lab) meet(t testing.TB, c conditions) *end {
	l.seed++
	l.cable.weather(c, l.seed)
	l.guest.t = t
	e := openEnd(t, l.own, c)
	e.connect(c, l.cable.their.String(), l.guest.connect(c, ourQPN))
	e.meet(l.guest.place())
	l.guest.meet(e.place())
	return e
}

// roles are who asks and who answers on a new connection.
type roles struct {
	asks, answers side
	cable         *gateway
	requests      int // direction of requests
}

// tallies returns what went in the directions of requests and of answers.
func (r *roles) tallies() (asked, answered tally) {
	out, in := r.cable.tallies()
	if r.requests == outward {
		return out, in
	}
	return in, out
}

// roles lets test run with our end as requester, and as responder.
func (l *lab) roles(t *testing.T, name string, c conditions, test func(testing.TB, roles)) {
	for _, requests := range []int{outward, inward} {
		t.Run(fmt.Sprintf("%s/%s", name, [...]string{"requester", "responder"}[requests]), func(plain *testing.T) {
			t := judge{plain, l.cable}
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("the latest packets:\n%s", l.cable.story())
				}
			})
			var r roles
			if e := l.meet(t, c); requests == outward {
				r = roles{e, l.guest, l.cable, requests}
			} else {
				r = roles{l.guest, e, l.cable, requests}
			}
			test(t, r)
			out, in := l.cable.tallies()
			require.Zero(t, out.damaged, "ICRCs of ours")
			require.Zero(t, in.damaged, "ICRCs of the kernel")
		})
	}
}

// A judge does not blame the test for what the kernel got wrong by itself.
type judge struct {
	testing.TB
	cable *gateway
}

func (j judge) Errorf(format string, args ...any) {
	j.Helper()
	if why := j.cable.contradiction(); why != "" {
		j.Skipf("not judged, since the kernel contradicts itself: %s", why)
	}
	j.TB.Errorf(format, args...)
}

// Memory of both ends: what is sent, and what is written to.
const (
	source, target = 0, memoryBytes / 2
	areaBytes      = memoryBytes / 2
	atomics        = 48 // more than may be under way at once
)

// exchanges moves bytes with every operation, in both roles.
func (l *lab) exchanges(t *testing.T) {
	for _, c := range []struct {
		name string
		most uint64 // bytes of a message
		conditions
	}{
		{"clean", 1<<20 - 3, conditions{retries: forever, rnrRetries: forever, timeout: patient, mtu: 1024, ourPSN: 0x100, guestPSN: 0x200}},
		{"MTU 4096, PSNs wrap", 1<<20 + 1, conditions{retries: forever, rnrRetries: forever, timeout: patient, mtu: 4096, ourPSN: 0xfffff0, guestPSN: 0xfffff8}},
		{"1 % loss, PSNs wrap", 1<<20 - 3, conditions{retries: forever, rnrRetries: forever, timeout: brisk, mtu: 1024, loss: 0.01, ourPSN: 0xffff00, guestPSN: 0xfffe00}},
		{"1 % loss, MTU 256", 100_001, conditions{retries: forever, rnrRetries: forever, timeout: brisk, mtu: 256, loss: 0.01, ourPSN: 0x100, guestPSN: 0x200}},
		{"all marked CE", 1<<16 + 1, conditions{retries: forever, rnrRetries: forever, timeout: patient, mtu: 1024, marked: true, ourPSN: 0x100, guestPSN: 0x200}},
	} {
		l.roles(t, c.name, c.conditions, func(t testing.TB, r roles) {
			x := exchange{roles: r, t: t, sizes: sizes(uint64(c.mtu), c.most)}
			x.run()
			asked, answered := r.tallies()
			require.EqualValues(t, x.operations, answered.msn, "the MSN counts operations")
			t.Logf("%d operations, %d bytes; requests: %v; answers: %v", x.operations, x.bytes, &asked, &answered)
			if c.loss > 0 {
				require.NotZero(t, asked.lost)
				require.NotZero(t, answered.lost)
			}
			out, _ := l.cable.tallies()
			require.Equal(t, c.marked, out.cnps > 0, "congestion notifications to the kernel, which knows none")
		})
	}
}

// An exchange is every operation from one side to the other.
type exchange struct {
	roles
	t          testing.TB
	sizes      []uint64
	operations int
	bytes      uint64
	seed       uint64
}

func (x *exchange) run() {
	x.move(rocev2.Write)
	x.move(rocev2.Send)
	x.move(rocev2.WriteImmediate)
	x.move(rocev2.SendImmediate)
	x.move(rocev2.Read)
	x.add()
	x.swap()
}

// sizes are those at which packets begin to differ, and large ones.
func sizes(mtu, most uint64) []uint64 {
	return []uint64{1, 2, 3, 4, 5, mtu - 1, mtu, mtu + 1, 2 * mtu, 3*mtu - 2, 64<<10 + 5, most}
}

// move carries out one operation with all sizes, posted at once. Then the area that was written to must be what it was
// before, with the bytes in their places, and the completions in order.
func (x *exchange) move(verb rocev2.Verb) {
	x.t.Helper()
	from, to := x.asks, x.answers
	if verb == rocev2.Read {
		from, to = x.answers, x.asks
	}
	x.seed += 2
	from.fill(source, areaBytes, x.seed)
	to.fill(target, areaBytes, x.seed+1)
	sent, want := make([]byte, areaBytes), make([]byte, areaBytes)
	fill(sent, x.seed)
	fill(want, x.seed+1)
	at, into := uint64(0), uint64(0)
	for k, size := range x.sizes {
		r := request{verb: verb, id: uint64(k), at: source + at, length: size, there: target + into}
		if verb == rocev2.Read {
			r.at, r.there = target+into, source+at
		}
		switch verb {
		case rocev2.Send, rocev2.SendImmediate:
			x.answers.receive(uint64(k), target+into, size)
		case rocev2.WriteImmediate:
			x.answers.receive(uint64(k), target, 0)
		}
		x.asks.post(r)
		copy(want[into:], sent[at:at+size])
		at += size + 11 // nothing is aligned
		into += size + 7
		x.operations++
		x.bytes += size
	}
	for k, size := range x.sizes {
		require.Equal(x.t, ending{id: uint64(k)}, x.asks.next(), "%v of %d bytes: how %v see it", verb, size, x.asks)
		if received := arrival(verb, uint64(k), size); received != (ending{}) {
			require.Equal(x.t, received, x.answers.next(), "%v of %d bytes: how %v see it", verb, size, x.answers)
		}
	}
	require.Equal(x.t, digest(want), to.digest(target, areaBytes), "%v: the bytes", verb)
}

// arrival returns how the receive of a message ends; nothing if it takes none.
func arrival(verb rocev2.Verb, id, length uint64) ending {
	switch verb {
	case rocev2.Send:
		return ending{id: id, length: length}
	case rocev2.WriteImmediate, rocev2.SendImmediate:
		return ending{id: id, length: length, immediate: immediate(id)}
	}
	return ending{}
}

// add lets FETCH_ADDs count: each must be carried out once, and tell the value before it.
func (x *exchange) add() {
	x.t.Helper()
	const first, step = 1<<63 + 5, 3<<32 + 7
	x.atomics(rocev2.FetchAdd, first, func(k int, now uint64) (r request, old, then uint64) {
		return request{add: step}, now, now + step
	})
}

// swap lets CMP_SWAPs succeed and fail by turns.
func (x *exchange) swap() {
	x.t.Helper()
	x.atomics(rocev2.CompareSwap, 1000, func(k int, now uint64) (r request, old, then uint64) {
		r = request{compare: now, add: now*3 + 1}
		if k%2 == 1 {
			r.compare++
			return r, now, now
		}
		return r, now, r.add
	})
}

func (x *exchange) atomics(verb rocev2.Verb, value uint64, next func(k int, now uint64) (r request, old, then uint64)) {
	x.t.Helper()
	const word = target + 64
	x.answers.set(word, value)
	var olds []byte
	for k := range atomics {
		r, old, then := next(k, value)
		r.verb, r.id, r.at, r.length, r.there = verb, uint64(k), source+8*uint64(k), 8, word
		x.asks.post(r)
		olds = binary.LittleEndian.AppendUint64(olds, old)
		value = then
		x.operations++
		x.bytes += 8
	}
	for k := range atomics {
		require.Equal(x.t, ending{id: uint64(k)}, x.asks.next(), fmt.Sprint(verb))
	}
	require.Equal(x.t, digest(olds), x.asks.digest(source, uint64(len(olds))), "%v: the values before", verb)
	require.Equal(x.t, value, x.answers.get(word), "%v: the value in the end", verb)
}
