package emulator

import (
	"math/bits"

	"github.com/weft-transport/weft/transport/splitmix"
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
	Duplicated    uint64 // made by links: second copies of packets
	Dropped       [dropReasons]uint64
	DataDropped   uint64 // of the dropped, packets with message bytes; not those that had been trimmed, which are counted as such
	Corrupted     uint64 // damaged on the way; delivered, for the checksum to find
	DataDamaged   uint64 // of what was delivered damaged, packets with message bytes; not those that had been trimmed
}

// PortStats count what happened at the sending end of a directed link.
type PortStats struct {
	Packets     uint64
	Bytes       uint64
	Dropped     [dropReasons]uint64 // at its queue, or on its wire
	Trimmed     uint64
	Marked      uint64 // for the first time: a packet counts once, where it met congestion first
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
		i := f.at(int32(link), c)
		s.MaxQueue = max(s.MaxQueue, int64(f.queues[i].max))
		if f.since[i] != Never {
			s.Paused += f.now - f.since[i]
		}
	}
	return s
}

// ClassStats are the queue of one class at the sending end of a directed link.
type ClassStats struct {
	Queued   int64  // bytes, now
	MaxQueue int64  // bytes
	Dropped  uint64 // packets that found it, or the buffer, full
	Paused   Time   // up to now
}

// Class returns the counts of one class at a directed link.
func (f *Fabric) Class(link, class int) ClassStats {
	i := f.at(int32(link), class)
	s := ClassStats{Queued: f.backlog(int32(link), class), MaxQueue: int64(f.queues[i].max)}
	if f.byClass != nil {
		c := &f.byClass[i]
		s.Dropped, s.Paused = c.dropped, c.paused
	}
	if f.since[i] != Never {
		s.Paused += f.now - f.since[i]
	}
	return s
}

// classCounts are what happens rarely to a class at a link.
type classCounts struct {
	dropped uint64
	paused  Time
}

// classAt returns the counts to be added to. There are none before the first.
func (f *Fabric) classAt(link int32, class uint8) *classCounts {
	if f.byClass == nil {
		f.byClass = make([]classCounts, len(f.queues))
	}
	return &f.byClass[f.at(link, int(class))]
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
func (f *Fabric) Hash() uint64 { return splitmix.Mix(f.hash ^ f.totals.Events) }

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
