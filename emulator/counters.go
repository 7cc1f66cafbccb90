package emulator

import (
	"fmt"
	"math/bits"
)

// A DropReason says why the fabric lost a packet.
type DropReason uint8

// Reasons, in the order of the counts in PortStats and Totals.
const (
	DropQueue  DropReason = iota // the queue or the buffer was full
	DropRandom                   // the link's loss model
	DropFault                    // the link was down, or there was no way
	dropReasons
)

// Totals count what happened in the whole fabric since the start.
type Totals struct {
	Events        uint64
	Transmissions uint64 // packets that were sent on a link: one packet crossing six links counts six
	Sent          uint64 // by hosts
	DataSent      uint64 // of these, packets with message bytes
	Delivered     uint64 // to hosts, trimmed ones included
	Dropped       [dropReasons]uint64
	DataDropped   uint64
	Corrupted     uint64 // damaged on the way; delivered, for the checksum to find
}

// PortStats count what happened at the sending end of a directed link.
type PortStats struct {
	Packets     uint64
	Bytes       uint64
	Dropped     [dropReasons]uint64 // at its queue, or on its wire
	Trimmed     uint64
	Marked      uint64
	PauseFrames uint64 // sent to it by the other end, XON included
	Paused      Time   // summed over classes
	MaxQueue    int64  // bytes, of its fullest class
}

// Totals returns the counts of the whole fabric.
func (f *Fabric) Totals() Totals { return f.totals }

// Port returns the counts of one directed link.
func (f *Fabric) Port(link int) PortStats {
	s := f.stats[link]
	p := &f.ports[link]
	s.Packets, s.Bytes = uint64(p.txPackets), p.txBytes
	for c := range f.classes {
		i := link*len(f.classes) + c
		s.MaxQueue = max(s.MaxQueue, int64(f.queues[i].max))
		if f.since[i] != Never {
			s.Paused += f.now - f.since[i]
		}
	}
	return s
}

// QueueBytes returns what is queued at a link now, over all classes.
func (f *Fabric) QueueBytes(link int) int64 {
	var sum int64
	for c := range f.classes {
		sum += f.backlog(int32(link), c)
	}
	return sum
}

// Network returns the network that the fabric runs.
func (f *Fabric) Network() *Network { return f.net }

// BufferPeak returns the most bytes that the buffer of any switch held, and its size.
func (f *Fabric) BufferPeak() (used, size int64) {
	for s := range f.switches {
		if f.switches[s].max > used || size == 0 {
			used, size = f.switches[s].max, f.switches[s].size
		}
	}
	return used, size
}

// Hash folds every delivery so far: when, where, and the head of the packet.
func (f *Fabric) Hash() uint64 { return mix64(f.hash ^ f.totals.Events) }

// OnSample has do called at every sample of the queues (Config.SamplePeriod).
func (f *Fabric) OnSample(do func(now Time)) { f.sampled = append(f.sampled, do) }

// sample records the queue of every switch port.
func (f *Fabric) sample() {
	for i := range f.ports {
		if f.ports[i].state&fromHost == 0 {
			f.depths.add(f.QueueBytes(i))
		}
	}
	for _, do := range f.sampled {
		do(f.now)
	}
	f.control.add(f.now+f.cfg.SamplePeriod, action{kind: takeSample})
}

// QueueQuantile returns the q-quantile of all queue samples in bytes, within 3 %; ok is false
// without samples.
func (f *Fabric) QueueQuantile(q float64) (bytes int64, ok bool) { return f.depths.quantile(q) }

// A histogram counts values in buckets of 1/32 of an octave.
type histogram struct {
	counts [64 * 32]uint64
	total  uint64
}

func (h *histogram) add(v int64) {
	h.counts[bucketOf(uint64(max(v, 0)))]++
	h.total++
}

func bucketOf(v uint64) int {
	if v < 32 {
		return int(v)
	}
	octave := bits.Len64(v) - 6
	return octave*32 + int(v>>octave)
}

// quantile returns the middle of the bucket that holds the q-quantile.
func (h *histogram) quantile(q float64) (int64, bool) {
	if h.total == 0 {
		return 0, false
	}
	rank := uint64(q * float64(h.total-1))
	for b, n := range h.counts {
		if rank < n {
			return bucketMiddle(b), true
		}
		rank -= n
	}
	return 0, false
}

func bucketMiddle(b int) int64 {
	if b < 64 {
		return int64(b)
	}
	octave := b/32 - 1
	return int64(b-octave*32)<<octave + int64(1)<<octave/2
}

// fail notes that an invariant broke; Run ends with it.
func (f *Fabric) fail(format string, args ...any) {
	if f.broken == nil {
		f.broken = fmt.Errorf("at %v: "+format, append([]any{f.now}, args...)...)
	}
}

// Audit checks that nothing was lost without a count: packets, queue bytes, buffers, pauses. It may
// be called between Runs.
func (f *Fabric) Audit() error {
	var dropped uint64
	for _, n := range f.totals.Dropped {
		dropped += n
	}
	if held := uint64(f.packets.live); f.totals.Sent != f.totals.Delivered+dropped+held {
		return fmt.Errorf("packets: %d sent, but %d delivered, %d dropped and %d under way", f.totals.Sent, f.totals.Delivered, dropped, held)
	}
	onWires, err := f.auditWires()
	if err != nil {
		return err
	}
	inQueues, err := f.auditQueues()
	if err != nil {
		return err
	}
	if onWires+inQueues != f.packets.live {
		return fmt.Errorf("packets: %d on wires and %d in queues, but %d under way", onWires, inQueues, f.packets.live)
	}
	return nil
}

func (f *Fabric) auditWires() (packets int, err error) {
	for i := range f.ports {
		arrival := f.cal.entries[i].at
		for at := f.ports[i].wireHead; at != 0; at = f.packets.records[at].next {
			if arrival < f.now {
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

func (f *Fabric) auditQueues() (packets int, err error) {
	used := make([]int64, len(f.switches))
	held := make([]int64, len(f.ingress))
	for i := range f.queues {
		link, class := i/len(f.classes), i%len(f.classes)
		var bytes int64
		for at := f.queues[i].head; at != 0; at = f.packets.records[at].next {
			r := &f.packets.records[at]
			bytes += int64(r.size)
			packets++
			if f.plan.pfc>>class&1 != 0 {
				held[int(r.ingress)*len(f.classes)+class] += int64(r.size)
			}
		}
		if bytes != int64(f.queues[i].bytes) {
			return 0, fmt.Errorf("queue of %s, class %s, holds %d bytes and counts %d", f.net.Links[link].Name, f.classes[class].Name, bytes, f.queues[i].bytes)
		}
		if bytes > 0 {
			used[int(f.net.Links[link].From)-len(f.hosts)] += bytes
		}
	}
	for s := range f.switches {
		b := &f.switches[s]
		if used[s] != b.used || b.max > b.size {
			return 0, fmt.Errorf("%s holds %d bytes, counts %d and held up to %d of %d", f.net.NodeNames[len(f.hosts)+s], used[s], b.used, b.max, b.size)
		}
	}
	for i := range held {
		if held[i] != f.ingress[i].bytes {
			return 0, fmt.Errorf("ingress of %s holds %d bytes and counts %d", f.net.Links[i/len(f.classes)].Name, held[i], f.ingress[i].bytes)
		}
	}
	return packets, nil
}
