package bottleneck

import (
	"fmt"
	"strings"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/instant"
)

// A Curve is what happened, round by round of one base RTT.
type Curve struct {
	Setup  Setup // with its defaults filled in
	Rounds []Round
	Credit bool // the receiver granted credit
}

// A Round is the time of one base RTT.
type Round struct {
	Queue, QueuePeak int64 // bytes; at its end, at most
	CapacityBps      int64
	Flows            []FlowRound
}

// A FlowRound is what a flow did in a round.
type FlowRound struct {
	Window    int64 // bytes, at its end
	RateBps   int64 // at its end; 0: not paced
	Sent      int64 // bytes
	Delivered int64 // bytes of which it got to know
	Marks     int   // of them, in drops
	Losses    int   // drops that were trimmed or lost
	Active    bool  // it has started and not stopped
}

// lines is about how many rows the text of a curve has.
const lines = 16

// Text shows a curve in a table: each row stands for the rounds since the row before.
//
//	round queue  use marks loss  share of each flow, in percent of the capacity
//	    3    36  100    12    0  26 24 25 25
//
// Queue is the longest, in packets; use and shares are what was delivered, in percent. A flow that has not begun, or has
// stopped, is a dot. The rounds after each change have rows of their own.
func (c *Curve) Text() string {
	var out strings.Builder
	out.WriteString(c.Setup.describe())
	if c.Credit {
		out.WriteString("# the receiver grants credit; at the line rate the queue is its own link, and does not mark\n")
	}
	out.WriteString("round queue  use marks  loss  share of each flow\n")
	every := max(1, c.Setup.Rounds/lines)
	from, change := 0, 0
	for i := range c.Rounds {
		if c.Setup.changes(i) {
			change = i
		}
		since := i - change
		if since < 4 || since == 7 || since == 15 || (i+1)%every == 0 || i == len(c.Rounds)-1 || c.Setup.changes(i+1) {
			c.row(&out, from, i+1)
			from = i + 1
		}
	}
	return out.String()
}

func (c *Curve) row(out *strings.Builder, from, to int) {
	var peak int64
	marks, losses := 0, 0
	for i := from; i < to; i++ {
		peak = max(peak, c.Rounds[i].QueuePeak)
		for _, f := range c.Rounds[i].Flows {
			marks, losses = marks+f.Marks, losses+f.Losses
		}
	}
	capacity := c.capacity(from, to)
	var sum int64
	shares := ""
	for f := range c.Setup.Flows {
		got := c.delivered(f, from, to)
		sum += got
		if got == 0 && !c.Rounds[to-1].Flows[f].Active {
			shares += "  ."
			continue
		}
		shares += fmt.Sprintf(" %2d", percent(got, capacity))
	}
	fmt.Fprintf(out, "%5d %5d %4d %5d %5d %s\n", to-1, peak/c.Setup.Path.MTU, percent(sum, capacity), marks, losses, shares)
}

// percent rounds to the nearest.
func percent(part, whole int64) int64 { return (200*part + whole) / (2 * max(whole, 1)) }

// capacity is how many bytes the queue can serve in rounds from to to-1.
func (c *Curve) capacity(from, to int) int64 {
	var bytes int64
	for i := from; i < to; i++ {
		p := congestion.Path{LineRateBps: c.Rounds[i].CapacityBps, BaseRTT: c.Setup.Path.BaseRTT}
		bytes += p.BDP()
	}
	return bytes
}

// delivered is how many bytes of a flow were acknowledged in rounds from to to-1.
func (c *Curve) delivered(flow, from, to int) int64 {
	var bytes int64
	for i := from; i < to; i++ {
		bytes += c.Rounds[i].Flows[flow].Delivered
	}
	return bytes
}

// A Score says how well a run went.
type Score struct {
	// Use is what was delivered in the last half of the run, over the capacity.
	Use float64
	// Jain is the fairness index of what the active flows got in the last quarter: 1 when all got the same.
	Jain float64
	// Least is what the flow with the least got in the last quarter, over an even share.
	Least float64
	// Converged is the time after the last flow joined, or the last change of the capacity, from which on any eight rounds
	// in a row (four for each flow, if that is more) use nine tenths of the capacity with an index of 0.95 or more; negative: never.
	Converged instant.Time
	QueueMean int64   // bytes, of the rounds' ends
	QueuePeak int64   // bytes
	Loss      float64 // drops trimmed or lost, over those sent
}

// String is one line: "use 99 %, Jain 0.98, ...".
func (s Score) String() string {
	converged := "never"
	if s.Converged >= 0 {
		converged = fmt.Sprintf("after %.0f us", s.Converged.Seconds()*1e6)
	}
	return fmt.Sprintf("use %.1f %%, Jain %.3f, least %.2f, converged %s, queue %.0f KB (at most %.0f), loss %.2f %%", 100*s.Use, s.Jain, s.Least,
		converged, float64(s.QueueMean)/1000, float64(s.QueuePeak)/1000, 100*s.Loss)
}

// Score reduces a curve.
func (c *Curve) Score() Score {
	n := len(c.Rounds)
	s := Score{Converged: -1}
	var sent, losses, queue int64
	for _, r := range c.Rounds {
		queue += r.Queue
		s.QueuePeak = max(s.QueuePeak, r.QueuePeak)
		for _, f := range r.Flows {
			sent, losses = sent+f.Sent/c.Setup.Path.MTU, losses+int64(f.Losses)
		}
	}
	s.QueueMean = queue / int64(max(n, 1))
	s.Loss = float64(losses) / float64(max(sent, 1))
	s.Use, _, _ = c.shares(n/2, n)
	_, s.Jain, s.Least = c.shares(n*3/4, n)
	together := min(max(8, 4*c.Setup.Flows), n)
	begin := c.lastChange()
	for from := n - together; from >= begin; from-- {
		if use, jain, _ := c.shares(from, from+together); use < 0.9 || jain < 0.95 {
			break
		}
		s.Converged = instant.Time(from-begin) * c.Setup.Path.BaseRTT
	}
	return s
}

// lastChange is the round from which on everything is as it stays.
func (c *Curve) lastChange() int {
	last := max(c.Setup.Join*(c.Setup.Flows-1), c.Setup.Leave)
	for _, step := range c.Setup.Steps {
		last = max(last, step.Round)
	}
	return last
}

// shares returns the use of the capacity, Jain's index over the flows that are active, and the least flow's part of an even share.
func (c *Curve) shares(from, to int) (use, jain, least float64) {
	var sum, staying, squares, n float64
	smallest := int64(-1)
	for f := range c.Setup.Flows {
		got := c.delivered(f, from, to)
		sum += float64(got)
		if !c.Rounds[to-1].Flows[f].Active {
			continue
		}
		n++
		staying += float64(got)
		squares += float64(got) * float64(got)
		if smallest < 0 || got < smallest {
			smallest = got
		}
	}
	use = sum / float64(c.capacity(from, to))
	if squares > 0 {
		jain, least = staying*staying/(n*squares), float64(smallest)*n/staying
	}
	return use, jain, least
}
