package emulator

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/core"
)

// fourRails is two pods of 8 hosts of 100 Gbit/s, with four rails of 25 Gbit/s.
func fourRails(t *testing.T, cfg Config, more ...string) (*Network, *Fabric) {
	t.Helper()
	params := map[string]string{"rails": "4", "pods": "2"}
	for _, m := range more {
		name, value, _ := strings.Cut(m, "=")
		params[name] = value
	}
	n := build(t, "rails", params, hundredGig)
	cfg.Classes, cfg.LinkOverhead, cfg.BufferBytes = onlyData(), 64, 64<<20
	f, err := New(n, cfg)
	require.NoError(t, err)
	return n, f
}

// byRail counts what links have carried whose names a format with the number of the rail reads.
func byRail(f *Fabric, format string) (load [4]float64) {
	for i, l := range f.net.Links {
		var rail int
		if n, _ := fmt.Sscanf(l.Name, format, &rail); n == 1 && strings.HasPrefix(l.Name, fmt.Sprintf(format, rail)) {
			load[rail] += float64(f.Port(i).Packets)
		}
	}
	return load
}

func TestRailsShareSpines(t *testing.T) {
	n, _ := fourRails(t, Config{})
	const hosts, pods, spines = 16, 2, 8
	require.Equal(t, hosts+4*pods+spines, n.Switches)
	require.Len(t, n.Links, 2*(hosts+4*hosts+4*pods*spines))
	ports := map[string]int{}
	for _, l := range n.Links {
		from, to := n.NodeNames[l.From], n.NodeNames[l.To]
		require.Equal(t, from+"-"+to, l.Name)
		require.Equal(t, l.From, n.Links[l.Reverse].To)
		if strings.HasPrefix(to, "spine") {
			ports[to]++
			require.Equal(t, int64(25e9), l.RateBps)
		}
		var host, rail, pod int
		if count, _ := fmt.Sscanf(l.Name, "nic%d-r%dleaf%d", &host, &rail, &pod); count == 3 {
			require.Equal(t, host/8, pod)
			require.Equal(t, uint8(rail+1), l.Rail)
			require.Equal(t, int64(25e9), l.RateBps)
		}
	}
	require.Len(t, ports, spines)
	for _, cables := range ports {
		require.Equal(t, 4*pods, cables)
	}

	one := build(t, "rails", map[string]string{"rails": "4", "pods": "1"}, hundredGig)
	require.Equal(t, 16+4, one.Switches, "rails alone need no spines")
	spec := hundredGig
	spec.RateBps = 100e9 + 1
	make := func(params map[string]string, s Spec) error {
		topology, _, err := Topologies.Make("rails", params)
		require.NoError(t, err)
		_, err = topology(s)
		return err
	}
	require.EqualError(t, make(nil, spec), "4 rails do not divide the 100000000001 bits per second of a host")
	require.EqualError(t, make(map[string]string{"pods": "5"}, hundredGig), "each rail: 16 hosts do not divide into 5 leaves")
	require.EqualError(t, make(map[string]string{"pods": "1", "spines": "2"}, hundredGig), "2 spines for one pod: within a pod every rail is one leaf; expected 0, or more pods")
}

// What leaves by a rail arrives by it, unless the destination takes it by any; the rails of a sprayed flow are all used.
func TestARailIsKept(t *testing.T) {
	const packets = 4000
	for _, arrive := range []string{"same", "any"} {
		_, f := fourRails(t, Config{}, "arrive="+arrive)
		s := attachSenders(f)
		s[0].to, s[0].count = 15, packets
		f.Wake(0)
		run(t, f, Never-1)
		require.Equal(t, packets, s[15].got)
		out, in := byRail(f, "nic0-r%dleaf"), byRail(f, "r%dleaf1-nic15")
		for rail := range out {
			require.InDelta(t, packets/4, out[rail], 150)
			require.InDelta(t, packets/4, in[rail], 150)
		}
		if arrive == "same" {
			require.Equal(t, out, in)
		} else {
			require.NotEqual(t, out, in)
		}
	}
}

// A pair that is pinned has one rail, both ways, at its rate; other pairs have others.
func TestPairsKeepToARail(t *testing.T) {
	const packets, slow = 1000, 4 * 332_800
	n, f := fourRails(t, Config{}, "choice=pair")
	s := attachSenders(f)
	for h := range 8 {
		s[h].to, s[h].count = core.Addr(15-h), packets
		s[15-h].to, s[15-h].count = core.Addr(h), packets
		f.Wake(h)
		f.Wake(15 - h)
	}
	run(t, f, Never-1)
	used := map[int]bool{}
	for h := range 8 {
		require.Equal(t, packets, s[h].got)
		out, back := byRail(f, fmt.Sprintf("nic%d-r", h)+"%dleaf"), byRail(f, fmt.Sprintf("nic%d-r", 15-h)+"%dleaf")
		require.Equal(t, out, back)
		for rail, got := range out {
			if got > 0 {
				used[rail] = true
				require.Equal(t, float64(packets), got)
			}
		}
		require.Greater(t, s[h].last, Time(packets*slow))
	}
	require.Greater(t, len(used), 1)
	r, err := NewRuler(n)
	require.NoError(t, err)
	require.Equal(t, int64(25e9), r.Rate(0, 15), "that is all a pair can have")
}

// When a leaf of one rail has died and all know, its hosts are reached by their other ports, also by what left on that rail.
func TestALeafOfARailThatDies(t *testing.T) {
	n, f := fourRails(t, Config{RerouteLocal: 1 * us, RerouteAll: 2 * us})
	var cut []int
	for i, l := range n.Links {
		if n.NodeNames[l.From] == "r1leaf1" || n.NodeNames[l.To] == "r1leaf1" {
			cut = append(cut, i)
		}
	}
	require.Len(t, cut, 2*(8+8))
	require.NoError(t, f.Schedule(Fault{Kind: LinkDown, Links: cut, For: Never}))
	s := attachSenders(f)
	f.At(10*us, func(Time) {
		s[0].to, s[0].count = 15, 3000
		s[14].to, s[14].count = 1, 3000
		f.Wake(0)
		f.Wake(14)
	})
	run(t, f, Never-1)
	require.Equal(t, []int{3000, 3000}, []int{s[15].got, s[1].got})
	require.NotZero(t, byRail(f, "nic0-r%dleaf")[1], "its own leaf of that rail lives")
	require.Zero(t, byRail(f, "nic14-r%dleaf")[1])
	require.Zero(t, byRail(f, "r%dleaf1-nic15")[1])
}
