package udp

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/wire"
)

// A waking Stack wakes a waiter with every packet that comes, and answers each.
type waking struct {
	rawEnd
	w       core.Waiter
	busy    bool // it also wakes it whenever it is looked at
	answers core.Packet
}

func (s *waking) HandlePacket(now core.Time, p *core.Packet) {
	s.queue, s.ports = append(s.queue, s.answers), append(s.ports, 0)
	s.w.Wake()
}

func (s *waking) HandleTimeout(now core.Time) { s.w.Wake() }

func (s *waking) Deadline() core.Time {
	if s.busy {
		return 0
	}
	return core.Never
}

// openWaking opens an end that whoever waits drives, and another that it answers to.
func openWaking(t *testing.T) (s *waking, other *rawEnd) {
	other = openRaw(t, "127.0.0.1", nil)
	k, err := Listen(Config{Local: []netip.AddrPort{at("127.0.0.1", 0)}, Lanes: 8, Inline: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, k.Close()) })
	s = &waking{rawEnd: rawEnd{Carrier: k, t: t}, w: k.Waiter()}
	h := wire.Ack{SPDCID: 1, DPDCID: 2}
	s.answers.HeaderLen = uint8(h.Put(s.answers.Header[:]))
	s.answers.Proto = core.ProtoUET
	s.answers.To, err = k.Resolve(other.Local()[0].String())
	require.NoError(t, err)
	require.NoError(t, k.Start(s, nil))
	return s, other
}

// driving calls f with the wheel in hand, and no driver in it.
func (s *waking) driving(f func()) {
	for !s.takeWheel() {
	}
	f()
	s.wheel.Unlock()
}

// TestAPeerDoesNotWaitForOneThatOnlyWaits has every look at the sockets end a wait.
func TestAPeerDoesNotWaitForOneThatOnlyWaits(t *testing.T) {
	s, other := openWaking(t)
	to, err := other.Resolve(s.Local()[0].String())
	require.NoError(t, err)
	s.wheel.wanted.Add(1) // no relief
	defer s.wheel.wanted.Add(-1)
	s.driving(func() { s.busy = true })
	start := time.Now()
	for i := 0; len(other.got) == 0; i++ {
		if i == 10 {
			go other.postOn(t, to, make([]core.Packet, 1), 0)
		}
		s.driving(func() { s.parting.prompt = true }) // as it may have been before
		s.w.Wait(core.Never)
		require.Less(t, time.Since(start), patience)
	}
	s.driving(func() { s.busy = false })
}

// TestWhoHasNoAnswerLetsTheAcknowledgementGo looks at the order in which a waiter is let go and its peer answered.
func TestWhoHasNoAnswerLetsTheAcknowledgementGo(t *testing.T) {
	s, other := openWaking(t)
	to, err := other.Resolve(s.Local()[0].String())
	require.NoError(t, err)
	for range 10 {
		var sent, after uint64
		var heard, heardAfter time.Duration
		s.driving(func() { sent, heard = s.Carrier.stats.Sent, s.heard })
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.w.Wait(core.Never)
			s.driving(func() { after, heardAfter = s.Carrier.stats.Sent, s.heard })
		}()
		other.postOn(t, to, make([]core.Packet, 1), 0)
		<-done
		require.Equal(t, sent+1, after, "it is acknowledged when the waiter goes on")
		require.Greater(t, heardAfter, heard, "after a packet a driver polls for a while")
		other.next(t)
	}
}

// TestMailIsNoLookAtSockets: a turn that looks at no socket does not count as a look.
func TestMailIsNoLookAtSockets(t *testing.T) {
	s, _ := openWaking(t)
	var was, passed, looked time.Duration
	s.driving(func() {
		was = s.looked
		s.turn(false)
		passed = s.looked
		s.turn(true)
		looked = s.looked
	})
	require.Equal(t, was, passed)
	require.Greater(t, looked, was)
}
