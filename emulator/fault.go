package emulator

import (
	"fmt"
	"slices"
)

// A FaultKind is what goes wrong.
type FaultKind uint8

// Kinds of faults.
const (
	LinkDown FaultKind = iota // the cable is cut: what is on it and what is sent is lost
	SlowLink                  // it runs at Factor times its rate
	LinkLoss                  // it loses packets by Loss
	SlowHost                  // the link of a host, both ways, runs at Factor times its rate
)

// A Fault happens to some links at a time and ends after a while.
type Fault struct {
	Kind   FaultKind
	Links  []int // directed; name both directions for both
	At     Time
	For    Time    // Never, or 0: to the end of the run
	Every  Time    // repeated with this period (flapping); 0: once
	Count  int     // how often, when repeated; 0: to the end of the run
	Factor float64 // for SlowLink and SlowHost
	Loss   Loss    // for LinkLoss
}

// Schedule enters a fault. The error says what does not fit the network.
func (f *Fabric) Schedule(fault Fault) error {
	for _, l := range fault.Links {
		if l < 0 || l >= len(f.ports) {
			return fmt.Errorf("fault on link %d: the network has links 0 to %d", l, len(f.ports)-1)
		}
	}
	if (fault.Kind == SlowLink || fault.Kind == SlowHost) && !(fault.Factor > 0) {
		return fmt.Errorf("a slow link needs a factor above 0, not %g; use down for a dead one", fault.Factor)
	}
	if fault.Every > 0 && (fault.For <= 0 || fault.For >= fault.Every) {
		return fmt.Errorf("a fault repeated every %v must last less than that, not %v", fault.Every, fault.For)
	}
	f.begin(fault, 1)
	return nil
}

func (f *Fabric) begin(fault Fault, round int) {
	f.At(fault.At, func(Time) {
		now := fault // fault moves on to its next round
		f.strike(&now)
		if now.For > 0 && now.For != Never {
			f.At(now.At+now.For, func(Time) { f.heal(&now) })
		}
		if fault.Every > 0 && (fault.Count == 0 || round < fault.Count) {
			fault.At += fault.Every
			f.begin(fault, round+1)
		}
	})
}

// strike begins a fault on its links. Faults overlap: what a link suffers follows from all that are
// under way, so that the end of one leaves the others as they are.
func (f *Fabric) strike(fault *Fault) {
	f.ongoing = append(f.ongoing, fault)
	for _, l := range fault.Links {
		f.suffer(l)
	}
}

// heal ends a fault.
func (f *Fabric) heal(fault *Fault) {
	i := slices.Index(f.ongoing, fault)
	f.ongoing = slices.Delete(f.ongoing, i, i+1)
	for _, l := range fault.Links {
		f.suffer(l)
	}
}

// suffer brings a link into the state that the ongoing faults leave it in: down if any says so, slow by
// the product of their factors, losing by its own loss and theirs.
func (f *Fabric) suffer(l int) {
	down, factor, loss := false, 1.0, f.ownLoss(l)
	for _, fault := range f.ongoing {
		if !slices.Contains(fault.Links, l) {
			continue
		}
		switch fault.Kind {
		case LinkDown:
			down = true
		case SlowLink, SlowHost:
			factor = float64(factor * fault.Factor)
			f.slowed = true
		case LinkLoss:
			loss = loss.with(fault.Loss)
		}
	}
	f.setRate(l, max(1, int64(float64(f.net.Links[l].RateBps)*factor)))
	f.applyLoss(l, loss)
	switch {
	case down && !f.cut[l]:
		f.cutLink(int32(l))
	case !down && f.cut[l]:
		f.mendLink(int32(l))
	}
}

// cutLink takes one direction of a link down. Who sends on it, a card like a switch, goes on and loses everything,
// so that a host behind a dead cable runs into its timeouts and retries. Pauses stay: the other end lets go when it
// has room again, and what it says does not travel on this direction.
func (f *Fabric) cutLink(l int32) {
	f.cut[l] = true
	f.ports[l].state |= downNow
	f.rerouteAround(l)
}

func (f *Fabric) mendLink(l int32) {
	f.cut[l] = false
	f.ports[l].state &^= downNow
	f.rerouteAround(l)
	f.resume(l)
}

// rerouteAround arranges what the switches do about a change: the one that sends on the link by
// itself, all of them when the routing protocol has converged.
func (f *Fabric) rerouteAround(l int32) {
	sw := int32(f.net.Links[l].From) - int32(len(f.hosts))
	if sw >= 0 && f.cfg.RerouteLocal != Never {
		f.agendaAdd(f.now+f.cfg.RerouteLocal, action{kind: repairSwitch, link: sw})
	}
	if f.cfg.RerouteAll != Never {
		f.agendaAdd(f.now+f.cfg.RerouteAll, action{kind: recomputeAll})
	}
}
