package emulator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/emulator/netem"
	"github.com/weft-transport/weft/transport/core"
)

// shapedPair is one switch with a netem on the link to h1, and the sender at h0.
func shapedPair(t *testing.T, line string) (*Fabric, []*sender, int) {
	n := build(t, "single", nil, Spec{Hosts: 2, RateBps: 100e9, LinkDelay: us})
	p, err := netem.Parse(line, nil)
	require.NoError(t, err)
	l := n.LinkNamed("switch0-h1")
	n.Links[l].Netem = &p
	f, hosts := checked(t, n, Config{Classes: onlyData(), LinkOverhead: 64})
	return f, hosts, l
}

// start has the sender at h0 send so many packets to h1.
func start(f *Fabric, s *sender, packets int) {
	s.to, s.count = 1, packets
	f.Wake(0)
}

func TestANetemDelaysWhatCrossesALink(t *testing.T) {
	plain, err := NewRuler(build(t, "single", nil, Spec{Hosts: 2, RateBps: 100e9, LinkDelay: us}))
	require.NoError(t, err)
	f, hosts, _ := shapedPair(t, "delay 50us")
	ruler, err := NewRuler(f.net)
	require.NoError(t, err)
	require.Equal(t, plain.OneWay(0, 1, 1064)+50*us, ruler.OneWay(0, 1, 1064), "the ruler knows")
	require.Equal(t, plain.OneWay(1, 0, 1064), ruler.OneWay(1, 0, 1064), "in its direction")
	start(f, hosts[0], 3)
	run(t, f, 1000*us)
	require.Equal(t, 3, hosts[1].got)
	require.Equal(t, ruler.OneWay(0, 1, 4096+64), hosts[1].first)
}

func TestANetemKeepsTheBooks(t *testing.T) {
	f, hosts, l := shapedPair(t, "delay 20us 10us loss 5% duplicate 10% reorder 5% corrupt 3% order free limit 100000")
	start(f, hosts[0], 5000)
	run(t, f, Never-1)
	require.NoError(t, f.Audit())
	tot := f.Totals()
	require.EqualValues(t, 5000, tot.Sent)
	require.Equal(t, tot.Sent+tot.Duplicated, tot.Delivered+tot.Dropped[DropRandom])
	require.InDelta(t, 500, tot.Duplicated, 120)
	require.InDelta(t, 250, tot.Dropped[DropRandom], 90)
	require.InDelta(t, 150, tot.Corrupted, 60)
	require.EqualValues(t, tot.Delivered, hosts[1].got)
	require.Equal(t, tot.Dropped[DropRandom], f.Port(l).Dropped[DropRandom])
	require.Zero(t, f.packets.live)
	s, ok := f.Shaped(l)
	require.True(t, ok)
	require.EqualValues(t, 5000, s.Entered)
	require.Equal(t, tot.Dropped[DropRandom], s.Lost)
	require.Equal(t, tot.Delivered, s.Left)
	require.InDelta(t, float64(19*us), float64(s.Delay), float64(us), "one in twenty leaves at once")
}

func TestWhoeverKeepsPayloadsHearsOfEveryEnd(t *testing.T) {
	f, hosts, _ := shapedPair(t, "delay 20us 10us loss 5% duplicate 10% order free limit 100000")
	twins, ends := uint64(0), uint64(0)
	f.OnClone(func(_, _ *core.Packet) { twins++ })
	f.OnLoss(func(*core.Packet) { ends++ })
	start(f, hosts[0], 5000)
	run(t, f, Never-1)
	require.NotZero(t, f.Totals().Dropped[DropRandom])
	require.Equal(t, 5000+twins, uint64(hosts[1].got)+ends)
}

func TestANetemRefusesLinkCredits(t *testing.T) {
	n := build(t, "single", nil, Spec{Hosts: 2, RateBps: 100e9, LinkDelay: us})
	n.Links[0].Netem = &netem.Params{Delay: us}
	_, err := New(n, Config{Classes: []Class{{Name: "credits", FlowControl: Credit}}})
	require.ErrorContains(t, err, "link credits")
}
