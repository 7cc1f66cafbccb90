package emulator

import "fmt"

// A buffer is the packet memory of one switch. A packet takes room when it is queued and leaves
// it when its transmission begins. Lossy classes share the pool up to a dynamic threshold
// (Choudhury, Hahne 1998); lossless classes are held back at their ingress, and what is under way
// then has headroom set aside, or never get more than was set aside for them (credits).
type buffer struct {
	size     int64
	headroom int64 // set aside for lossless classes, of all ports: PFC headroom and promised credits
	used     int64
	max      int64
}

// free returns what the shared pool has left.
func (b *buffer) free() int64 { return max(0, b.size-b.headroom-b.used) }

// An ingress is what one class has in the buffer of a switch that came by one link.
type ingress struct {
	bytes    int64 // of classes with PFC
	headroom int64 // set aside for what a pause finds under way; of classes with credits: what is promised
	atPause  int64 // bytes when the last XOFF was sent
	paused   bool  // an XOFF was sent and no XON since
}

func (f *Fabric) buildBuffers() error {
	f.switches = make([]buffer, f.net.Switches)
	f.ingress = make([]ingress, len(f.queues))
	f.since = make([]Time, len(f.queues))
	for i := range f.since {
		f.since[i] = Never
	}
	var fixed = make([]int64, f.net.Switches) // what static thresholds may fill
	for i, l := range f.net.Links {
		if s := int(l.From) - f.net.Hosts; s >= 0 {
			f.switches[s].size += int64(float64(l.RateBps) * DefaultBuffer)
		}
		for c := range f.classes {
			f.setAside(int32(i), c)
			if s := int(l.To) - f.net.Hosts; s >= 0 {
				in := &f.ingress[f.at(int32(i), c)]
				f.switches[s].headroom += in.headroom
				fixed[s] += in.headroom
				if f.classes[c].FlowControl == PFC {
					fixed[s] += f.classes[c].XOFF
				}
			}
		}
	}
	for s := range f.switches {
		b := &f.switches[s]
		if f.cfg.BufferBytes > 0 {
			b.size = f.cfg.BufferBytes
		}
		if need := max(fixed[s], b.headroom+f.cfg.MaxWireBytes); need > b.size {
			return fmt.Errorf("%s has a buffer of %d bytes, and its lossless classes need %d for thresholds and headroom: give it more, or lower xoff or headroom", f.net.NodeNames[f.net.Hosts+s], b.size, need)
		}
	}
	return nil
}

// setAside decides what one class may need at the end of a link beyond the shared pool.
func (f *Fabric) setAside(link int32, class int) {
	switch f.classes[class].FlowControl {
	case PFC:
		in := &f.ingress[f.at(link, class)]
		if in.headroom = f.classes[class].Headroom; in.headroom == 0 {
			in.headroom = f.headroom(link)
		}
	case Credit:
		f.promise(link, class)
	}
}

// headroom returns the bytes that can still arrive by a link after its receiver decided to pause
// it: the frame waits for a full packet on the way back, travels, and finds a full packet on its
// way; meanwhile the wire is full; and the packet that crossed the threshold has come already.
func (f *Fabric) headroom(link int32) int64 {
	p, back := &f.ports[link], &f.ports[f.net.Links[link].Reverse]
	wait := back.serialise(f.cfg.MaxWireBytes+pauseFrameBytes) + back.delay + p.delay
	return int64(wait)*65536/p.psPerByte + 2*f.cfg.MaxWireBytes
}

// admit tells whether the buffer of a switch takes a packet for a queue of which its class would hold so
// many bytes with it.
func (b *buffer) admit(r *rule, size, backlog int64) bool {
	if r.held || backlog <= r.reserve {
		return b.used+size <= b.size
	}
	free := b.size - b.headroom - b.used
	return size <= free && backlog*alphaUnit <= r.alpha*free
}

// charge books a packet that is being queued.
func (f *Fabric) charge(b *buffer, c *rule, r *record) {
	b.used += int64(r.size)
	b.max = max(b.max, b.used)
	if c.paused {
		f.hold(b, r)
	}
}

// release books a packet that leaves the buffer.
func (f *Fabric) release(b *buffer, c *rule, r *record) {
	b.used -= int64(r.size)
	switch {
	case c.paused:
		f.letGo(b, r)
	case c.held:
		f.returnCredit(r.ingress, r)
	}
}
