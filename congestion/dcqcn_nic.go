package congestion

import "github.com/weft-transport/weft/transport/instant"

// dcqcnNIC is the reaction point of adapters, as the ns-3 models have it. A notification only
// leaves a note; periodic ticks, counted from the first one, act on it:
//
//	alpha tick    every alphaPeriod:  noted ? alpha rises : alpha decays
//	check         every cutInterval:  noted ? cut the rate, restart the increase timer
//	increase      every increasePeriod since the last cut: the first F halve the distance to the
//	              target, number F+1 also adds rateAI to it, all later ones rateHAI
//
// A cut lowers the target to the rate only if there was an increase since the cut before, so
// that a burst of notifications does not take the memory of the rate before it.
type dcqcnNIC struct {
	dcqcnState
	origin  Time // of the check ticks: the first notification
	checkAt Time // the check that will see the note; Never without one
	steps   int32
	began   bool
	noted   bool // a notification in the running alpha period
}

// OnSent has nothing to count: this form has no byte counter.
func (d *dcqcnNIC) OnSent(now Time, bytes, inFlight int64) {}

// OnSignal notes notifications; lost packets are not its business.
func (d *dcqcnNIC) OnSignal(now Time, s Signal) {
	if s.Cause != CNP {
		return
	}
	if !d.began {
		d.began = true
		d.origin, d.alphaAt = now, now
	}
	d.tickAlpha(now)
	d.noted = true
	if interval := max(d.p.cutInterval, 1); d.checkAt > now+interval {
		d.checkAt = d.origin + ((now-d.origin)/interval+1)*interval
	}
}

// tickAlpha catches up with the alpha ticks up to now: the first of them saw the note.
func (d *dcqcnNIC) tickAlpha(now Time) {
	if d.noted && now-d.alphaAt >= d.p.alphaPeriod {
		d.reinforce()
		d.alphaAt += d.p.alphaPeriod
		d.noted = false
	}
	d.decay(now)
}

func (d *dcqcnNIC) OnTimeout(now Time) {
	for d.Deadline() <= now {
		if d.checkAt <= d.increaseAt {
			d.check()
		} else {
			d.increase()
		}
	}
}

// Deadline is the next check or increase.
func (d *dcqcnNIC) Deadline() Time { return min(d.checkAt, d.increaseAt) }

func (d *dcqcnNIC) check() {
	at := d.checkAt
	d.tickAlpha(at)
	if d.p.clampTarget || d.steps > 0 {
		d.target = d.rate
	}
	d.cut(at)
	d.steps = 0
	d.checkAt = instant.Never
}

func (d *dcqcnNIC) increase() {
	step := 0.0
	switch {
	case d.steps == d.p.fastSteps:
		step = d.p.rateAI.of(d.line)
	case d.steps > d.p.fastSteps:
		step = d.p.rateHAI.of(d.line)
	}
	d.steps++
	d.increaseAt += d.p.increasePeriod
	d.approach(step)
}
