package capture

import (
	"fmt"
	"io"
	"net/netip"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// A Place says where in a fabric packets are captured.
type Place uint8

// Places.
const (
	// AtHosts has an interface for each host: outbound frames are stamped when their transmission begins, inbound
	// ones when their last bit has come.
	AtHosts Place = iota
	// AtLinks has an interface for each direction of each cable, at its far end: a frame is stamped when its last
	// bit has come, and shows the damage that the link did.
	AtLinks
)

// DropsPort is the name of the interface behind all others, on which dropped packets are, as they were and where they
// were when it happened; the comment says why. They are on no other interface that they did not reach.
const DropsPort = "dropped"

// A Run is what a Recording must know of the run that it records.
type Run struct {
	Network *emulator.Network
	Classes []emulator.Class
	Proto   core.Proto // of all packets; one that Frames knows
	Framer  Framer
	Program string // that made the file
	Comment string // on the whole file
	// Address is the IP address of a host, for fabrics whose packets a Framer's IP makes; nil: HostAddr.
	Address func(host int) netip.Addr
}

// A Recording writes what happens on a fabric into a file: See is for emulator.Fabric.Tap. The comments of a frame say
// where it was dropped, trimmed, marked or damaged, and why. Pause frames are recorded where they arrive.
type Recording struct {
	run     Run
	out     *Writer
	place   Place
	drops   int    // index of DropsPort
	packets uint64 // sent so far
	notes   []note // by slot
}

// A note is what is remembered of a packet under way.
type note struct {
	packet                   uint64
	switches                 int
	marked, trimmed, damaged incident
}

// An incident happened to a packet at a link; at is 0 where nothing did: no packet is anywhere at the start.
type incident struct {
	at     instant.Time
	link   int32
	class  uint8
	why    emulator.Cause
	queued int64
}

// NewRecording begins the file of a run.
func NewRecording(file io.Writer, run Run, place Place, limits Limits) (*Recording, error) {
	ports := portsOf(run.Network, place, run.Address)
	out, err := NewWriter(file, run.Program, run.Comment, ports, limits)
	return &Recording{run: run, out: out, place: place, drops: len(ports) - 1}, err
}

// Failed tells whether the file takes nothing more because of an error, which Flush returns.
func (r *Recording) Failed() bool { return r.out.failed != nil }

// Flush writes what is buffered, and returns the first error of the file.
func (r *Recording) Flush() error { return r.out.Flush() }

func portsOf(n *emulator.Network, place Place, address func(host int) netip.Addr) (ports []Port) {
	if address == nil {
		address = func(host int) netip.Addr { return HostAddr(core.Addr(host)) }
	}
	if place == AtHosts {
		for h, name := range n.NodeNames[:n.Hosts] {
			ports = append(ports, Port{name, fmt.Sprintf("host %s, %v", name, address(h))})
		}
	} else {
		for i := range n.Links {
			l := &n.Links[i]
			ports = append(ports, Port{l.Name, fmt.Sprintf("far end of the link %s, %g Gbit/s, %v", l.Name, float64(l.RateBps)/1e9, l.Delay)})
		}
	}
	return append(ports, Port{DropsPort, "packets that the fabric dropped, where it did"})
}

// See takes one sighting of a tap.
func (r *Recording) See(now instant.Time, s *emulator.Sighting) {
	if r.out.Full() {
		return
	}
	if s.What == emulator.Paused {
		r.pause(now, s)
		return
	}
	for int(s.Slot) >= len(r.notes) {
		r.notes = append(r.notes, note{})
	}
	n := &r.notes[s.Slot]
	link := &r.run.Network.Links[s.Link]
	here := incident{at: now, link: s.Link, class: s.Class, why: s.Why, queued: s.Queued}
	switch s.What {
	case emulator.Sent:
		*n = note{packet: r.packets}
		r.packets++
		if r.place == AtHosts {
			r.write(int(link.From), now, Outbound, s)
		}
	case emulator.Crossed:
		if port, way, ok := r.port(s.Link); ok {
			r.write(port, now, way, s)
		}
		n.switches++
	case emulator.Dropped:
		r.write(r.drops, now, Unknown, s, r.dropped(&here))
	case emulator.Trimmed:
		n.trimmed = here
	case emulator.Marked:
		n.marked = here
	case emulator.Damaged:
		n.damaged = here
	}
}

// port returns the interface at which what has crossed a link is seen.
func (r *Recording) port(link int32) (port int, way Direction, ok bool) {
	if r.place == AtLinks {
		return int(link), Unknown, true
	}
	to := int(r.run.Network.Links[link].To)
	return to, Inbound, to < r.run.Network.Hosts
}

func (r *Recording) pause(now instant.Time, s *emulator.Sighting) {
	port, way, ok := r.port(s.Link)
	if !ok {
		return
	}
	what := "stops"
	if s.Resume {
		what = "goes on"
	}
	frame := r.run.Framer.Pause(r.run.Proto, core.Class(s.Class), int(r.run.Network.Links[s.Link].From), s.Resume)
	r.out.Write(port, now, way, r.packets, frame, fmt.Sprintf("class %s %s at %s", r.run.Classes[s.Class].Name, what, r.run.Network.NodeNames[r.run.Network.Links[s.Link].To]))
	r.packets++
}

// write adds the frame of a packet with the comments on what has happened to it.
func (r *Recording) write(port int, now instant.Time, way Direction, s *emulator.Sighting, comments ...string) {
	n := &r.notes[s.Slot]
	if i := &n.marked; i.at > 0 {
		comments = append(comments, r.tell(i, "marked CE", fmt.Sprintf("marking begins at %d bytes", r.run.Classes[i.class].ECNMin)))
	}
	if i := &n.trimmed; i.at > 0 {
		comments = append(comments, r.tell(i, "trimmed", r.full(i)))
	}
	if i := &n.damaged; i.at > 0 {
		comments = append(comments, fmt.Sprintf("damaged on %s at %v", r.run.Network.Links[i.link].Name, i.at))
	}
	link := &r.run.Network.Links[s.Link]
	r.out.Write(port, now, way, n.packet, r.run.Framer.Frame(s.Packet, int(link.From), int(link.To), n.switches, s.WireBytes), comments...)
}

// tell says what happened in front of a link, and why.
func (r *Recording) tell(i *incident, what, why string) string {
	return fmt.Sprintf("%s in front of %s at %v: %s, class %s has %d bytes queued", what, r.run.Network.Links[i.link].Name, i.at, why, r.run.Classes[i.class].Name, i.queued)
}

// full says what was full.
func (r *Recording) full(i *incident) string {
	if i.why != emulator.QueueFull {
		return i.why.String()
	}
	c := &r.run.Classes[i.class]
	limit := c.QueueBytes
	if int(r.run.Network.Links[i.link].To) < r.run.Network.Hosts && c.LastHopQ > 0 {
		limit = c.LastHopQ
	}
	return fmt.Sprintf("%v at %d bytes", i.why, limit)
}

// dropped says why and where a packet ended.
func (r *Recording) dropped(here *incident) string {
	link := &r.run.Network.Links[here.link]
	switch here.why {
	case emulator.QueueFull, emulator.BufferFull:
		return r.tell(here, "dropped", r.full(here))
	case emulator.NoWay:
		return fmt.Sprintf("dropped at %s at %v: %v", r.run.Network.NodeNames[link.To], here.at, here.why)
	}
	return fmt.Sprintf("dropped on %s at %v: %v", link.Name, here.at, here.why)
}
