package emulator

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/core"
)

// fourPlanes is 16 hosts of 100 Gbit/s, with a port of 25 Gbit/s in each of four leaf-spines.
func fourPlanes(t *testing.T, cfg Config) (*Network, *Fabric) {
	t.Helper()
	n := build(t, "planes", map[string]string{"planes": "4", "leaves": "4"}, hundredGig)
	cfg.Classes, cfg.LinkOverhead, cfg.BufferBytes = onlyData(), 64, 64<<20
	f, err := New(n, cfg)
	require.NoError(t, err)
	return n, f
}

// into counts the packets that a card has sent into each plane.
func into(f *Fabric, card string) (load [4]float64) {
	for i, l := range f.net.Links {
		var plane, leaf int
		if _, err := fmt.Sscanf(l.Name, card+"-p%dleaf%d", &plane, &leaf); err == nil {
			load[plane] += float64(f.Port(i).Packets)
		}
	}
	return load
}

func TestPlanesAreApart(t *testing.T) {
	n, _ := fourPlanes(t, Config{})
	require.Equal(t, 16+4*(4+4), n.Switches)
	require.Len(t, n.Links, 2*(16+4*(16+4*4)))
	for _, l := range n.Links {
		from, to := n.NodeNames[l.From], n.NodeNames[l.To]
		require.Equal(t, from+"-"+to, l.Name)
		require.Equal(t, l.From, n.Links[l.Reverse].To)
		if from[0] == 'p' && to[0] == 'p' {
			require.Equal(t, from[:2], to[:2], "no cable between planes")
		}
		if strings.HasPrefix(from, "h") {
			require.Equal(t, int64(100e9), l.RateBps)
		} else if l.Up {
			require.Equal(t, int64(25e9), l.RateBps)
		}
	}
}

// One packet crosses the host's own link at 100 Gbit/s, four cables at 25 Gbit/s and the last hop at 100 Gbit/s.
// Only cables have length. The rate of a way is that of all planes together.
func TestRulerOfPlanes(t *testing.T) {
	n, f := fourPlanes(t, Config{})
	r, err := NewRuler(n)
	require.NoError(t, err)
	const fast, slow = 332_800, 4 * 332_800 // picoseconds for 4160 bytes
	idle := Time(2*fast + 4*(slow+us))
	require.Equal(t, idle, r.OneWay(0, 15, 4160))
	require.Equal(t, int64(100e9), r.Rate(0, 15))
	s := attachSenders(f)
	s[0].to, s[0].count = 15, 1
	f.Wake(0)
	run(t, f, Never-1)
	require.Equal(t, idle, s[15].last)
}

// Packets of one entropy value keep to one plane, at its rate; packets of many use all planes, at the host's.
func TestEntropyChoosesThePlane(t *testing.T) {
	const packets, fast = 4000, 332_800
	for _, sprayed := range []bool{false, true} {
		_, f := fourPlanes(t, Config{})
		s := attachSenders(f)
		s[0].to, s[0].count, s[0].oneEV = 15, packets, !sprayed
		f.Wake(0)
		run(t, f, Never-1)
		require.Equal(t, packets, s[15].got)
		load := into(f, "nic0")
		if sprayed {
			for plane, n := range load {
				require.InDelta(t, packets/4, n, 150, "plane %d", plane)
			}
			require.InDelta(t, packets*fast, float64(s[15].last), 0.2*packets*fast)
			continue
		}
		require.Contains(t, load, float64(packets))
		require.InDelta(t, 4*packets*fast, float64(s[15].last), 0.01*4*packets*fast)
	}
}

// When the switches of a plane are cut from each other and routing has converged, cards leave it out for destinations
// under other leaves, nothing is lost from then on, and no card forwards for others, not even where that would be the only way.
func TestAPlaneThatDies(t *testing.T) {
	n, f := fourPlanes(t, Config{RerouteLocal: 1 * us, RerouteAll: 2 * us})
	var cut []int
	for i, l := range n.Links {
		if strings.HasPrefix(l.Name, "p1") && strings.Contains(l.Name, "spine") {
			cut = append(cut, i)
		}
	}
	require.Len(t, cut, 2*4*4)
	require.NoError(t, f.Schedule(Fault{Kind: LinkDown, Links: cut, For: Never}))
	s := attachSenders(f)
	f.At(10*us, func(Time) {
		s[0].to, s[0].count = core.Addr(15), 3000
		s[1].to, s[1].count = core.Addr(2), 1000 // under the same leaf: all planes still lead there
		f.Wake(0)
		f.Wake(1)
	})
	run(t, f, Never-1)
	require.Equal(t, []int{3000, 1000}, []int{s[15].got, s[2].got})
	far, near := into(f, "nic0"), into(f, "nic1")
	require.Zero(t, far[1])
	require.NotZero(t, near[1])
	for sw := range n.Switches { // no card is on the way to another
		for leaf := range f.routing.leaves {
			set := f.routing.sets[sw*f.routing.leaves+leaf]
			for _, hop := range f.routing.hops[set.start() : set.start()+set.count()] {
				to := n.Links[hop].To
				require.True(t, !n.IsCard(to) || to == f.routing.leafNode[leaf], "%s leads towards %s", n.Links[hop].Name, n.NodeNames[f.routing.leafNode[leaf]])
			}
		}
	}
}
