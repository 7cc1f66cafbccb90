package rocev2

// holes is what a queue pair keeps when packets may be placed out of order: what arrived behind a gap (the
// responder's bitmap), and what was reported to have arrived behind one (the requester's).
//
//	responder:   ... placed │ expect ▢▣▣▢▢▣ highest │ ...
//	requester:   ... acknowledged │ una ▢▣▣▢▢▣ sacked │ ... next
type holes struct {
	// Requester.
	sacked     psn    // one past the highest PSN reported as arrived; una or before: none is
	recoverTo  psn    // recovery ends when this is acknowledged
	again      psn    // next candidate to be sent again, while recovering
	againPart  uint32 // the part that holds it, or one before
	sackWords  uint32 // bitmap in Host.words; 0: none yet
	recovering bool
	force      bool // what was not reported goes out again although nothing behind it was

	// Responder.
	highest  psn    // one past the highest that arrived; expect if there is no gap
	reported psn    // gaps before this were reported
	mark     psn    // gaps before this are old enough when reportAt comes
	reportAt Time   // never: no gap waits to be reported
	gotWords uint32 // bitmap in Host.words; 0: none yet
	lastHead uint32 // final packets of messages that arrived behind a gap, by PSN; indices into Host.lasts
	lastTail uint32
	asked    bool // a packet behind the gap asked for an acknowledgement
}

// A last is the final packet of a message that waits for what is before it.
type last struct {
	number    psn
	key, size uint32
	immediate uint32
	next      uint32
}

func (h *Host) newHoles(q *qp) uint32 {
	h.holes = append(h.holes, holes{sacked: q.una, again: q.una, recoverTo: q.una, highest: q.expect, reported: q.expect,
		mark: q.expect, reportAt: never})
	return uint32(len(h.holes) - 1)
}

// A bitmap holds one bit per PSN of a window, by PSN modulo its size, a power of two.
type bitmap struct {
	words []uint64
	mask  uint32
}

// bitmap returns the bitmap that starts at *at in the slab, and makes it on first use.
func (h *Host) bitmap(at *uint32) bitmap {
	n := uint32(h.cfg.ReorderWindow+63) / 64
	if *at == 0 {
		if len(h.words) == 0 {
			h.words = append(h.words, 0) // index 0 stands for none
		}
		*at = uint32(len(h.words))
		h.words = append(h.words, make([]uint64, n)...)
	}
	return bitmap{h.words[*at : *at+n], uint32(h.cfg.ReorderWindow - 1)}
}

func (b bitmap) has(n psn) bool { k := uint32(n) & b.mask; return b.words[k>>6]>>(k&63)&1 != 0 }
func (b bitmap) set(n psn)      { k := uint32(n) & b.mask; b.words[k>>6] |= 1 << (k & 63) }
func (b bitmap) clear(n psn)    { k := uint32(n) & b.mask; b.words[k>>6] &^= 1 << (k & 63) }

// missing tells whether any PSN of [from, to) is not in b.
func (b bitmap) missing(from, to psn) bool {
	for n := from; n.Before(to); n = n.Add(1) {
		if !b.has(n) {
			return true
		}
	}
	return false
}

// word returns the bits of up to 64 PSNs from n on, of those before end.
func (b bitmap) word(n, end psn) (w uint64) {
	for k := 0; k < min(64, end.Sub(n)); k++ {
		if b.has(n.Add(k)) {
			w |= 1 << k
		}
	}
	return w
}

// later returns the later of two PSNs.
func later(a, b psn) psn {
	if a.Before(b) {
		return b
	}
	return a
}
