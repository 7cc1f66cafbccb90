package swarm

import (
	"errors"
	"fmt"
	"math"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/runner"
)

// judge looks at what a run came to. Everything has ended: a message is finished or has failed with a reason,
// and failures need a cause.
func (c *Case) judge(r *runner.Result) error {
	run := &r.Run
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	waiting := 0
	for _, f := range r.Flows {
		switch {
		case f.State == "not started" && run.Failed.Retry > 0: // it waits for one that failed
			waiting++
		case f.State != "finished" && f.State != "retry":
			fail("flow %d (%d->%d, %d bytes) never ends: %s", f.Flow, f.Src, f.Dst, f.Bytes, f.State)
		}
	}
	for i := range r.Flows {
		if err := accounted(&r.Flows[i]); err != nil {
			errs = append(errs, err)
		}
	}
	if c.calm(r) && !c.hasty() && run.Failed.Retry > 0 {
		fail("%d messages failed, and nothing was lost", run.Failed.Retry)
	}
	if c.calm(r) && run.OutOfOrder.Packets == 0 {
		if run.Nacks > 0 {
			fail("%d NACKs, and nothing was lost or out of order", run.Nacks)
		}
		if c.prompt(r) && run.Timeouts+run.Retransmitted > 0 {
			fail("%d timeouts and %d packets sent again, and nothing was lost, out of order or late", run.Timeouts, run.Retransmitted)
		}
	}
	return errors.Join(errs...)
}

// accounted checks that the parts of a finished flow's time are its completion time, to the picosecond.
func accounted(f *compare.Flow) error {
	if f.FCT == nil {
		return nil
	}
	for _, p := range f.Times.Parts() {
		if p.NS < 0 {
			return fmt.Errorf("flow %d: %v ns of %s", f.Flow, p.NS, p.Name)
		}
	}
	if off := math.Abs(f.Times.Total() - *f.FCT); off > 0.0005+*f.FCT*1e-12 {
		return fmt.Errorf("flow %d (%d->%d): its parts sum to %v ns of %v: %+v", f.Flow, f.Src, f.Dst, f.Times.Total(), *f.FCT, f.Times.Parts())
	}
	return nil
}

// calm tells whether nothing was lost, and nothing can have been.
func (c *Case) calm(r *runner.Result) bool {
	d := r.Run.Dropped
	return d.Queue+d.Random+d.Fault+d.Corrupt+r.Run.Trimmed == 0 && len(c.setting.Scenario.Faults) == 0
}

// prompt tells whether no packet can have been held up for longer than a base round trip, and no acknowledgement
// stays away: every timer is twice as long.
func (c *Case) prompt(r *runner.Result) bool {
	e := c.entry()
	if e.Class.Word("flowControl") == "credit" || r.Run.PauseFrames > 0 || c.hasty() || c.silent(r) {
		return false
	}
	slowest, hops := int64(1)<<62, 0.0
	for _, l := range c.setting.Scenario.Fabric.Network.Links {
		slowest, hops = min(slowest, l.RateBps), max(hops, 2*float64(l.Tier+1))
	}
	return r.Run.QueueBytes.Max*8/float64(slowest)*hops < c.setting.BaseRTT.Seconds()
}

// silent tells whether a source may wait for its timer although nothing was lost: its window was cut below what is under way, of
// which no packet asked for an ACK since the window had room, and what is under way is less than what causes one. A target has
// no timer for acknowledgements; only a tail probe asks for them then (docs/DEVIATIONS.md).
func (c *Case) silent(r *runner.Result) bool {
	e := c.entry()
	if e.Spec.Name != "uet" || e.Params.Bool("ackPerPacket") || e.Params.Bool("tailProbe") && e.Params.Word("mode") == "rud" {
		return false
	}
	switch cc, _ := e.Params.Choice("congestion"); cc {
	case "fixed", "none":
		return false
	case "reno", "cubic", "dctcp", "mprdma": // where nothing is lost, only a mark cuts their windows
		return r.Run.Marked > 0
	}
	return true
}

// hasty tells whether the case sets a timeout, which may be shorter than anything sensible.
func (c *Case) hasty() bool {
	e := c.entry()
	return e.Spec.Name == "rocev2" && e.Params.Has("timeout")
}
