package rocev2

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/congestion"
)

// A shy controller closes its window to one packet when the first acknowledgement comes, and opens it with the
// next ones.
type shy struct {
	mtu, window int64
	acks        int
}

func (s *shy) OnSent(Time, int64, int64)        {}
func (s *shy) OnSignal(Time, congestion.Signal) {}
func (s *shy) OnTimeout(Time)                   {}
func (s *shy) Deadline() Time                   { return never }
func (s *shy) Rate() int64                      { return 0 }
func (s *shy) Window() int64                    { return s.window }
func (s *shy) OnAck(Time, congestion.Ack) {
	if s.acks++; s.acks == 1 {
		s.window = s.mtu
		return
	}
	s.window += s.mtu
}

// A window that closes behind packets that are under way opens again: one of them asks for an
// acknowledgement, and the timer is not what ends the wait.
func TestWindowThatClosesOpensAgain(t *testing.T) {
	for _, every := range []int{1, 3, 16} {
		c := testConfig()
		c.AckEvery, c.AckReqEvery = every, 1000
		c.Make = func(p congestion.Path) congestion.Controller { return &shy{mtu: p.MTU, window: 1000 * p.MTU} }
		n := newNet(t, 2, c)
		n.write(400 * testMTU)
		n.finish(1)
		require.Zero(t, n.hosts[0].count.Timeouts)
		require.Less(t, n.now, 5000*us)
	}
}
