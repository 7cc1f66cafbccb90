package congestion

// dcqcnPaper is the reaction point as published. A timer and a byte counter count increases
// apart, both restart with every notification:
//
//	              max(timer, bytes) <= F    otherwise     min(timer, bytes) > F
//	target        stays                     += rateAI     += (min - F) * rateHAI
//	rate          half way to the target, in all three: fast recovery, additive, hyper
type dcqcnPaper struct {
	dcqcnState
	lastCut    Time
	cutBefore  bool
	timerSteps int32
	byteSteps  int32
	sent       int64 // bytes since the last step of the byte counter
}

// OnSent runs the byte counter, which is idle at line rate.
func (d *dcqcnPaper) OnSent(now Time, bytes, inFlight int64) {
	if d.p.byteCounter == 0 || !d.limited() {
		return
	}
	for d.sent += bytes; d.sent >= d.p.byteCounter && d.limited(); d.sent -= d.p.byteCounter {
		d.byteSteps++
		d.increase()
	}
}

// OnSignal reacts to notifications; lost packets are not its business.
func (d *dcqcnPaper) OnSignal(now Time, s Signal) {
	if s.Cause != CNP || d.cutBefore && now-d.lastCut < d.p.cutInterval {
		return
	}
	if d.cutBefore {
		d.decay(now)
	}
	if d.p.clampTarget || d.timerSteps+d.byteSteps > 0 {
		d.target = d.rate
	}
	d.cut(now)
	d.reinforce()
	d.alphaAt, d.lastCut, d.cutBefore = now, now, true
	d.timerSteps, d.byteSteps, d.sent = 0, 0, 0
}

func (d *dcqcnPaper) OnTimeout(now Time) {
	for d.limited() && d.increaseAt <= now {
		d.increaseAt += d.p.increasePeriod
		d.timerSteps++
		d.increase()
	}
}

// Deadline is the next timed increase.
func (d *dcqcnPaper) Deadline() Time { return d.increaseAt }

func (d *dcqcnPaper) increase() {
	fast := d.p.fastSteps
	step := 0.0
	if both := min(d.timerSteps, d.byteSteps); both > fast {
		step = float64(both-fast) * d.p.rateHAI.of(d.line)
	} else if max(d.timerSteps, d.byteSteps) > fast {
		step = d.p.rateAI.of(d.line)
	}
	d.approach(step)
}
