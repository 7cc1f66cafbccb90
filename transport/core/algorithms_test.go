package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/spray"
)

// Every registered controller and sprayer carries messages through weather.
func TestEveryRegisteredAlgorithm(t *testing.T) {
	for _, cc := range congestion.Registry.Names() {
		for _, sp := range spray.Registry.Names() {
			c := trimming()
			c.Telemetry = noReports{}
			c.RTO = RTOConfig{Adaptive: true, MaxRetries: -1}
			var err error
			c.NewController, _, err = congestion.Registry.Make(cc, nil)
			require.NoError(t, err)
			c.NewSprayer, _, err = spray.Registry.Make(sp, nil)
			require.NoError(t, err)
			p := newPair(t, c, nil)
			weather := random(1)
			p.fates = func(from int, out *Packet) fate {
				return fate{drop: weather.chance(0.01), trim: weather.chance(0.05) && out.Flags&Trimmable != 0, mark: weather.chance(0.1), late: Time(weather.next() % uint64(5*us))}
			}
			p.send(300 * 1024)
			p.send(1000)
			p.runDone(2)
			p.run()
			require.Len(t, p.events[1], 2, "%s over %s", cc, sp)
			p.balanced()
		}
	}
}

// noReports is a carrier with telemetry whose switches are silent.
type noReports struct{}

func (noReports) Hops(uint32) []Hop { return nil }
func (noReports) Release(uint32)    {}

// Where nobody stamps packets, a controller that works from telemetry is refused; where somebody does, reports of
// the packet that caused an acknowledgement come back with it, and those of others stay with their packets.
func TestTelemetryComesBackWithAcknowledgements(t *testing.T) {
	c := base()
	var err error
	c.NewController, _, err = congestion.Registry.Make("hpcc", nil)
	require.NoError(t, err)
	_, err = New(c)
	require.ErrorContains(t, err, "nobody stamps packets here")

	c.NewController, c.Telemetry = nil, shelf{}
	p := newPair(t, c, nil)
	brought := 0
	p.fates = func(from int, out *Packet) fate {
		if isData(out) {
			out.Telemetry = uint32(p.dataNo[0]) + 1
		} else if out.Telemetry != 0 {
			brought++
		}
		return fate{}
	}
	p.send(200 * 1024)
	p.runDone(1)
	p.run()
	latest := int64(0)
	for _, a := range p.cc[0][0].acks {
		require.Len(t, a.Hops, 1)
		require.Greater(t, a.Hops[0].SentBytes, latest, "of the packet that caused it")
		latest = a.Hops[0].SentBytes
	}
	require.EqualValues(t, p.dataNo[0], latest, "the last packet was acknowledged")
	require.Equal(t, len(p.cc[0][0].acks), brought)
}

// A shelf is telemetry that says which packet it is of.
type shelf struct{ noReports }

func (shelf) Hops(handle uint32) []Hop { return []Hop{{SentBytes: int64(handle)}} }

func TestContextsAreShown(t *testing.T) {
	p := newPair(t, base(), nil)
	require.True(t, p.A().Idle())
	p.send(50 * 1024)
	p.launchAll(0)
	var s [2]ContextState
	require.Equal(t, 1, p.A().Contexts(s[:]))
	require.Equal(t, ContextState{Peer: 2, Window: 150_000, InFlight: 50 * 1280, EV: s[0].EV, Room: true}, s[0])
	require.False(t, p.A().Idle())
	p.run()
	require.Equal(t, 1, p.A().Contexts(s[:0]))
	p.A().Contexts(s[:])
	require.Zero(t, s[0].InFlight)
	require.InDelta(t, float64(10*us), float64(s[0].SRTT), float64(3*us))
	require.True(t, p.A().Idle())
}

// What hosts take is known where the base RTT is learnt: it is what that begins with.
func TestControllersHearWhatHostsTake(t *testing.T) {
	for _, v := range []struct {
		learns    bool
		pair      Time
		base, min Time
	}{{false, 0, 7 * us, 0}, {true, 0, 7 * us, 7 * us}, {true, 3 * us, 3 * us, 3 * us}, {true, 9 * us, 9 * us, 9 * us}} {
		c := base()
		c.BaseRTT, c.LearnRTT = 7*us, v.learns
		c.BaseRTTOf = func(Addr, Addr) Time { return v.pair }
		var path congestion.Path
		c.NewController = func(p congestion.Path) congestion.Controller {
			if path.BaseRTT == 0 {
				path = p
			}
			m, _, err := congestion.Registry.Make("fixed", nil)
			require.NoError(t, err)
			return m(p)
		}
		p := newPair(t, c, nil)
		path = congestion.Path{} // the first one for a peer; others follow when the base RTT is known
		p.send(1)
		p.run()
		require.Equal(t, v.base, path.BaseRTT, "%+v", v)
		require.Equal(t, v.min, path.LeastRTT, "%+v", v)
	}
}
