package emulator

import "github.com/weft-transport/weft/transport/core"

// A Sight is what a tap sees happen.
type Sight uint8

// What a tap sees. Of a packet, Sent comes first, then one Crossed for each link, and last the Crossed of the
// link to its host, which is its delivery, or Dropped.
const (
	Sent    Sight = iota // the card of a host begins to send it on Link
	Crossed              // its last bit is at the far end of Link, with the damage that the link did
	Dropped              // for the reason in Why
	Trimmed              // because it found no room in front of Link; seen as it was before
	Marked               // CE, when it left the queue of Link
	Damaged              // by Link; it travels on
	Paused               // a pause frame has crossed Link: its Class stops (or goes on, by Resume) at the far end
)

// A Cause says why a packet was dropped (or trimmed), and where.
type Cause uint8

// Causes of a drop or a trim: the first two.
const (
	QueueFull  Cause = iota // in front of Link: the queue has its limit
	BufferFull              // in front of Link: the buffer of the switch has no room left for this queue
	LostOnLink              // at the end of Link, by its loss model
	LinkIsDown              // at the end of Link, which is cut
	NoWay                   // at the switch that Link leads to: all ways on are cut
)

func (c Cause) String() string {
	return [...]string{"queue full", "buffer full", "lost on the link", "link down", "no route"}[c]
}

// A Sighting is one thing that a tap sees.
type Sighting struct {
	What   Sight
	Why    Cause // of Dropped; of Trimmed, why it would have been dropped
	Resume bool  // of Paused: XON
	Class  uint8 // that the packet travels in, or that is paused
	Link   int32
	// Slot tells the packets apart that are under way: it is free for another once its packet was
	// dropped, or crossed the link to its host.
	Slot      uint32
	WireBytes int64        // of the packet, LinkOverhead included
	Queued    int64        // bytes of Class at Link, for Dropped (of QueueFull, BufferFull), Trimmed and Marked
	Packet    *core.Packet // as it is now, and only now; nil for Paused. Payload tells what trimmed packets carried
}

// A tap holds what sightings are made in: none allocates.
type tap struct {
	see      func(now Time, s *Sighting)
	sighting Sighting
	packet   core.Packet
}

// Tap has see called for everything that happens to packets from now on, in the order of time; nil ends it.
// A tap sees a run and does not change it.
func (f *Fabric) Tap(see func(now Time, s *Sighting)) {
	f.tap = nil
	if see != nil {
		f.tap = &tap{see: see}
	}
}

// show shows packet i to the tap.
func (t *tap) show(f *Fabric, what Sight, link int32, i uint32) {
	r := &f.packets.records[i]
	t.packet = *f.packets.cold(i)
	t.packet.Flags = r.flags & packetFlags
	if r.flags&recMarked != 0 {
		t.packet.ECN = core.CE
	}
	t.sighting.What, t.sighting.Link, t.sighting.Slot = what, link, i
	t.sighting.Class, t.sighting.WireBytes, t.sighting.Packet = r.class, int64(r.size), &t.packet
	t.sighting.Queued = 0
	if what == Trimmed {
		t.sighting.Why = f.fullness(link, i)
	}
	if what == Trimmed || what == Marked || what == Dropped && t.sighting.Why <= BufferFull {
		t.sighting.Queued = f.backlog(link, int(r.class))
	}
	t.see(f.now, &t.sighting)
}

// showDrop shows the end of packet i, before it is booked.
func (t *tap) showDrop(f *Fabric, link int32, i uint32, why DropReason) {
	switch {
	case why == DropRandom:
		t.sighting.Why = LostOnLink
	case why == DropQueue:
		t.sighting.Why = f.fullness(link, i)
	case f.ports[link].state&downNow != 0:
		t.sighting.Why = LinkIsDown
	default:
		t.sighting.Why = NoWay
	}
	t.show(f, Dropped, link, i)
}

// fullness tells whether it is the queue or the buffer in front of a link that has no room for packet i.
func (f *Fabric) fullness(link int32, i uint32) Cause {
	r := &f.packets.records[i]
	limit := f.rules[r.class].limit
	if f.ports[link].state&toHost != 0 && r.flags&core.WasTrimmed == 0 {
		limit = f.rules[r.class].lastHop
	}
	if f.backlog(link, int(r.class))+int64(r.size) > limit {
		return QueueFull
	}
	return BufferFull
}

// showPause shows a pause frame that has reached the sending end of a link.
func (t *tap) showPause(f *Fabric, link int32, class uint8, resume bool) {
	t.sighting = Sighting{What: Paused, Link: f.net.Links[link].Reverse, Class: class, Resume: resume, WireBytes: pauseFrameBytes}
	t.see(f.now, &t.sighting)
}
