package emulator

import (
	"fmt"

	"github.com/weft-transport/weft/transport/splitmix"
)

// fail notes that an invariant broke; Run ends with it.
func (f *Fabric) fail(format string, args ...any) {
	f.lookAt = 0
	if f.broken == nil {
		f.broken = fmt.Errorf("at %v: "+format, append([]any{f.now}, args...)...)
	}
}

// auditNow checks the books between two events, and chooses when to do it again: often at first, when
// most things happen for the first time, and never in step with the traffic.
func (f *Fabric) auditNow() {
	if err := f.Audit(); err != nil {
		f.fail("%v", err)
	}
	spread := min(64, 1+f.totals.Events/8)
	if f.totals.Events > 10_000 {
		spread = 4096
	}
	f.auditAt = f.totals.Events + 1 + splitmix.Mix(f.totals.Events)%spread
}

// maxWakes is how often hosts may be woken in one instant, and 64 times more for each of them: far more
// often than there can be work.
const maxWakes = 1 << 20

// restless counts the wakes of one instant. Time that stands still, because a Stack asks for an instant that has
// passed whatever it is told, ends the run.
func (f *Fabric) restless(h int) bool {
	if f.awake != f.now {
		f.awake, f.wakes = f.now, 0
	}
	f.wakes++
	if f.wakes <= maxWakes+64*len(f.hosts) {
		return false
	}
	f.fail("hosts were woken %d times in one instant, the last of them host %d, and the Deadline of its Stack is still not later", f.wakes, h)
	return true
}

// Audit checks that nothing was lost without a count and that nothing waits for ever: packets, queue
// bytes, buffers, pauses, credits, transmitters and timers. It may be called between Runs, and from At.
func (f *Fabric) Audit() error {
	var dropped uint64
	for _, n := range f.totals.Dropped {
		dropped += n
	}
	if held := uint64(f.packets.live); f.totals.Sent+f.totals.Duplicated != f.totals.Delivered+dropped+held {
		return fmt.Errorf("packets: %d sent and %d made by links, but %d delivered, %d dropped and %d under way", f.totals.Sent, f.totals.Duplicated, f.totals.Delivered, dropped, held)
	}
	dates := f.cal.dates()
	onWires, err := f.auditWires(dates)
	if err != nil {
		return err
	}
	inQueues, err := f.auditQueues()
	if err != nil {
		return err
	}
	inShapers := 0
	for _, s := range f.shapers {
		if s != nil {
			inShapers += s.held
		}
	}
	if onWires+inQueues+inShapers != f.packets.live {
		return fmt.Errorf("packets: %d on wires, %d in queues and %d delayed, but %d under way", onWires, inQueues, inShapers, f.packets.live)
	}
	if err := f.auditPorts(dates); err != nil {
		return err
	}
	for _, audit := range [...]func() error{f.auditPauses, f.auditCredits, f.auditTimers} {
		if err := audit(); err != nil {
			return err
		}
	}
	return nil
}

func (f *Fabric) auditWires(dates []Time) (packets int, err error) {
	for i := range f.ports {
		arrival := dates[arrivalOn(int32(i))]
		for at := f.ports[i].wireHead; at != 0; at = f.packets.records[at].next {
			if arrival < f.now || arrival == Never {
				return 0, fmt.Errorf("link %s delivers out of order", f.net.Links[i].Name)
			}
			if r := &f.packets.records[at]; r.next != 0 {
				if r.after < arrival {
					return 0, fmt.Errorf("link %s delivers out of order", f.net.Links[i].Name)
				}
				arrival = r.after
			}
			packets++
		}
	}
	return packets, nil
}

// auditQueues adds up what the queues hold, and compares it with what queues, buffers and ingresses count.
func (f *Fabric) auditQueues() (packets int, err error) {
	used := make([]int64, len(f.switches))
	held := make([]int64, len(f.ingress))
	for i := range f.queues {
		link, class := i>>f.lanes, i&(1<<f.lanes-1)
		var bytes int64
		for at := f.queues[i].head; at != 0; at = f.packets.records[at].next {
			r := &f.packets.records[at]
			bytes += int64(r.size)
			packets++
			if f.plan.pfc>>class&1 != 0 {
				held[f.at(r.ingress, class)] += int64(r.size)
			}
		}
		if bytes != int64(f.queues[i].bytes) {
			return 0, fmt.Errorf("queue of %s, class %s, holds %d bytes and counts %d", f.net.Links[link].Name, f.classes[class].Name, bytes, f.queues[i].bytes)
		}
		if waits := f.ports[link].nonEmpty>>class&1 != 0; waits != (bytes > 0) {
			return 0, fmt.Errorf("queue of %s, class %s, holds %d bytes; that something waits there is noted as %v", f.net.Links[link].Name, f.classes[class].Name, bytes, waits)
		}
		if bytes > 0 {
			used[int(f.net.Links[link].From)-len(f.hosts)] += bytes
		}
	}
	return packets, f.compareBuffers(used, held)
}

func (f *Fabric) compareBuffers(used, held []int64) error {
	for s := range f.switches {
		b := &f.switches[s]
		if used[s] != b.used || b.max > b.size {
			return fmt.Errorf("%s holds %d bytes, counts %d and held up to %d of %d", f.net.NodeNames[len(f.hosts)+s], used[s], b.used, b.max, b.size)
		}
	}
	for i := range held {
		if held[i] != f.ingress[i].bytes {
			return fmt.Errorf("ingress of %s holds %d bytes and counts %d", f.net.Links[i>>f.lanes].Name, held[i], f.ingress[i].bytes)
		}
	}
	return nil
}

// auditPorts checks that no transmitter rests while something may be sent.
func (f *Fabric) auditPorts(dates []Time) error {
	for i := range f.ports {
		p := &f.ports[i]
		if open := p.nonEmpty &^ p.blocked; open != 0 && p.state&txPending == 0 {
			return fmt.Errorf("link %s rests while classes %b wait", f.net.Links[i].Name, open)
		}
		if pending := dates[endOn(int32(i))] != Never; pending != (p.state&txPending != 0) {
			return fmt.Errorf("link %s: the end of its transmission is noted as %v, and in the calendar as %v", f.net.Links[i].Name, !pending, pending)
		}
	}
	return nil
}

// auditPauses checks that every class that is paused is known as such at the other end, or will be let go,
// and that no more comes by a link after its XOFF than the headroom that was computed for it.
func (f *Fabric) auditPauses() error {
	if f.plan.pfc == 0 {
		return nil
	}
	under := make(map[[2]int]bool) // link and class that a pause frame is under way to
	for _, a := range f.control.heap {
		if a.kind == pauseOff {
			under[[2]int{int(a.link), int(a.class)}] = true
		}
	}
	for i := range f.since {
		link, class := i>>f.lanes, i&(1<<f.lanes-1)
		blocked := f.ports[link].blocked>>class&1 != 0
		if blocked != (f.since[i] != Never) {
			return fmt.Errorf("link %s, class %s: blocked is %v, and since %v", f.net.Links[link].Name, f.classes[class].Name, blocked, f.since[i])
		}
		if blocked && f.plan.pfc>>class&1 != 0 && !f.ingress[i].paused && !under[[2]int{link, class}] {
			return fmt.Errorf("link %s, class %s is paused, and nobody will let it go", f.net.Links[link].Name, f.classes[class].Name)
		}
		in := &f.ingress[i]
		if late := in.bytes - in.atPause; in.paused && late > in.headroom && !f.slowed && f.classes[class].Headroom == 0 {
			return fmt.Errorf("%d bytes of class %s came by link %s after its pause; its headroom is %d", late, f.classes[class].Name, f.net.Links[link].Name, in.headroom)
		}
	}
	return nil
}

// auditCredits checks that the credit of every link is at its sender, with packets on the wire, with
// packets in the buffer behind it, or on its way back.
func (f *Fabric) auditCredits() error {
	if f.plan.credit == 0 {
		return nil
	}
	sum := append([]int64(nil), f.credit...)
	book := func(link int32, class uint8, bytes int64) {
		if f.plan.credit>>class&1 != 0 {
			sum[f.at(link, int(class))] += bytes
		}
	}
	for i := range f.ports {
		for at := f.ports[i].wireHead; at != 0; at = f.packets.records[at].next {
			book(int32(i), f.packets.records[at].class, int64(f.packets.records[at].size))
		}
	}
	for i := range f.queues {
		for at := f.queues[i].head; at != 0; at = f.packets.records[at].next {
			r := &f.packets.records[at]
			book(r.ingress, r.class, int64(r.size))
		}
	}
	for _, a := range f.control.heap {
		if a.kind == creditBack {
			book(a.link, a.class, a.bytes)
		}
	}
	for i, bytes := range sum {
		link, class := i>>f.lanes, i&(1<<f.lanes-1)
		if f.plan.credit>>class&1 != 0 && bytes != f.ingress[i].headroom {
			return fmt.Errorf("link %s, class %s: %d bytes of credit of %d", f.net.Links[link].Name, f.classes[class].Name, bytes, f.ingress[i].headroom)
		}
	}
	return nil
}

// auditTimers checks that no Stack waits for an earlier instant than the calendar knows.
func (f *Fabric) auditTimers() error {
	for h := range f.hosts {
		for _, a := range f.hosts[h].stacks {
			if due := a.stack.Deadline(); due < f.hosts[h].timer && f.hosts[h].timer > f.now {
				return fmt.Errorf("host %d has work at %v, and its timer is set for %v", h, due, f.hosts[h].timer)
			}
		}
	}
	return nil
}
