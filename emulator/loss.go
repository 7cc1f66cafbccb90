package emulator

import (
	"math"
	"math/bits"

	"github.com/weft-transport/weft/transport/core"
)

// A Loss says how one direction of a link loses packets. The zero Loss loses none.
//
// Fates are common random numbers: what happens to the k-th data packet (or the k-th control
// packet) on a link is a hash of the seed, the link, that kind and k, compared with the
// probability for the packet's size. So protocols that send different packets meet the same weather.
type Loss struct {
	Random  float64 // probability that a full packet is lost; smaller ones in proportion to their size
	Corrupt float64 // probability that a full packet is damaged; it travels on, and the checksum at the end finds it
	Every   uint64  // every n-th data packet is lost; 0: off
	// Burst is a two-state chain in continuous time (Gilbert 1960, Elliott 1963): it evolves whether
	// packets are sent or not.
	Burst Burst
}

// A Burst is a Gilbert-Elliott model. MeanBad 0: off.
type Burst struct {
	MeanGood, MeanBad Time    // mean stay in either state
	LossGood, LossBad float64 // probability of loss in either
}

func (l Loss) none() bool {
	return l.Random == 0 && l.Corrupt == 0 && l.Every == 0 && l.Burst.MeanBad == 0
}

// with returns the loss of a link on which two causes act apart. Of the parts that are not probabilities,
// those of the second count where it has them.
func (l Loss) with(o Loss) Loss {
	either := func(a, b float64) float64 { return 1 - float64((1-a)*(1-b)) }
	l.Random, l.Corrupt = either(l.Random, o.Random), either(l.Corrupt, o.Corrupt)
	if o.Every > 0 {
		l.Every = o.Every
	}
	if o.Burst.MeanBad > 0 {
		l.Burst = o.Burst
	}
	return l
}

// An impairment is a Loss at work on one link.
type impairment struct {
	Loss
	own     Loss // of the link itself, faults apart
	seed    uint64
	count   [2]uint64 // packets so far: data, control
	bad     bool
	changes uint64
	until   Time // end of the current state
}

// SetLoss gives one direction of a link a loss model, from now on. The counts of packets go on. Faults of
// kind LinkLoss act on top of it while they last.
func (f *Fabric) SetLoss(link int, l Loss) {
	f.impair(link).own = l
	f.suffer(link)
}

// impair returns the impairment of a link, and makes it when it is the first.
func (f *Fabric) impair(link int) *impairment {
	if f.lossy == nil {
		f.lossy = make([]*impairment, len(f.ports))
	}
	if f.lossy[link] == nil {
		f.lossy[link] = &impairment{seed: derive(f.cfg.Seeds.Loss, uint64(link))}
	}
	return f.lossy[link]
}

// ownLoss returns the loss of a link without faults.
func (f *Fabric) ownLoss(link int) Loss {
	if f.lossy == nil || f.lossy[link] == nil {
		return Loss{}
	}
	return f.lossy[link].own
}

// applyLoss sets what a link loses now.
func (f *Fabric) applyLoss(link int, l Loss) {
	f.ports[link].state &^= impaired
	if l.none() && (f.lossy == nil || f.lossy[link] == nil) {
		return
	}
	f.impair(link).Loss = l
	if !l.none() {
		f.ports[link].state |= impaired
	}
}

// lost decides the fate of a packet at the end of a link, and ends it if it is lost.
func (f *Fabric) lost(link int32, i uint32) bool {
	if f.ports[link].state&downNow != 0 {
		f.drop(link, i, DropFault)
		return true
	}
	r := &f.packets.records[i]
	im := f.lossy[link]
	kind := 1
	if r.flags&recData != 0 {
		kind = 0
	}
	n := im.count[kind]
	im.count[kind]++
	if im.Every > 0 && kind == 0 && (n+1)%im.Every == 0 {
		f.drop(link, i, DropRandom)
		return true
	}
	u := rng{derive(im.seed, uint64(kind), n)}
	share := min(1, float64(r.size)/float64(f.cfg.MaxWireBytes))
	p := float64(im.Random * share)
	if im.Burst.MeanBad > 0 {
		p = max(p, float64(im.burst(f.now)*share))
	}
	if u.unit() < p {
		f.drop(link, i, DropRandom)
		return true
	}
	if u.unit() < float64(im.Corrupt*share) {
		r.flags |= core.Corrupt
		f.totals.Corrupted++
		if f.tap != nil {
			f.tap.show(f, Damaged, link, i)
		}
	}
	return false
}

// burst lets the chain run up to now and returns the probability of loss in its state.
func (im *impairment) burst(now Time) float64 {
	for im.until <= now {
		im.changes++
		im.bad = im.changes > 1 && !im.bad
		mean := im.Burst.MeanGood
		if im.bad {
			mean = im.Burst.MeanBad
		}
		r := rng{derive(im.seed, 2, im.changes)}
		im.until += max(1, Time(float64(exponential(r.next())*float64(mean))))
	}
	if im.bad {
		return im.Burst.LossBad
	}
	return im.Burst.LossGood
}

// exponential turns a uniform number into one with exponential distribution and mean 1: the
// logarithm of u = m*2^-k with 1 <= m < 2, by its series in (m-1)/(m+1). The library's logarithm is
// not the same to the last bit on every machine.
func exponential(random uint64) float64 {
	random |= 1
	k := bits.LeadingZeros64(random)
	m := math.Float64frombits(0x3ff<<52 | (random<<(k+1))>>12)
	s := (m - 1) / (m + 1)
	s2 := float64(s * s)
	sum, term := 0.0, s
	for n := 1; n < 30; n += 2 {
		sum += float64(term / float64(n))
		term = float64(term * s2)
	}
	return float64(float64(k+1)*math.Ln2) - float64(2*sum)
}
