package emulator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/core"
)

// seen counts what a tap saw, and holds its order against what may follow what.
type seen struct {
	what   [Paused + 1]uint64
	why    [NoWay + 1]uint64
	byLink map[Sight]map[int32]uint64
	alive  map[uint32]Sighting // last sighting of every packet under way
	last   Time
}

func (s *seen) see(t *testing.T, n *Network) func(Time, *Sighting) {
	s.byLink, s.alive = map[Sight]map[int32]uint64{}, map[uint32]Sighting{}
	for what := range s.what {
		s.byLink[Sight(what)] = map[int32]uint64{}
	}
	return func(now Time, g *Sighting) {
		require.GreaterOrEqual(t, now, s.last)
		s.last = now
		s.what[g.What]++
		s.byLink[g.What][g.Link]++
		if g.What == Paused {
			require.Nil(t, g.Packet)
			return
		}
		before, known := s.alive[g.Slot]
		require.Equal(t, g.What != Sent, known, "a packet is sent first, and once")
		if known {
			require.Equal(t, before.Packet.From, g.Packet.From)
		}
		copied, packet := *g, *g.Packet
		copied.Packet = &packet
		s.alive[g.Slot] = copied
		switch {
		case g.What == Dropped:
			s.why[g.Why]++
			delete(s.alive, g.Slot)
		case g.What == Crossed && int(n.Links[g.Link].To) < n.Hosts:
			require.EqualValues(t, g.Packet.To, n.Links[g.Link].To)
			delete(s.alive, g.Slot)
		}
		switch g.What {
		case Marked:
			require.Greater(t, g.Queued, trimClasses()[0].ECNMin)
		case Trimmed:
			require.Equal(t, QueueFull, g.Why)
			require.Greater(t, g.Queued+g.WireBytes, trimClasses()[0].QueueBytes)
		}
	}
}

// TestATapSeesWhatIsCountedAndChangesNothing runs fabrics with every kind of fate twice, with a tap and without.
func TestATapSeesWhatIsCountedAndChangesNothing(t *testing.T) {
	leafspine := map[string]string{"leaves": "4", "spines": "2"}
	incast := func(f *Fabric, s []*sender) {
		for h := 1; h < 9; h++ {
			s[h].to, s[h].count, s[h].trimmable = 0, 60, h%2 == 0
			f.Wake(h)
		}
	}
	var all seen
	for name, c := range map[string]struct {
		topology string
		params   map[string]string
		cfg      Config
		prepare  func(f *Fabric)
		want     []Cause
	}{
		"trims": {"leafspine", leafspine, Config{Classes: trimClasses()}, nil, []Cause{QueueFull}},
		"pauses": {"single", nil, Config{Classes: []Class{{Name: "data", FlowControl: PFC, XOFF: 20_000, Alpha: 1}}, BufferBytes: 16 << 20},
			nil, nil},
		"buffer": {"single", nil, Config{Classes: []Class{{Name: "data", Alpha: 0.5}}, BufferBytes: 200_000}, nil, []Cause{BufferFull}},
		"faults": {"leafspine", leafspine, Config{Classes: onlyData(), RerouteLocal: 10 * us, RerouteAll: Never}, func(f *Fabric) {
			f.SetLoss(f.net.LinkNamed("leaf0-h0"), Loss{Random: 0.02, Corrupt: 0.1})
			for _, spine := range []string{"spine0", "spine1"} {
				l := f.net.LinkNamed("leaf1-" + spine)
				require.NoError(t, f.Schedule(Fault{Kind: LinkDown, Links: []int{l}, At: 5 * us, For: 30 * us}))
			}
		}, []Cause{LostOnLink, LinkIsDown, NoWay}},
	} {
		n := build(t, c.topology, c.params, hundredGig)
		c.cfg.LinkOverhead = 64
		var hash [2]uint64
		for tapped := range hash {
			f, s := checked(t, n, c.cfg)
			if c.prepare != nil {
				c.prepare(f)
			}
			var got seen
			if tapped == 1 {
				f.Tap(got.see(t, n))
			}
			incast(f, s)
			run(t, f, Never-1)
			hash[tapped] = f.Hash()
			if tapped == 0 {
				continue
			}
			total := f.Totals()
			require.Equal(t, total.Sent, got.what[Sent], name)
			require.Equal(t, total.Transmissions, got.what[Crossed]+total.Dropped[DropRandom]+got.why[LinkIsDown], name)
			require.Equal(t, total.Dropped[DropQueue], got.why[QueueFull]+got.why[BufferFull], name)
			require.Equal(t, total.Dropped[DropRandom], got.why[LostOnLink], name)
			require.Equal(t, total.Dropped[DropFault], got.why[LinkIsDown]+got.why[NoWay], name)
			require.Equal(t, total.Corrupted, got.what[Damaged], name)
			require.Empty(t, got.alive, name)
			for l := range n.Links {
				port := f.Port(l)
				require.Equal(t, port.Trimmed, got.byLink[Trimmed][int32(l)], name)
				require.Equal(t, port.Marked, got.byLink[Marked][int32(l)], name)
				require.Equal(t, port.PauseFrames, got.byLink[Paused][n.Links[l].Reverse], name)
			}
			for why, count := range got.why {
				require.Equal(t, count > 0, has(c.want, Cause(why)), "%s: %v", name, Cause(why))
				all.why[why] += count
			}
			for what, count := range got.what {
				all.what[what] += count
			}
		}
		require.Equal(t, hash[0], hash[1], name)
	}
	for what, count := range all.what {
		require.NotZero(t, count, "sight %d", what)
	}
}

func has(list []Cause, c Cause) bool {
	for _, l := range list {
		if l == c {
			return true
		}
	}
	return false
}

// TestATapSeesThePacketAsItIs: marks, trims and damage show in the packet, although the fabric notes them elsewhere.
func TestATapSeesThePacketAsItIs(t *testing.T) {
	n := build(t, "single", nil, hundredGig)
	f, s := checked(t, n, Config{Classes: trimClasses(), LinkOverhead: 64})
	last := n.LinkNamed("switch0-h0")
	f.SetLoss(last, Loss{Corrupt: 0.2})
	var marked, trimmed, corrupt int
	f.Tap(func(_ Time, g *Sighting) {
		if g.What != Crossed || int(g.Link) != last {
			return
		}
		if g.Packet.ECN == core.CE {
			marked++
		}
		if g.Packet.Flags&core.WasTrimmed != 0 {
			trimmed++
			require.EqualValues(t, 4096-12, g.Packet.Payload.Length, "what it carried")
			require.EqualValues(t, 64, g.WireBytes)
		}
		if g.Packet.Flags&core.Corrupt != 0 {
			corrupt++
		}
	})
	for h := 1; h < 5; h++ {
		s[h].to, s[h].count, s[h].trimmable = 0, 100, true
		f.Wake(h)
	}
	run(t, f, 20*us)
	f.Tap(nil)
	run(t, f, Never-1)
	require.Greater(t, s[0].got, marked)
	require.Less(t, marked, s[0].marked, "the tap was taken off")
	require.Greater(t, marked, 10)
	require.Greater(t, trimmed, 10)
	require.Greater(t, corrupt, 1)
}
