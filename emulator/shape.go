package emulator

import (
	"fmt"

	"github.com/weft-transport/weft/emulator/netem"
	"github.com/weft-transport/weft/transport/core"
)

// A shaper is a netem at the far end of a link: what has crossed the link meets it, and goes on when it says so.
// Packets are named to it by their record, and the second copies that it may make by theirs.
type shaper struct {
	model *netem.Model
	due   Time // of the entry in the agenda; Never if there is none
	held  int
	stats ShapeStats
}

// shapeLinks makes the shapers of links that have a Netem.
func (f *Fabric) shapeLinks() error {
	for i := range f.net.Links {
		p := f.net.Links[i].Netem
		if p == nil {
			continue
		}
		if f.plan.credit != 0 {
			return fmt.Errorf("link %s has a netem and link credits, which would be given back while it holds packets; expected one of them", f.net.Links[i].Name)
		}
		if f.shapers == nil {
			f.shapers = make([]*shaper, len(f.net.Links))
		}
		f.shapers[i] = &shaper{model: netem.New(*p, derive(f.cfg.Seeds.Loss, 4, uint64(i))), due: Never}
		f.ports[i].state |= shaped
	}
	return nil
}

// intercept is arrive for links that do something to packets; it tells whether this one does not go on at once.
func (f *Fabric) intercept(link int32, i uint32) bool {
	if f.ports[link].state&(impaired|downNow) != 0 && f.lost(link, i) {
		return true
	}
	if f.ports[link].state&shaped == 0 {
		return false
	}
	f.shape(link, i)
	return true
}

// shape hands a packet to the netem of a link.
func (f *Fabric) shape(link int32, i uint32) {
	s := f.shapers[link]
	r := &f.packets.records[i]
	names := uint64(i)
	twin := uint32(0)
	if s.model.Params().Duplicate > 0 {
		twin = f.clone(i)
		names |= uint64(twin) << 32
		r = &f.packets.records[i] // the slab may have moved
	}
	s.stats.Entered++
	fate := s.model.Enqueue(f.now, netem.Packet{ID: names, Bytes: int(r.size), ECT: r.flags&recECT != 0})
	if twin != 0 {
		if fate&netem.Duplicated == 0 || fate&netem.CopyLost != 0 {
			f.lose(twin)
		} else {
			f.totals.Duplicated++
			s.enter(f.now)
		}
	}
	if fate&netem.Overflowed != 0 || fate&(netem.Lost|netem.Duplicated) == netem.Lost {
		s.stats.Lost++
		f.drop(link, i, DropRandom)
	} else {
		s.enter(f.now)
	}
	f.unshape(link)
}

// clone makes a second packet like one that is under way.
func (f *Fabric) clone(i uint32) uint32 {
	j := f.packets.take()
	f.packets.records[j] = f.packets.records[i]
	*f.packets.cold(j) = *f.packets.cold(i)
	f.packets.cold(j).Telemetry = 0 // belongs to the first
	if f.cloned != nil {
		f.cloned(f.packets.cold(i), f.packets.cold(j))
	}
	return j
}

// OnClone has do called when a link doubles a packet: for carriers that keep payloads beside the fabric, by the
// address of the packet.
func (f *Fabric) OnClone(do func(original, twin *core.Packet)) { f.cloned = do }

// unshape lets go on what a netem is done with, and comes back when more is due.
func (f *Fabric) unshape(link int32) {
	s := f.shapers[link]
	for {
		d, ok := s.model.Dequeue(f.now)
		if !ok {
			break
		}
		i := uint32(d.ID)
		if d.Copy {
			i = uint32(d.ID >> 32)
		}
		s.held--
		s.stats.Left++
		s.stats.waited += f.now
		r := &f.packets.records[i]
		if d.Marked && r.flags&recMarked == 0 {
			r.flags |= recMarked
			f.stats[link].Marked++
			if f.tap != nil {
				f.tap.show(f, Marked, link, i)
			}
		}
		if d.Flip >= 0 && r.flags&core.Corrupt == 0 {
			r.flags |= core.Corrupt
			f.totals.Corrupted++
			if f.tap != nil {
				f.tap.show(f, Damaged, link, i)
			}
		}
		f.crossed(link, &f.ports[link], i, r)
	}
	if next := s.model.Deadline(); next < s.due {
		s.due = next
		f.agendaAdd(next, action{kind: releaseShaped, link: link})
	}
}

// ShapeStats say what the netem of a link did.
type ShapeStats struct {
	Entered uint64 // packets
	Lost    uint64 // of these, and not doubled
	Left    uint64 // second copies included
	Delay   Time   // mean of those that entered and were not lost, up to now

	waited Time // sum of the instants at which packets left, less those at which they entered
}

func (s *shaper) enter(now Time) {
	s.held++
	s.stats.waited -= now
}

// Shaped returns what the netem of a link did; ok is false for a link without one.
func (f *Fabric) Shaped(link int) (stats ShapeStats, ok bool) {
	if f.shapers == nil || f.shapers[link] == nil {
		return ShapeStats{}, false
	}
	s := f.shapers[link]
	stats = s.stats
	if all := stats.Left + uint64(s.held); all > 0 {
		stats.Delay = (stats.waited + Time(s.held)*f.now) / Time(all)
	}
	return stats, true
}
