package carrier

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// A source is a Host that always has a packet of 1000 bytes, and a timer.
type source struct {
	core.Host
	deadline, at core.Time
	timeouts     int
}

func (s *source) Transmit(now core.Time, _ core.Pull, p *core.Packet) bool {
	*p = core.Packet{Payload: core.Payload{Length: 1000}}
	s.at = now
	return true
}
func (s *source) Deadline() core.Time     { return s.deadline }
func (s *source) HandleTimeout(core.Time) { s.timeouts, s.deadline = s.timeouts+1, core.Never }

// TestCardAsksAtTheRateOfItsLink: a packet of 1000 bytes and 250 around them takes 100 us at 100 Mbit/s; and 1 ms of the wall where
// it is ten times as slow.
func TestCardAsksAtTheRateOfItsLink(t *testing.T) {
	for _, slow := range []float64{1, 10} {
		s := &source{deadline: core.Never}
		c := &card{Host: s, dilation: slow, rateBps: 100e6, overhead: 250, ahead: 300 * instant.Microsecond}
		wall := func(us float64) core.Time { return core.Time(us * slow * float64(instant.Microsecond)) }
		var p core.Packet
		sent := 0
		for now := wall(1000); now < wall(11_000); now += wall(10) {
			for c.Transmit(now, core.Pull{}, &p) {
				sent++
			}
			require.Greater(t, c.Deadline(), now, "it is asked again when there is room")
			require.LessOrEqual(t, c.Deadline(), now+wall(100)+1)
			c.HandleTimeout(now)
		}
		require.InDelta(t, 100+4, sent, 1, "what the link takes in 10 ms, and what is ahead of it")
		require.InDelta(t, 11_000, s.at.Seconds()*1e6, 150, "the Host is told the network's time")

		s.deadline = 20 * instant.Millisecond
		c.waiting = false
		require.Equal(t, wall(20_000)+1, c.Deadline())
		c.HandleTimeout(wall(19_000))
		require.Zero(t, s.timeouts)
		c.HandleTimeout(c.Deadline())
		require.Equal(t, 1, s.timeouts)
		require.Equal(t, core.Never, c.Deadline())
	}
}
