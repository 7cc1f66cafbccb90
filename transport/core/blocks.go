package core

import "math/bits"

// blockPSNs is the unit of room for windows: 64 PSNs, one word of a bitmap.
const blockPSNs = 64

// A block is room for a window of PSNs: a power of two of units within arrays that grow as
// blocks are taken. PSN n has slot n modulo the block's size. The zero block is no room.
type block struct {
	first uint32 // unit at which it starts
	units uint32 // power of two; 0: no room
}

// psns returns how many PSNs have room.
func (b block) psns() uint32 { return b.units * blockPSNs }

// slot returns the index of a PSN's record in an array of records.
func (b block) slot(psn uint32) uint32 { return b.first*blockPSNs + psn&(b.units*blockPSNs-1) }

// word returns the index of the bitmap word that holds a PSN's bit.
func (b block) word(psn uint32) uint32 { return b.first + psn/blockPSNs&(b.units-1) }

// get64 returns the bits of 64 PSNs from psn on; bit 0 is psn. It wraps within the block, so
// that bits beyond the window must be masked by the caller.
func (b block) get64(words []uint64, psn uint32) uint64 {
	shift := psn % blockPSNs
	low := words[b.word(psn)] >> shift
	if shift == 0 {
		return low
	}
	return low | words[b.word(psn+blockPSNs)]<<(blockPSNs-shift)
}

// has tells whether a PSN's bit is set.
func (b block) has(words []uint64, psn uint32) bool {
	return words[b.word(psn)]>>(psn%blockPSNs)&1 != 0
}

func (b block) set(words []uint64, psn uint32)   { words[b.word(psn)] |= 1 << (psn % blockPSNs) }
func (b block) clear(words []uint64, psn uint32) { words[b.word(psn)] &^= 1 << (psn % blockPSNs) }

// blockSizes is how many sizes of blocks there are: 64 PSNs to 32768, the most that MPR can tell.
const blockSizes = 10

// blocks hands out blocks. A returned block serves the next one of its size; when all are back
// the arrays start over.
type blocks struct {
	end  uint32 // units handed out so far from the arrays
	used uint32 // of these, in use
	free [blockSizes][]uint32
}

func sizeClass(units uint32) int { return bits.TrailingZeros32(units) }

// take returns a block of that many units, a power of two.
func (s *blocks) take(units uint32) block {
	s.used += units
	list := &s.free[sizeClass(units)]
	if n := len(*list); n > 0 {
		first := (*list)[n-1]
		*list = (*list)[:n-1]
		return block{first, units}
	}
	b := block{s.end, units}
	s.end += units
	return b
}

// give returns a block. It reports whether that was the last one in use.
func (s *blocks) give(b block) (empty bool) {
	if b.units == 0 {
		return false
	}
	s.used -= b.units
	if s.used == 0 {
		s.end = 0
		for i := range s.free {
			s.free[i] = s.free[i][:0]
		}
		return true
	}
	list := &s.free[sizeClass(b.units)]
	*list = append(*list, b.first)
	return false
}

// unitsFor returns the units of the smallest block with room for that many PSNs.
func unitsFor(psns uint32) uint32 {
	if psns <= blockPSNs {
		return 1
	}
	return 1 << bits.Len32((psns-1)/blockPSNs)
}
