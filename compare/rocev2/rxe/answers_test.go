//go:build linux

package rxe

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/rocev2"
	"github.com/weft-transport/weft/compare/rocev2/wire"
)

// What is said when not all goes well. Where the kernel's way differs from the standard's, docs/ROCE.md section 13 says so.

var plain = conditions{mtu: 1024, retries: forever, rnrRetries: forever, timeout: patient, ourPSN: 0xfffffe, guestPSN: 0x10}

// until waits for something to be seen on the cable.
func (r *roles) until(t testing.TB, what string, seen func(asked, answered *tally) bool) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		asked, answered := r.tallies()
		if seen(&asked, &answered) {
			return
		}
		require.True(t, time.Now().Before(end), "waiting for %s; requests: %v; answers: %v", what, &asked, &answered)
	}
}

// notReady lets a message come before its receive: an RNR NAK with the wait that was asked for, until there is one.
func (l *lab) notReady(t *testing.T) {
	for _, verb := range []rocev2.Verb{rocev2.Send, rocev2.WriteImmediate} {
		l.roles(t, verb.String(), plain, func(t testing.TB, r roles) {
			const length = 3000
			r.asks.fill(source, length, 7)
			r.asks.post(request{verb: verb, id: 1, at: source, length: length, there: target})
			r.until(t, "RNR NAK", func(_, answered *tally) bool { return answered.answers[wire.RNR(rnrCode)] > 0 })
			r.answers.receive(2, target, length)
			received := arrival(verb, 1, length)
			received.id = 2
			require.Equal(t, received, r.answers.next())
			require.Equal(t, ending{id: 1}, r.asks.next())
			require.Equal(t, r.asks.digest(source, length), r.answers.digest(target, length))
		})
	}
}

// refused asks for what must not be. The connection is over, and what is behind is flushed.
func (l *lab) refused(t *testing.T) {
	for _, c := range []struct {
		name    string
		request request
		room    uint64        // of a receive, if not 0
		kernel  wire.Syndrome // what the kernel answers
		ours    wire.Syndrome // what we answer; 0: its library does not let such a request out
	}{
		{"WRITE, no such key", request{verb: rocev2.Write, length: 2000, there: target, keyOff: 1 << 20}, 0, wire.NakRemoteAccess, wire.NakRemoteAccess},
		{"READ, no such key", request{verb: rocev2.Read, length: 2000, there: target, keyOff: 1 << 20}, 0, wire.NakRemoteAccess, wire.NakRemoteAccess},
		{"FetchAdd, no such key", request{verb: rocev2.FetchAdd, length: 8, there: target, keyOff: 1 << 20}, 0, wire.NakRemoteAccess, wire.NakRemoteAccess},
		{"WRITE beyond the region", request{verb: rocev2.Write, length: 2000, there: memoryBytes - 1999}, 0, wire.NakRemoteAccess, wire.NakRemoteAccess},
		{"READ beyond the region", request{verb: rocev2.Read, length: 2000, there: memoryBytes - 1999}, 0, wire.NakRemoteAccess, wire.NakRemoteAccess},
		{"CmpSwap, not aligned", request{verb: rocev2.CompareSwap, length: 8, there: target + 4}, 0, wire.NakInvalidRequest, 0},
		{"SEND longer than its receive", request{verb: rocev2.Send, length: 2000}, 1999, wire.NakRemoteOperate, wire.NakInvalidRequest},
	} {
		l.roles(t, c.name, plain, func(t testing.TB, r roles) {
			said, long := c.kernel, localOperation
			if r.requests == inward {
				said, long = c.ours, rocev2.LocalLength
			}
			if said == 0 {
				return
			}
			if c.room > 0 {
				r.answers.receive(3, target, c.room)
			}
			c.request.id = 1
			r.asks.post(c.request)
			r.asks.post(request{verb: rocev2.Write, id: 2, length: 8, there: target})
			status := map[wire.Syndrome]rocev2.Status{wire.NakRemoteAccess: rocev2.RemoteAccessError, wire.NakInvalidRequest: rocev2.RemoteInvalidRequest,
				wire.NakRemoteOperate: rocev2.RemoteOperationalError}[said]
			require.Equal(t, ending{id: 1, status: status}, r.asks.next())
			require.Equal(t, ending{id: 2, status: rocev2.Flushed}, r.asks.next())
			if c.room > 0 {
				require.Equal(t, ending{id: 3, status: long}, r.answers.next())
			}
			_, answered := r.tallies()
			require.NotZero(t, answered.answers[said], "answers: %v", &answered)
		})
	}
}

// sparse lets one acknowledgement in sixteen through: each stands for all before it.
func (l *lab) sparse(t *testing.T) {
	l.roles(t, "acknowledgements", plain, func(t testing.TB, r roles) {
		const operations, each = 128, 16
		l.cable.loses(func(direction int, v *wire.Datagram) bool {
			return direction != r.requests && v.Opcode == wire.Acknowledge && v.AETH.MSN%each != 0
		})
		for k := range uint64(operations) {
			r.asks.post(request{verb: rocev2.Write, id: k, length: 40, there: target + 64*k})
		}
		for k := range uint64(operations) {
			require.Equal(t, ending{id: k}, r.asks.next())
		}
		asked, answered := r.tallies()
		require.EqualValues(t, operations, answered.msn)
		t.Logf("%d requests asked for an acknowledgement; %v", asked.askedAck, &answered)
	})
}

// dark loses everything for a while, in one direction. Only timers help.
func (l *lab) dark(t *testing.T) {
	c := plain
	c.timeout = 14
	for _, verb := range []rocev2.Verb{rocev2.Write, rocev2.Read, rocev2.FetchAdd} {
		for _, way := range []string{"requests", "answers"} {
			l.roles(t, verb.String()+", no "+way, c, func(t testing.TB, r roles) {
				length, left := uint64(5000), 7
				if verb == rocev2.FetchAdd {
					length = 8
				}
				if verb != rocev2.Write && way == "requests" || verb == rocev2.Write && way == "answers" {
					left = 2 // of one packet
				}
				dark := r.requests
				if way == "answers" {
					dark = 1 - dark
				}
				r.answers.set(target, 100)
				l.cable.loses(func(direction int, _ *wire.Datagram) bool {
					lost := direction == dark && left > 0
					if lost {
						left--
					}
					return lost
				})
				r.asks.post(request{verb: verb, id: 1, at: source, length: length, there: target, add: 1})
				require.Equal(t, ending{id: 1}, r.asks.next())
				asked, answered := r.tallies()
				require.NotZero(t, asked.again)
				require.EqualValues(t, 1, answered.msn)
				if verb == rocev2.FetchAdd {
					require.EqualValues(t, 101, r.answers.get(target), "carried out once")
				}
			})
		}
	}
}

// givesUp counts the tries until a requester has had enough: as many as were asked for, whoever it is.
func (l *lab) givesUp(t *testing.T) {
	const few = 2
	c := plain
	c.retries, c.timeout = few, 14
	l.roles(t, "not answered", c, func(t testing.TB, r roles) {
		l.cable.loses(func(direction int, _ *wire.Datagram) bool { return direction == r.requests })
		r.asks.post(request{verb: rocev2.Write, id: 1, length: 8, there: target})
		require.Equal(t, ending{id: 1, status: rocev2.RetryExceeded}, r.asks.next())
		asked, _ := r.tallies()
		require.Equal(t, 1+few, asked.packets, "tries")
	})
	c = plain
	c.rnrRetries = few
	l.roles(t, "not ready", c, func(t testing.TB, r roles) {
		r.asks.post(request{verb: rocev2.Send, id: 1, length: 8})
		require.Equal(t, ending{id: 1, status: rocev2.RNRRetryExceeded}, r.asks.next())
		_, answered := r.tallies()
		require.GreaterOrEqual(t, answered.answers[wire.RNR(rnrCode)], 1+few, "RNR NAKs; more where a timer was faster")
	})
}
