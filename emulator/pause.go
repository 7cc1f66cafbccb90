package emulator

// Priority flow control (IEEE 802.1Qbb): the receiving end of a link counts what came by it and
// is still buffered, and pauses the sending end, class by class.

// pauseFrameBytes is a 64-byte frame with preamble and gap.
const pauseFrameBytes = 84

// xoff returns the threshold of a class at an ingress port of a switch, as it is now.
func (f *Fabric) xoff(b *buffer, class uint8) int64 {
	c := &f.classes[class]
	if c.XOFF > 0 {
		return c.XOFF
	}
	return int64(c.Alpha * float64(b.free()))
}

func (f *Fabric) xon(b *buffer, class uint8) int64 {
	c := &f.classes[class]
	if c.XON > 0 {
		return c.XON
	}
	return max(0, f.xoff(b, class)-2*f.cfg.MaxWireBytes)
}

// hold counts a packet at its ingress and pauses the link when that holds too much.
func (f *Fabric) hold(b *buffer, r *record) {
	in := &f.ingress[f.at(r.ingress, int(r.class))]
	in.bytes += int64(r.size)
	if in.paused {
		return
	}
	if in.bytes > f.xoff(b, r.class) {
		in.paused, in.atPause = true, in.bytes
		f.sendPause(r.ingress, r.class, pauseOn)
	}
}

func (f *Fabric) letGo(b *buffer, r *record) {
	in := &f.ingress[f.at(r.ingress, int(r.class))]
	in.bytes -= int64(r.size)
	if in.paused && in.bytes <= f.xon(b, r.class) {
		in.paused = false
		f.sendPause(r.ingress, r.class, pauseOff)
	}
}

// sendPause sends a pause frame to the sending end of a link. It goes out when the packet that is
// being sent the other way is done, and takes the time of the wire. It does not delay data: its 84
// bytes are not booked on the link, only its travel time is modelled.
func (f *Fabric) sendPause(link int32, class uint8, kind actionKind) {
	back := &f.ports[f.net.Links[link].Reverse]
	at := max(f.now, back.freeAt) + back.serialise(pauseFrameBytes) + back.delay
	f.stats[link].PauseFrames++
	f.agendaAdd(at, action{kind: kind, link: link, class: class})
}

// block stops a class at the sending end of a link.
func (f *Fabric) block(link int32, class int) {
	p := &f.ports[link]
	if p.blocked>>class&1 != 0 {
		return
	}
	p.blocked |= 1 << class
	f.since[f.at(link, class)] = f.now
}

// unblock lets it go on.
func (f *Fabric) unblock(link int32, class int) {
	p := &f.ports[link]
	if p.blocked>>class&1 == 0 {
		return
	}
	p.blocked &^= 1 << class
	since := &f.since[f.at(link, class)]
	f.stats[link].Paused += f.now - *since
	f.classAt(link, uint8(class)).paused += f.now - *since
	*since = Never
	f.resume(link)
}

// resume starts the transmitter of a link if it rests.
func (f *Fabric) resume(link int32) {
	p := &f.ports[link]
	if p.state&txPending != 0 {
		return
	}
	if p.freeAt > f.now {
		f.setTransmitted(link, p)
		return
	}
	if p.state&fromHost != 0 {
		f.Wake(int(p.from))
		return
	}
	f.serve(link, p)
}
