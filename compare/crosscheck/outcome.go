package crosscheck

import (
	"context"
	"fmt"
	"maps"
	"math"
	"time"

	"github.com/weft-transport/weft/compare/protocol"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// A tally counts what has ended.
type tally struct {
	completed, failed, delivered int
	end                          core.Time // of the last completion, since the beginning
	events                       [16]core.Event
}

// hear takes the events of a host; true if there were any.
func (t *tally) hear(now core.Time, h core.Host) (any bool) {
	for n := h.Events(t.events[:]); n > 0; n = h.Events(t.events[:]) {
		any = true
		for _, e := range t.events[:n] {
			switch e.Kind {
			case core.Completed:
				t.completed, t.end = t.completed+1, now
			case core.Failed:
				t.failed, t.end = t.failed+1, now
			case core.Delivered:
				t.delivered++
			}
		}
	}
	return any
}

func (t *tally) over(s *Scenario) bool { return t.completed+t.failed == s.Messages }

// An Outcome is what a scenario came to in one carrier.
type Outcome struct {
	Completed     int           `json:"messages_completed"`
	Delivered     int           `json:"messages_delivered"`
	DataSent      uint64        `json:"data_packets_sent"`
	Lost          uint64        `json:"data_packets_lost"`
	Late          uint64        `json:"data_packets_late"`
	Retransmitted uint64        `json:"retransmitted_packets"`
	Spurious      uint64        `json:"spurious_retransmits"`
	Timeouts      uint64        `json:"timeouts"`
	Acks          uint64        `json:"acks"` // all that the receiver sent but the next
	Nacks         uint64        `json:"nacks"`
	Completion    time.Duration `json:"completion_ns"`
	Goodput       float64       `json:"goodput_bps"`
	Doubts        []string      `json:"doubts,omitempty"` // what the machine did to it
}

func outcome(s *Scenario, t tally, hosts [2]core.Host, weathers [2]*weather) Outcome {
	a, b := hosts[0].Counters(), hosts[1].Counters()
	o := Outcome{Completed: t.completed, Delivered: t.delivered, DataSent: a.SentData, Lost: weathers[1].lost, Late: weathers[1].late,
		Retransmitted: a.Retransmits, Spurious: b.Spurious, Timeouts: a.Timeouts, Acks: b.SentControl - b.NacksSent, Nacks: b.NacksSent,
		Completion: time.Duration(t.end / instant.Nanosecond)}
	if o.Completion > 0 {
		o.Goodput = float64(8*s.Size*t.completed) / o.Completion.Seconds()
	}
	return o
}

// A Line compares one figure.
type Line struct {
	Metric    string  `json:"metric"`
	Unit      string  `json:"unit,omitempty"`
	Virtual   float64 `json:"virtual"`
	Live      float64 `json:"live"`
	Tolerance string  `json:"tolerance"` // of the larger one
	Agrees    bool    `json:"agrees"`
}

// Difference returns live less virtual.
func (l *Line) Difference() float64 { return l.Live - l.Virtual }

// A Tolerance is a share of the larger figure, and a number beside it.
type Tolerance struct {
	Share float64
	Plus  float64
}

func (t Tolerance) String() string {
	switch {
	case t == Tolerance{}:
		return "equal"
	case t.Share == 0:
		return fmt.Sprintf("±%g", t.Plus)
	case t.Plus == 0:
		return fmt.Sprintf("±%g%%", 100*t.Share)
	}
	return fmt.Sprintf("±%g%% and %g", 100*t.Share, t.Plus)
}

// tolerances are what may differ, and why: a decision at the edge (did the ACK come before the timer, was the packet behind 1.5 windows?)
// falls otherwise when a machine is late by a fraction of a millisecond. In selective repeat that costs a few packets, in go-back-N up to a
// window each, and what is sent again meets weather of its own.
type tolerances struct{ sent, fate, again, event Tolerance }

func tolerancesOf(s *Scenario, goesBack bool) tolerances {
	switch window := float64((s.Window + payloadMTU - 1) / payloadMTU); {
	case s.Loss == 0 && s.Reorder == 0: // nothing to decide
		return tolerances{}
	case goesBack:
		return tolerances{Tolerance{0.25, window}, Tolerance{0.25, 4}, Tolerance{0.3, 2 * window}, Tolerance{0.25, 4}}
	}
	return tolerances{Tolerance{0.02, 4}, Tolerance{0.05, 2}, Tolerance{0.1, 4}, Tolerance{0.1, 3}}
}

// Compare sets two outcomes beside each other, for a protocol that goes back or one that repeats selectively.
func Compare(s *Scenario, goesBack bool, v, l *Outcome) []Line {
	var lines []Line
	add := func(metric, unit string, virtual, live float64, t Tolerance) {
		allowed := t.Share*max(math.Abs(virtual), math.Abs(live)) + t.Plus
		lines = append(lines, Line{metric, unit, virtual, live, t.String(), math.Abs(live-virtual) <= allowed})
	}
	count := func(metric string, virtual, live uint64, t Tolerance) {
		add(metric, "", float64(virtual), float64(live), t)
	}
	t := tolerancesOf(s, goesBack)
	add("messages completed", "", float64(v.Completed), float64(l.Completed), Tolerance{})
	add("messages delivered", "", float64(v.Delivered), float64(l.Delivered), Tolerance{})
	count("data packets sent", v.DataSent, l.DataSent, t.sent)
	count("of these, lost", v.Lost, l.Lost, t.fate)
	count("of these, late", v.Late, l.Late, t.fate)
	count("sent again", v.Retransmitted, l.Retransmitted, t.again)
	count("of these, needlessly", v.Spurious, l.Spurious, t.again)
	count("timeouts", v.Timeouts, l.Timeouts, t.event)
	count("NACKs (NAKs)", v.Nacks, l.Nacks, t.event)
	// Where packets come faster than a loop looks, one ACK answers several.
	few := l.Completion.Seconds() / s.RTT.Seconds()
	lines = append(lines, Line{"ACKs", "", float64(v.Acks), float64(l.Acks), "1 an RTT to 110%", float64(l.Acks) >= few/2 && float64(l.Acks) <= 1.1*float64(v.Acks)+4})
	ms := func(d time.Duration) float64 { return d.Seconds() * 1e3 }
	add("completion", "ms", ms(v.Completion), ms(l.Completion), Tolerance{0.3, 2 * ms(s.RTT)})
	add("goodput", "Mbit/s", v.Goodput/1e6, l.Goodput/1e6, Tolerance{Share: 0.3})
	return lines
}

// A Check is a scenario of one protocol in both carriers.
type Check struct {
	Scenario Scenario
	Protocol string // SPEC
	Virtual  Outcome
	Live     Outcome
	Lines    []Line
	Tries    int // over sockets
}

// Agrees tells whether all lines do.
func (c *Check) Agrees() bool {
	for i := range c.Lines {
		if !c.Lines[i].Agrees {
			return false
		}
	}
	return true
}

// Protocols are what is checked if nobody says what: both by windows only, so that nothing but the protocols decides.
func Protocols(s *Scenario) []string {
	return []string{
		fmt.Sprintf("uet,congestion=fixed,congestion.window=%d", s.Window),
		fmt.Sprintf("rocev2,congestion=fixed,congestion.window=%d,window=%d", s.Window, s.Window),
	}
}

// Resolve reads a SPEC. What both carriers must share is filled in: first sequence numbers.
func Resolve(spec string) (protocol.Protocol, error) {
	parsed, err := scenario.ParseSpec(spec)
	if err != nil {
		return nil, err
	}
	first, is := map[string]string{"uet": "startPSN", "rocev2": "firstPSN"}[parsed.Name]
	if !is {
		return nil, fmt.Errorf("protocol %q does not run over sockets here; expected uet or rocev2", parsed.Name)
	}
	given := map[string]string{first: "1000"}
	maps.Copy(given, parsed.Given)
	p, _, err := protocol.Registry.Make(parsed.Name, given)
	return p, err
}

// Run checks one protocol. Over sockets a run that the machine disturbed, and that does not agree, is repeated, tries times in all.
func Run(ctx context.Context, s Scenario, spec string, tries int) (c Check, err error) {
	c = Check{Scenario: s, Protocol: spec}
	p, err := Resolve(spec)
	if err != nil {
		return c, err
	}
	if err := s.Validate(); err != nil {
		return c, err
	}
	back, _ := p.(protocol.GoesBack)
	goesBack := back != nil && back.GoBackWindow(environment(&s, nil)) > 0
	if c.Virtual, err = Virtual(ctx, &s, p); err != nil {
		return c, fmt.Errorf("%s in virtual time: %w", spec, err)
	}
	for c.Tries < tries {
		c.Tries++
		if c.Live, err = Live(ctx, &s, p); err != nil {
			return c, fmt.Errorf("%s over sockets: %w", spec, err)
		}
		if c.Lines = Compare(&s, goesBack, &c.Virtual, &c.Live); c.Agrees() || len(c.Live.Doubts) == 0 {
			break
		}
	}
	return c, nil
}
