package emulator

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/core"
)

// checked builds a fabric that audits itself while it runs.
func checked(t testing.TB, n *Network, c Config) (*Fabric, []*sender) {
	t.Helper()
	c.Check = true
	f, err := New(n, c)
	require.NoError(t, err)
	return f, attachSenders(f)
}

func TestFaultsOverlap(t *testing.T) {
	n := build(t, "single", nil, hundredGig)
	f, _ := checked(t, n, Config{Classes: onlyData(), LinkOverhead: 64})
	l := n.LinkNamed("switch0-h0")
	for _, fault := range []Fault{
		{Kind: LinkDown, At: 10 * us, For: 30 * us},
		{Kind: LinkDown, At: 20 * us, For: 5 * us},
		{Kind: SlowLink, At: 10 * us, For: 50 * us, Factor: 0.5},
		{Kind: SlowHost, At: 20 * us, For: 20 * us, Factor: 0.5},
	} {
		fault.Links = []int{l}
		require.NoError(t, f.Schedule(fault))
	}
	slow := func(factor int64) int64 { return perByte(100e9 / factor) }
	for _, want := range []struct {
		at   Time
		down bool
		rate int64
	}{{5, false, slow(1)}, {15, true, slow(2)}, {22, true, slow(4)}, {30, true, slow(4)}, {45, false, slow(2)}, {65, false, slow(1)}} {
		require.NoError(t, f.Run(context.Background(), want.at*us))
		require.Equal(t, want.down, f.cut[l], "at %d us: the end of one cut does not end the other", want.at)
		require.Equal(t, want.rate, f.ports[l].psPerByte, "at %d us", want.at)
	}
}

func TestLossOfAFaultActsOnTopAndGoes(t *testing.T) {
	n := build(t, "single", nil, hundredGig)
	f, _ := checked(t, n, Config{Classes: onlyData(), LinkOverhead: 64})
	l := n.LinkNamed("switch0-h0")
	own := Loss{Random: 0.5, Every: 7}
	f.SetLoss(l, own)
	require.NoError(t, f.Schedule(Fault{Kind: LinkLoss, Links: []int{l}, At: 10 * us, For: 10 * us, Loss: Loss{Random: 0.5, Corrupt: 0.1}}))
	require.NoError(t, f.Run(context.Background(), 15*us))
	require.Equal(t, Loss{Random: 0.75, Corrupt: f.lossy[l].Corrupt, Every: 7}, f.lossy[l].Loss)
	require.InDelta(t, 0.1, f.lossy[l].Corrupt, 1e-12)
	require.NoError(t, f.Run(context.Background(), 25*us))
	require.Equal(t, own, f.lossy[l].Loss, "the link's own loss stays")
	f.SetLoss(l, Loss{})
	require.Zero(t, f.ports[l].state&impaired)
}

// TestCreditsSurviveLoss loses a tenth of all packets and cuts the link: credits that went with the
// packets come back, so the link never starves.
func TestCreditsSurviveLoss(t *testing.T) {
	n := build(t, "leafspine", map[string]string{"leaves": "4"}, hundredGig)
	f, s := checked(t, n, Config{Classes: []Class{{Name: "credit", FlowControl: Credit}}, LinkOverhead: 64, RerouteLocal: Never, RerouteAll: Never})
	for l := range n.Links {
		f.SetLoss(l, Loss{Random: 0.1})
	}
	cut := n.LinkNamed("leaf1-spine2")
	require.NoError(t, f.Schedule(Fault{Links: []int{cut, int(n.Links[cut].Reverse)}, At: 20 * us, For: 30 * us, Every: 100 * us, Count: 3}))
	for h := 1; h < 16; h++ {
		s[h].to, s[h].count = core.Addr(h-1), 500
		f.Wake(h)
	}
	run(t, f, Never-1)
	for h := 1; h < 16; h++ {
		require.Equal(t, 500, s[h].sent, "host %d is not out of credit", h)
	}
	require.Greater(t, f.Totals().Dropped[DropRandom], uint64(1000))
	require.Greater(t, f.Totals().Dropped[DropFault], uint64(10))
}

func TestCreditsNeedTheBufferTheyPromise(t *testing.T) {
	n := build(t, "single", nil, hundredGig)
	_, err := New(n, Config{Classes: []Class{{Name: "credit", FlowControl: Credit, CreditBytes: 1 << 20}}, LinkOverhead: 64, BufferBytes: 8 << 20})
	require.ErrorContains(t, err, "lossless classes need")
}

// TestPausesSurviveCuts flaps links faster than a pause frame travels, under an incast that pauses them all the
// time. Audits fail when a class stays paused that nobody will let go, and when pauses come to nothing.
func TestPausesSurviveCuts(t *testing.T) {
	n := build(t, "leafspine", map[string]string{"leaves": "4"}, hundredGig)
	f, s := checked(t, n, Config{Classes: []Class{{Name: "lossless", FlowControl: PFC, XOFF: 3 * 4160}}, LinkOverhead: 64, RerouteLocal: Never, RerouteAll: Never})
	var links []int
	for _, name := range []string{"leaf1-spine0", "leaf2-spine1", "h5-leaf1"} {
		links = append(links, n.LinkNamed(name))
	}
	require.NoError(t, f.Schedule(Fault{Links: links, At: 10 * us, For: us / 3, Every: us, Count: 400}))
	for h := 1; h < 16; h++ {
		s[h].to, s[h].count = 0, 200
		f.Wake(h)
	}
	run(t, f, Never-1)
	for h := 1; h < 16; h++ {
		require.Equal(t, 200, s[h].sent)
	}
	require.Equal(t, uint64(15*200), uint64(s[0].got)+f.Totals().Dropped[DropFault])
}

// TestPFCBlocksTheHeadOfTheLine sends an incast and a victim that shares no congested link with it: the
// victim is slowed to what the pauses leave, and only under PFC.
func TestPFCBlocksTheHeadOfTheLine(t *testing.T) {
	finish := func(class Class) (victim Time, f *Fabric) {
		// One uplink a leaf, so that the victim stands behind the incast.
		n := build(t, "leafspine", map[string]string{"leaves": "4", "spines": "1"}, hundredGig)
		f, s := checked(t, n, Config{Classes: []Class{class}, LinkOverhead: 64, BufferBytes: 64 << 20})
		for _, h := range []int{4, 8, 9, 12, 13} { // to host 0, under leaf 0
			s[h].to, s[h].count = 0, 600
			f.Wake(h)
		}
		s[5].to, s[5].count = 10, 300 // leaf 1 to leaf 2
		f.Wake(5)
		run(t, f, Never-1)
		require.NotZero(t, s[10].got)
		return s[10].last, f
	}
	alone := Time(300 * 332_800 * 2) // half of the uplink of leaf 1
	with, lossless := finish(Class{Name: "lossless", FlowControl: PFC, XOFF: 12 * 4160})
	without, deep := finish(Class{Name: "deep"})
	require.Zero(t, lossless.Totals().Dropped[DropQueue])
	require.Zero(t, deep.Totals().Dropped[DropQueue])
	require.Greater(t, float64(with), 1.5*float64(without), "the victim waits for pauses that are not its own")
	require.InEpsilon(t, float64(alone), float64(without), 0.1)
	var frames uint64
	var paused Time
	n := lossless.Network()
	for l := range n.Links {
		frames += lossless.Port(l).PauseFrames
		paused += lossless.Port(l).Paused
	}
	require.NotZero(t, lossless.Port(n.LinkNamed("leaf1-spine0")).PauseFrames, "the pauses reach the leaf of the victim")
	require.NotZero(t, frames)
	require.NotZero(t, paused)
}

// TestAuditSees damages the books of a running fabric in every way that an audit knows.
func TestAuditSees(t *testing.T) {
	for name, damage := range map[string]func(f *Fabric, link int){
		"dropped and":     func(f *Fabric, _ int) { f.totals.Dropped[DropQueue]++ },
		"under way":       func(f *Fabric, _ int) { f.packets.live--; f.totals.Delivered++ },
		"holds":           func(f *Fabric, l int) { f.queues[l].bytes++ },
		"counts":          func(f *Fabric, _ int) { f.switches[0].used++ },
		"held up to":      func(f *Fabric, _ int) { f.switches[0].max = f.switches[0].size + 1 },
		"ingress of":      func(f *Fabric, l int) { f.ingress[l].bytes++ },
		"is noted as":     func(f *Fabric, l int) { f.ports[l].nonEmpty ^= 1 },
		"rests while":     func(f *Fabric, l int) { f.ports[l].state &^= txPending },
		"nobody will let": func(f *Fabric, l int) { f.block(int32(f.net.LinkNamed("h3-switch0")), 0) },
		"after its pause": func(f *Fabric, l int) { f.ingress[l].paused, f.ingress[l].atPause = true, -1<<40 },
		"and since":       func(f *Fabric, l int) { f.since[l] = 0 },
		"out of order":    func(f *Fabric, l int) { f.packets.records[f.ports[l].wireHead].after = f.now - 1 },
		"its timer":       func(f *Fabric, _ int) { f.hosts[2].stacks[0].stack = impatient{f.hosts[2].stacks[0].stack} },
		"in the calendar": func(f *Fabric, l int) { f.ports[f.net.LinkNamed("switch0-h7")].state |= txPending },
	} {
		n := build(t, "single", nil, hundredGig)
		f, err := New(n, Config{Classes: []Class{{Name: "lossless", FlowControl: PFC, XOFF: 1 << 20}}, LinkOverhead: 64, BufferBytes: 32 << 20})
		require.NoError(t, err)
		s := attachSenders(f)
		for h := 1; h < 5; h++ {
			s[h].to, s[h].count = 0, 100
			f.Wake(h)
		}
		require.NoError(t, f.Run(context.Background(), 20*us))
		require.NoError(t, f.Audit())
		damage(f, n.LinkNamed("switch0-h0"))
		require.ErrorContains(t, f.Audit(), name)
	}
}

// TestAuditSeesLostCredit takes a credit away.
func TestAuditSeesLostCredit(t *testing.T) {
	n := build(t, "single", nil, hundredGig)
	f, s := checked(t, n, Config{Classes: []Class{{Name: "credit", FlowControl: Credit}}, LinkOverhead: 64})
	s[1].to, s[1].count = 0, 1000
	f.Wake(1)
	f.At(30*us, func(Time) { f.credit[n.LinkNamed("h1-switch0")] -= 4160 })
	require.ErrorContains(t, f.Run(context.Background(), Never-1), "of credit")
}

// An impatient Stack has work that its card was never told of.
type impatient struct{ core.Stack }

func (impatient) Deadline() Time { return 21 * us }

// TestRepairsAreOfTheirSwitch cuts links in networks of all sizes: every way that is left at the switches that know of it is what there
// was, without the dead ones.
func TestRepairsAreOfTheirSwitch(t *testing.T) {
	for _, leaves := range []int{4, 40} { // with 40, the sets have more than 256 links together
		spec := hundredGig
		spec.Hosts = 2 * leaves
		n := build(t, "leafspine", map[string]string{"leaves": strconv.Itoa(leaves), "spines": "8"}, spec)
		f, err := New(n, Config{Classes: onlyData(), LinkOverhead: 64, RerouteLocal: 0, RerouteAll: Never, BufferBytes: 64 << 20})
		require.NoError(t, err)
		whole, hops := f.routing.sets, f.routing.hops
		dead := map[int32]bool{}
		for _, name := range []string{"leaf0-spine1", "leaf0-spine7", "leaf3-spine4", "spine2-leaf1"} {
			dead[int32(n.LinkNamed(name))] = true
			require.NoError(t, f.Schedule(Fault{Kind: LinkDown, Links: []int{n.LinkNamed(name)}, At: us}))
		}
		run(t, f, 2*us)
		repaired := 0
		for i, set := range f.routing.sets {
			var want []int32
			for _, l := range hops[whole[i].start() : whole[i].start()+whole[i].count()] {
				if !dead[l] {
					want = append(want, l)
				}
			}
			if len(want) < int(whole[i].count()) {
				repaired++
			}
			require.Equal(t, want, append([]int32(nil), f.routing.hops[set.start():set.start()+set.count()]...), "%d leaves: switch and leaf %d", leaves, i)
		}
		require.Greater(t, repaired, 4)
	}
}

// TestFlapsLeaveRoutesSmall takes a link down and up ten thousand times: the switch that repairs its ways each time finds those that it had
// before, and keeps none anew.
func TestFlapsLeaveRoutesSmall(t *testing.T) {
	n := build(t, "leafspine", map[string]string{"leaves": "4"}, hundredGig)
	f, s := checked(t, n, Config{Classes: onlyData(), LinkOverhead: 64, RerouteLocal: 0, RerouteAll: Never, BufferBytes: 64 << 20})
	whole := len(f.routing.hops)
	cut := n.LinkNamed("leaf0-spine1")
	require.NoError(t, f.Schedule(Fault{Links: []int{cut}, At: us, For: us / 2, Every: us, Count: 10_000}))
	s[0].to, s[0].count = 15, 5000
	f.Wake(0)
	run(t, f, 11_000*us)
	require.NotEqual(t, f.net.base, f.routing, "repaired")
	require.Less(t, len(f.routing.hops), 2*whole)
}
