package netem

// losses is a loss model at work.
type losses struct {
	model          LossModel
	none           bool
	state          uint8
	p              threshold
	corr           correlated
	a1, a2, a3, a4 threshold // FourState: p13, p31, p32, p14; GilbertElliott: p, r, h, 1-k
	a5             threshold // p23
}

// States of the Markov chains. A run begins in the first.
const (
	inGap uint8 = iota // or good
	inBurst
	lostAlone
	lostInBurst // or bad
)

func newLosses(l Loss, corr correlated) losses {
	x := losses{model: l.Model, none: l.None(), p: newThreshold(l.P), corr: corr}
	switch l.Model {
	case FourState:
		x.a1, x.a2, x.a3 = newThreshold(l.P13), newThreshold(l.P31), newThreshold(l.P32)
		x.a4, x.a5 = newThreshold(l.P14), newThreshold(l.P23)
	case GilbertElliott:
		x.a1, x.a2, x.a3, x.a4 = newThreshold(l.ToBad), newThreshold(l.ToGood), newThreshold(1-l.BadLoss), newThreshold(l.GoodLoss)
	}
	return x
}

// event tells whether the next packet is lost.
func (l *losses) event(g *generator) bool {
	switch {
	case l.none:
		return false
	case l.model == FourState:
		return l.fourState(g.next())
	case l.model == GilbertElliott:
		return l.gilbertElliott(g)
	}
	return uint32(l.p) >= l.corr.next(g)
}

func (l *losses) fourState(n uint32) bool {
	// Sums of two probabilities may pass 1 by rounding; 64 bits keep them from starting over at 0.
	x := uint64(n)
	switch l.state {
	case inGap:
		switch {
		case x < uint64(l.a4):
			l.state = lostAlone
			return true
		case x < uint64(l.a1)+uint64(l.a4):
			l.state = lostInBurst
			return true
		}
	case inBurst:
		if x < uint64(l.a5) {
			l.state = lostInBurst
			return true
		}
	case lostInBurst:
		switch {
		case x < uint64(l.a3):
			l.state = inBurst
		case x < uint64(l.a2)+uint64(l.a3):
			l.state = inGap
		default:
			return true
		}
	case lostAlone:
		l.state = inGap
	}
	return false
}

// gilbertElliott moves first and then decides by the loss probability of the state that the packet met, as the
// kernel does.
func (l *losses) gilbertElliott(g *generator) bool {
	if l.state == inGap {
		if g.next() < uint32(l.a1) {
			l.state = lostInBurst
		}
		return g.next() < uint32(l.a4)
	}
	if g.next() < uint32(l.a2) {
		l.state = inGap
	}
	return g.next() > uint32(l.a3)
}
