package udp

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/core"
)

func TestALaneConnectsToThePeerThatItHas(t *testing.T) {
	for _, ip := range families {
		t.Run(ip, func(t *testing.T) {
			needs(t, ip)
			const lane = 1 // not the first, whose socket receives as well
			a, b, c := openRaw(t, ip, nil), openRaw(t, ip, nil), openRaw(t, ip, nil)
			connected := func() (port uint16) {
				require.NoError(t, a.Do(func(core.Time) { port = a.sys.(*linux).lanes[0][lane].peer.port }))
				return port
			}
			// Every second packet has another class and no mark, so that each is a burst.
			packets := func(n int) []core.Packet {
				p := make([]core.Packet, n)
				for i := range p {
					if p[i].EV, p[i].ECN = lane, core.ECT0; i%2 == 1 {
						p[i].Class, p[i].ECN = 1, core.NotECT
					}
				}
				return p
			}
			send := func(to *rawEnd, n int) {
				want := packets(n)
				a.post(t, to, want)
				for i := range want {
					p := to.next(t)
					require.Equal(t, [2]any{want[i].Class, want[i].ECN}, [2]any{p.Class, p.ECN}, "packet %d", i)
					require.Equal(t, a.Self(), p.From)
				}
			}

			require.Zero(t, connected())
			send(b, 4*settled)
			send(b, 1) // changes are made between calls
			require.Equal(t, b.Local()[0].Port(), connected())
			send(c, 3)
			require.Equal(t, b.Local()[0].Port(), connected(), "another is reached without")
			send(c, 4*settled)
			send(c, 1)
			require.Equal(t, c.Local()[0].Port(), connected())

			require.NoError(t, c.Close())
			a.post(t, c, packets(4*settled)) // nobody is there, and the kernel says so
			until(t, func() bool { return connected() == 0 })
			send(b, 10)
			require.Zero(t, a.stats(t).Drops[SendError])
		})
	}
}
