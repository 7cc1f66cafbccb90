package swarm

import (
	"fmt"
	"slices"

	"github.com/weft-transport/weft/compare/rocev2"
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/spray"
)

// protocol draws a SPEC, and says which flow control its class has: "none", "pfc" or "credit".
func (d dice) protocol() (text, control string) {
	if d.pair != nil || d.chance(0.5) {
		return d.uet()
	}
	return d.roce()
}

func (d dice) uet() (text, control string) {
	s := &spec{parts: []string{"uet"}}
	mode := pick(d, "rud", "rud", "rud", "rod")
	control = pick(d, "none", "none", "none", "pfc", "credit")
	controller := pick(d, append(congestion.Registry.Names(), "nscc", "nscc")...)
	if mode == "rod" && control == "none" {
		// Going back at line rate fills the queue with packets behind the gap; the missing one may never pass.
		controller = "nscc"
	}
	sprayer := pick(d, append(spray.Registry.Names(), "reps")...)
	if d.pair != nil {
		mode, controller, sprayer = "rud", d.pair.Controller, d.pair.Sprayer
	}
	s.set("mode", mode)
	s.set("congestion", controller)
	s.set("spray", sprayer)
	s.set("rto", pick(d, "tuned", "tuned", "spec"))
	s.set("loss", pick(d, "order", "order", "nack", "time", "entropy", "rto"))
	if d.chance(0.2) {
		s.set("reorder", fmt.Sprintf("%dns", d.between(500, 50_000)))
	}
	if d.chance(0.2) {
		s.set("lossFactor", pick(d, 0.1, 0.5, 4))
		s.set("lossPackets", d.between(1, 50))
	}
	s.set("tailProbe", d.chance(0.4))
	if d.chance(0.3) {
		s.set("retries", pick(d, -1, 2, 8))
	}
	if d.chance(0.3) {
		s.set("pdcs", d.between(2, 4))
	}
	if d.chance(0.3) {
		s.set("mpr", pick(d, 1, 2, 255))
	}
	if d.chance(0.3) {
		s.set("ackTrigger", pick(d, "1KiB", "4KiB", "64KiB"))
	}
	if d.chance(0.2) {
		s.set("ackPerPacket", true)
	}
	if d.chance(0.2) {
		s.set("baseRTT", "network")
	}
	if d.chance(0.2) {
		s.set("count", "wire")
	}
	if d.chance(0.25) {
		s.set("startPSN", -uint32(d.between(1, 60)))
	}
	d.class(s, control)
	return s.String(), control
}

func (d dice) roce() (text, control string) {
	s := &spec{parts: []string{"rocev2"}}
	mode := pick(d, rocev2.Modes...)
	loss := pick(d, rocev2.Losses...)
	s.set("mode", mode)
	s.set("loss", loss)
	s.set("congestion", pick(d, append(forRoCE(), "none", "dcqcn", "dcqcn")...))
	s.set("qps", pick(d, 1, 1, 2, 4, 16))
	if d.chance(0.3) {
		s.set("timeout", d.between(4, 12))
	}
	if d.chance(0.2) {
		s.set("retries", pick(d, -1, 3, 7))
	}
	if d.chance(0.3) {
		s.set("ackEvery", d.between(0, 20))
	}
	if d.chance(0.2) {
		s.set("cnpOnNak", d.chance(0.5))
	}
	if d.chance(0.2) {
		s.set("acks", "data")
	}
	if d.chance(0.3) {
		s.set("window", pick(d, "10KB", "0.5bdp", "1bdp", "4bdp"))
	}
	if d.chance(0.3) {
		s.set("firstPSN", 1<<24-d.between(1, 60))
	}
	control = pick(d, "none", "pfc", "pfc", "pfc", "credit")
	if rocev2.WantsLossless(mode, loss) == (control == "none") && d.chance(0.5) {
		control = pick(d, "none", "pfc")
	}
	d.class(s, control)
	return s.String(), control
}

// forRoCE returns the controllers that need neither credit nor telemetry.
func forRoCE() []string {
	return slices.DeleteFunc(congestion.Registry.Names(), func(name string) bool {
		maker, _, err := congestion.Registry.Make(name, nil)
		return err == nil && (congestion.NeedsCredit(maker) || congestion.NeedsTelemetry(maker))
	})
}

// class draws the settings of the data class.
func (d dice) class(s *spec, control string) {
	s.set("class.flowControl", control)
	trims := control == "none" && d.chance(0.75)
	s.set("class.trim", trims)
	switch {
	case trims:
		s.set("class.queue", pick(d, "0", "0.2bdp", "0.3bdp", "0.5bdp", "1bdp", "2bdp"))
		if d.chance(0.2) {
			s.set("class.lastHopQueue", pick(d, "0.25bdp", "0.5bdp"))
		}
	case control == "none":
		// Never so short that only a few of many senders get anything through, while the others double their timeouts.
		s.set("class.queue", pick(d, "0", "60KB", "100KB", "300KB"))
	default:
		s.set("class.queue", 0)
	}
	if d.chance(0.5) {
		low := 0.02 + 0.4*d.Float64()
		s.set("class.ecnMin", fmt.Sprintf("%.3fbdp", low))
		s.set("class.ecnMax", fmt.Sprintf("%.3fbdp", low+d.Float64()))
		s.set("class.ecnP", fmt.Sprintf("%.2f", 0.1+0.9*d.Float64()))
	}
	if trims && d.chance(0.4) {
		s.set("class.trimBytes", d.between(64, 256))
		s.set("class.trimTail", d.chance(0.5))
		// More than half for headers, and as many NACKs ahead of everything on the way back, can leave nothing.
		s.set("class.trimShare", fmt.Sprintf("%.2f", 0.05+0.45*d.Float64()))
	}
	if d.chance(0.3) {
		s.set("class.alpha", pick(d, "0.5", "1", "2"))
	}
	if control == "pfc" && d.chance(0.75) {
		xoff := d.between(12, 60)
		s.set("class.xoff", fmt.Sprintf("%dKB", xoff))
		if d.chance(0.5) {
			s.set("class.xon", fmt.Sprintf("%dKB", d.between(1, xoff)))
		}
	}
}
