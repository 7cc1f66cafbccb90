package netem

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-transport/weft/transport/instant"
)

// Time is an instant, or the distance between two, in picoseconds.
type Time = instant.Time

// Params are the impairments of one direction of a path. The zero value impairs nothing; Parse sets Limit to
// DefaultLimit as tc does. Times have a resolution of one nanosecond, as in the kernel.
type Params struct {
	Limit int // packets that may be held; 0: DefaultLimit

	Delay        Time
	Jitter       Time    // what Distribution is scaled by: half the width of uniform, the deviation of normal
	DelayCorr    float64 // of one delay with the one before, 0 to 1
	Distribution *Table  // nil: uniform
	// FreeOrder lets jitter change the order of packets, as Linux does. Without it a packet never leaves before one
	// that arrived ahead of it, unless Reorder says so: links that reorder by jitter alone are rare. "order free" in
	// the text, a word that tc does not have.
	FreeOrder bool

	Loss Loss
	ECN  bool // what would be lost is marked instead, if its sender speaks ECN

	Duplicate, DuplicateCorr float64
	Corrupt, CorruptCorr     float64

	Reorder, ReorderCorr float64 // share of packets that leave at once, ahead of those that wait
	Gap                  int     // of them one in Gap at most; 0: 1, if Reorder is set

	RateBps      int64 // bits per second; 0: no limit
	Overhead     int   // bytes added to a packet before its time on the wire is computed; may be negative
	CellBytes    int   // payload of a cell; 0: no cells
	CellOverhead int   // bytes added to a cell; may be negative

	Slot Slot

	Seed    uint64 // of the random numbers
	HasSeed bool   // false: the carrier chooses one
}

// DefaultLimit is the number of packets that tc lets a netem hold.
const DefaultLimit = 1000

// A LossModel says how losses follow each other.
type LossModel uint8

// Models of loss.
const (
	RandomLoss     LossModel = iota // each packet for itself, or correlated with the one before
	FourState                       // Markov chain of Salsano, Ludovici and Ordine
	GilbertElliott                  // two states with a loss probability each
)

// A Loss is one of the three models; all figures are probabilities.
type Loss struct {
	Model LossModel
	P     float64 // RandomLoss
	Corr  float64

	P13, P31, P32, P23, P14 float64 // FourState; states are: 1 received, 2 received in a burst of losses, 3 lost in one, 4 lost alone

	ToBad, ToGood float64 // GilbertElliott: p and r
	BadLoss       float64 // 1-h
	GoodLoss      float64 // 1-k
}

// None tells that nothing is ever lost.
func (l Loss) None() bool { return l.Model == RandomLoss && l.P == 0 }

// A Slot releases packets in groups, as the medium access of cable and radio does.
type Slot struct {
	Min, Max      Time   // between two slots, uniform
	Distribution  *Table // instead of Min and Max
	Delay, Jitter Time   // of Distribution
	Packets       int    // at most in a slot; 0: any number
	Bytes         int    // at most in a slot, the last packet may exceed it; 0: any number
}

// On tells whether packets leave in slots.
func (s Slot) On() bool { return s.Min|s.Max|s.Jitter != 0 }

// String writes the canonical form, which Parse reads back to the same Params: words in the order of tc's own
// output, zero values left out.
func (p Params) String() string {
	var w words
	if p.Limit != 0 && p.Limit != DefaultLimit {
		w.add("limit", strconv.Itoa(p.Limit))
	}
	if p.Delay != 0 || p.Jitter != 0 {
		w.add("delay", when(p.Delay))
		if p.Jitter != 0 {
			w.add(when(p.Jitter))
			w.share(p.DelayCorr)
		}
		if p.Distribution != nil {
			w.add("distribution", p.Distribution.Name)
		}
		if p.FreeOrder {
			w.add("order", "free")
		}
	}
	w.loss(p.Loss)
	if p.ECN {
		w.add("ecn")
	}
	w.chance("duplicate", p.Duplicate, p.DuplicateCorr)
	w.chance("reorder", p.Reorder, p.ReorderCorr)
	if p.Reorder != 0 && p.Gap > 1 {
		w.add("gap", strconv.Itoa(p.Gap))
	}
	w.chance("corrupt", p.Corrupt, p.CorruptCorr)
	w.rate(p)
	w.slot(p.Slot)
	if p.HasSeed {
		w.add("seed", strconv.FormatUint(p.Seed, 10))
	}
	return strings.Join(w, " ")
}

// when writes a time as tc reads it, exactly, in the largest unit that needs no fraction.
func when(t Time) string {
	for _, u := range [...]struct {
		size Time
		name string
	}{{instant.Second, "s"}, {instant.Millisecond, "ms"}, {instant.Microsecond, "us"}} {
		if t%u.size == 0 {
			return strconv.FormatInt(int64(t/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(t/instant.Nanosecond), 10) + "ns"
}

type words []string

func (w *words) add(more ...string) { *w = append(*w, more...) }

func percent(x float64) string { return strconv.FormatFloat(100*x, 'g', 12, 64) + "%" }

func (w *words) share(x float64) {
	if x != 0 {
		w.add(percent(x))
	}
}

func (w *words) chance(name string, p, corr float64) {
	if p != 0 {
		w.add(name, percent(p))
		w.share(corr)
	}
}

func (w *words) loss(l Loss) {
	switch {
	case l.Model == FourState:
		w.add("loss", "state", percent(l.P13), percent(l.P31), percent(l.P32), percent(l.P23), percent(l.P14))
	case l.Model == GilbertElliott:
		w.add("loss", "gemodel", percent(l.ToBad), percent(l.ToGood), percent(l.BadLoss), percent(l.GoodLoss))
	case !l.None():
		w.add("loss", percent(l.P))
		w.share(l.Corr)
	}
}

func (w *words) rate(p Params) {
	if p.RateBps == 0 {
		return
	}
	w.add("rate", fmt.Sprintf("%dbit", p.RateBps))
	tail := []int{p.Overhead, p.CellBytes, p.CellOverhead}
	for len(tail) > 0 && tail[len(tail)-1] == 0 {
		tail = tail[:len(tail)-1]
	}
	for _, n := range tail {
		w.add(strconv.Itoa(n))
	}
}

func (w *words) slot(s Slot) {
	if !s.On() {
		return
	}
	if s.Distribution != nil {
		w.add("slot", "distribution", s.Distribution.Name, when(s.Delay), when(s.Jitter))
	} else {
		w.add("slot", when(s.Min), when(s.Max))
	}
	if s.Packets != 0 {
		w.add("packets", strconv.Itoa(s.Packets))
	}
	if s.Bytes != 0 {
		w.add("bytes", strconv.Itoa(s.Bytes))
	}
}
