package live

import (
	"math/bits"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/core"
)

// lanes are what waits at a host for its link, a queue for each class, of which those that are paused hold no other up. They are
// served as those of switches are: by priority, and by weight among equals; a MaxShare is for switches alone.
type lanes struct {
	rings   []ring
	waiting core.ClassMask // classes with parcels
	deal    []int64        // by class: bytes that it may still send in this round
	turns   *turns
}

// turns is the order in which classes are served, the same at all hosts.
type turns struct {
	groups  []core.ClassMask // of equal priority, the highest first
	weights []int64
}

func newTurns(classes []emulator.Class) *turns {
	t := &turns{}
	var done core.ClassMask
	for len(t.weights) < len(classes) {
		t.weights = append(t.weights, int64(max(classes[len(t.weights)].Weight, 1)))
	}
	for done != 1<<len(classes)-1 {
		var group core.ClassMask
		best := 0
		for c := range classes {
			if done.Has(core.Class(c)) {
				continue
			}
			if p := classes[c].Priority; group == 0 || p > best {
				best, group = p, 0
			}
			if classes[c].Priority == best {
				group |= 1 << c
			}
		}
		t.groups = append(t.groups, group)
		done |= group
	}
	return t
}

func newLanes(t *turns) lanes {
	return lanes{rings: make([]ring, len(t.weights)), deal: make([]int64, len(t.weights)), turns: t}
}

// push adds a parcel, and tells whether it is the first of its class.
func (l *lanes) push(p *parcel) bool {
	r := &l.rings[p.class]
	r.push(p)
	l.waiting |= 1 << p.class
	return r.len() == 1
}

// pop takes the parcel whose turn it is; nil: there is none in an open class.
func (l *lanes) pop(open core.ClassMask) *parcel {
	able := l.waiting & open
	if able == 0 {
		return nil
	}
	c := l.next(able)
	r := &l.rings[c]
	p := r.pop()
	if r.len() == 0 {
		l.waiting &^= 1 << c
		l.deal[c] = 0 // who has nothing to send saves nothing
	}
	return p
}

// next chooses a class: deficit round robin among those of the highest priority.
func (l *lanes) next(able core.ClassMask) int {
	for _, group := range l.turns.groups {
		if group&able != 0 {
			able &= group
			break
		}
	}
	if able&(able-1) == 0 {
		return bits.TrailingZeros16(uint16(able))
	}
	const quantum = 256 // bytes of a round, by weight
	for {
		for set := able; set != 0; set &= set - 1 {
			c := bits.TrailingZeros16(uint16(set))
			if size := int64(l.rings[c].first().size()); l.deal[c] >= size {
				l.deal[c] -= size
				return c
			}
		}
		for set := able; set != 0; set &= set - 1 {
			c := bits.TrailingZeros16(uint16(set))
			l.deal[c] += quantum * l.turns.weights[c]
		}
	}
}
