package live_test

import (
	"net"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/emulator/live"
	"github.com/weft-transport/weft/emulator/netns"
	"github.com/weft-transport/weft/transport/instant"
)

// A carried is a program's transport on a live carrier: it moves bytes from the first host to the last of four.
type carried struct {
	name  string
	marks bool // it says to the network that it understands marks
	move  func(t *testing.T, f *live.Fabric, bytes int)
}

func transports() []carried {
	return []carried{
		{"quic-go in process", false, func(t *testing.T, f *live.Fabric, bytes int) {
			to := socket(t, f, 3)
			quicTransfer(t, socket(t, f, 0), to, to.LocalAddr(), bytes)
		}},
		{"quic-go over a relay", false, func(t *testing.T, f *live.Fabric, bytes int) {
			from, err := net.ListenPacket("udp4", "127.0.0.1:0")
			require.NoError(t, err)
			to, err := net.ListenPacket("udp4", "127.0.0.1:0")
			require.NoError(t, err)
			r, err := live.NewRelay(f, live.RelayConfig{Listen: "127.0.0.1:0", Target: to.LocalAddr().String(), From: 0, To: 3})
			require.NoError(t, err)
			defer r.Close()
			quicTransfer(t, from, to, r.Addr(), bytes)
		}},
		{"quic-go over TUN", true, func(t *testing.T, f *live.Fabric, bytes int) {
			names := devices(t, f, 4, 1500)
			open := func(host int) (c net.PacketConn) {
				require.NoError(t, netns.Within(names[host], func() (err error) {
					c, err = net.ListenUDP("udp4", &net.UDPAddr{IP: live.AddrOf(host).AsSlice(), Port: 443})
					return err
				}))
				return c
			}
			to := open(3)
			quicTransfer(t, open(0), to, to.LocalAddr(), bytes)
		}},
		{"TCP over TUN", true, func(t *testing.T, f *live.Fabric, bytes int) {
			names := devices(t, f, 4, 1500)
			for _, ns := range names {
				out, err := exec.Command("ip", "netns", "exec", ns, "sysctl", "-qw", "net.ipv4.tcp_ecn=1", "net.ipv4.tcp_congestion_control=reno").CombinedOutput()
				require.NoError(t, err, "%s", out)
			}
			transfer(t, names[0], names[3], 3, bytes)
		}},
	}
}

// Every transport gets its bytes to the other end of a network that loses, delays, reorders, marks or fails, on every live
// carrier that it can use; and the network did so.
func TestTransfersCrossImpairedNetworks(t *testing.T) {
	const bytes = 2 << 20
	shaped := func(t *testing.T, c carried, line string) (lost uint64, damaged int) {
		n := leafSpine(t, 4, 200e6, 100*instant.Microsecond)
		shape(t, n, 1, line)
		f, err := live.New(live.Config{Network: n})
		require.NoError(t, err)
		defer f.Close()
		require.NoError(t, f.Network(func(e *emulator.Fabric) {
			e.Tap(func(_ instant.Time, s *emulator.Sighting) {
				if s.What == emulator.Damaged {
					damaged++
				}
			})
		}))
		c.move(t, f, bytes)
		require.NoError(t, f.Network(func(e *emulator.Fabric) {
			lost = e.Totals().Dropped[emulator.DropRandom]
			e.Tap(nil)
		}))
		return lost, damaged
	}
	for _, c := range transports() {
		t.Run(c.name, func(t *testing.T) {
			for name, line := range map[string]string{"loss": "loss 1% seed 4", "bursts of loss": "loss gemodel 0.5% 30% seed 4"} {
				t.Run(name, func(t *testing.T) {
					lost, _ := shaped(t, c, line)
					require.NotZero(t, lost)
				})
			}
			t.Run("delay", func(t *testing.T) { shaped(t, c, "delay 3ms 1ms 25% distribution normal") })
			t.Run("disorder, damage and doubles", func(t *testing.T) {
				_, damaged := shaped(t, c, "delay 2ms 1ms order free duplicate 1% corrupt 0.5% reorder 5% seed 4")
				require.NotZero(t, damaged)
			})
			t.Run("marks", func(t *testing.T) {
				n := leafSpine(t, 4, 200e6, 100*instant.Microsecond)
				last := n.LinkNamed("leaf1-h3")
				n.Links[last].RateBps = 20e6
				f, err := live.New(live.Config{Network: n, ECNBytes: 30_000, QueueBytes: 4 << 20})
				require.NoError(t, err)
				defer f.Close()
				c.move(t, f, bytes)
				require.NoError(t, f.Network(func(e *emulator.Fabric) {
					require.Equal(t, c.marks, e.Port(last).Marked > 0)
					if c.marks {
						require.Less(t, e.Port(last).MaxQueue, int64(1<<20), "it sends less when it hears of marks")
					}
				}))
			})
			t.Run("a path that fails", func(t *testing.T) {
				f, n := failing(t)
				cut := cutBusiest(t, f, n, 200)
				c.move(t, f, 2*bytes)
				movedOn(t, f, n, cut)
			})
		})
	}
}
