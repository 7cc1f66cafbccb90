package netem

// Mean is the share of packets that a model loses in the long run.
func (l Loss) Mean() float64 {
	switch l.Model {
	case FourState: // the stationary shares of its states, relative to that of state 1; state 4 lasts one packet
		if l.P31 == 0 && l.P13 > 0 { // it stays in states 2 and 3
			return shareOf(l.P23, l.P32)
		}
		lost, burst := 0.0, 0.0
		if l.P31 > 0 {
			lost = l.P13 / l.P31
		}
		if l.P23 > 0 {
			burst = lost * l.P32 / l.P23
		}
		return (lost + l.P14) / (1 + lost + burst + l.P14)
	case GilbertElliott:
		bad := shareOf(l.ToBad, l.ToGood)
		return bad*l.BadLoss + (1-bad)*l.GoodLoss
	}
	return l.P
}

// shareOf is that of the state which is entered with chance in and left with chance out.
func shareOf(in, out float64) float64 {
	if in+out == 0 {
		return 0
	}
	return in / (in + out)
}

// MeanBurst is how many packets a model loses in a row, in the mean, or rather too many.
func (l Loss) MeanBurst() float64 {
	const long = 1e9 // so that nothing is judged
	switch {
	case l.Model == FourState && l.P31 > 0:
		return 1 / l.P31
	case l.Model == FourState && l.P32 > 0:
		return 1 / l.P32
	case l.Model == GilbertElliott && l.ToGood > 0:
		return 1 / l.ToGood
	case l.Model == RandomLoss && l.Corr == 0: // correlated losses are not as many as asked, in the kernel neither
		return 1
	}
	return long
}
