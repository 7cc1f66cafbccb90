package bottleneck

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/instant"
)

const us = instant.Microsecond

var path = congestion.Path{LineRateBps: 100e9, BaseRTT: 12 * us, MTU: 4000, MSS: 3936, Trimming: true, Seed: 1}

// A log answers with a constant window and rate, and remembers what it heard.
type log struct {
	window, rate int64
	acks         []congestion.Ack
	signals      []congestion.Signal
	sent         []instant.Time
	due          instant.Time
}

func (l *log) OnSent(now instant.Time, bytes, inFlight int64) { l.sent = append(l.sent, now) }
func (l *log) OnSignal(now instant.Time, s congestion.Signal) { l.signals = append(l.signals, s) }
func (l *log) OnTimeout(now instant.Time)                     {}
func (l *log) Deadline() instant.Time                         { return l.due }
func (l *log) Window() int64                                  { return l.window }
func (l *log) Rate() int64                                    { return l.rate }
func (l *log) OnAck(now instant.Time, a congestion.Ack)       { a.Hops = nil; l.acks = append(l.acks, a) }
func (l *log) Traits() congestion.Traits                      { return congestion.Traits{Hears: congestion.HearsCNP} }
func logged(to *[]*log, window, rate int64) congestion.Maker {
	return func(congestion.Path) congestion.Controller {
		l := &log{window: window, rate: rate, due: instant.Never}
		*to = append(*to, l)
		return l
	}
}

// TestIdle: one BDP is 150000 bytes, 37.5 packets of 320 ns. Half of it meets no queue, and its RTT is the base RTT to
// the picosecond; the delivered bytes are what the window allows.
func TestIdle(t *testing.T) {
	var logs []*log
	c := Run(logged(&logs, 72_000, 0), Setup{Path: path, Rounds: 100})
	for _, a := range logs[0].acks {
		require.InDelta(t, float64(path.BaseRTT), float64(a.RTT), float64(700*instant.Nanosecond), "a burst of 18 meets its own jitter")
		require.False(t, a.Marked)
	}
	require.Equal(t, path.BaseRTT, logs[0].acks[0].RTT)
	require.Empty(t, logs[0].signals)
	require.InDelta(t, 0.48, c.Score().Use, 0.01)
	require.Zero(t, c.Score().Loss)
}

// TestPacing: the gap between two packets at 10 Gb/s is 3.2 us, whatever the window.
func TestPacing(t *testing.T) {
	var logs []*log
	c := Run(logged(&logs, 1<<40, 10e9), Setup{Path: path, Rounds: 100})
	sent := logs[0].sent
	for i := 1; i < len(sent); i++ {
		require.Equal(t, 3200*instant.Nanosecond, sent[i]-sent[i-1])
	}
	require.Len(t, sent, 375)
	require.InDelta(t, 0.1, c.Score().Use, 0.001)
}

// TestQueue: two windows of one BDP share a queue of one: half of the packets in flight wait in it, the RTT doubles,
// everything is marked, nothing lost.
func TestQueue(t *testing.T) {
	var logs []*log
	c := Run(logged(&logs, 148_000, 0), Setup{Path: path, Flows: 2, Rounds: 200, Limit: 200_000})
	last := c.Rounds[199]
	require.InDelta(t, 2*148_000-150_000, float64(last.Queue), 3*4000)
	require.Equal(t, int(last.Flows[0].Delivered/4000), last.Flows[0].Marks)
	ack := logs[0].acks[len(logs[0].acks)-1]
	require.InDelta(t, float64(2*148_000*8*10), float64(ack.RTT), float64(us), "296 kB at 10 ps a bit")
	score := c.Score()
	require.InDelta(t, 1, score.Use, 0.001)
	require.InDelta(t, 1, score.Jain, 0.001)
	require.Zero(t, score.Loss)
	cnps := 0
	for _, s := range logs[0].signals {
		require.Equal(t, congestion.CNP, s.Cause)
		cnps++
	}
	require.InDelta(t, 200*12/50, cnps, 2, "one in 50 us")
}

// TestNothingIsForgotten: what was sent was delivered, lost or is under way; both ways to lose are told.
func TestNothingIsForgotten(t *testing.T) {
	for _, trimming := range []bool{true, false} {
		var logs []*log
		p := path
		p.Trimming = trimming
		c := Run(logged(&logs, 120_000, 0), Setup{Path: p, Flows: 8, Rounds: 100, Limit: 100_000})
		for f, l := range logs {
			delivered, lost := int64(0), 0
			for _, r := range c.Rounds {
				delivered += r.Flows[f].Delivered
				lost += r.Flows[f].Losses
			}
			require.Equal(t, delivered, int64(len(l.acks))*p.MTU)
			causes := map[congestion.Cause]int{}
			for _, s := range l.signals {
				causes[s.Cause]++
			}
			want := congestion.Inferred
			if trimming {
				want = congestion.Trimmed
			}
			require.Equal(t, lost, causes[want])
			require.Positive(t, lost)
			under := int64(len(l.sent)-len(l.acks)-lost) * p.MTU
			require.True(t, under >= 0 && under <= 120_000, "%d bytes in flight", under)
		}
	}
}

// TestMarksRise: the share of marked drops is linear between ECNMin and ECNMax.
func TestMarksRise(t *testing.T) {
	w := &world{Setup: Setup{Path: path, ECNMin: 40_000, ECNMax: 140_000}}
	for _, bytes := range []int64{40_000, 60_000, 90_000, 130_000, 140_000} {
		marked := 0
		for range 20_000 {
			if w.marksAt(bytes) {
				marked++
			}
		}
		require.InDelta(t, float64(bytes-40_000)/100_000, float64(marked)/20_000, 0.015)
	}
}

// TestSteps: capacity, joining and leaving are in the curve.
func TestSteps(t *testing.T) {
	var logs []*log
	c := Run(logged(&logs, 300_000, 0), Setup{Path: path, Flows: 2, Join: 50, Leave: 100, Rounds: 150, Limit: 1_000_000, Steps: []Step{{20, 25e9}, {40, 100e9}}})
	require.InDelta(t, 0.25, float64(c.delivered(0, 25, 40))/float64(15*150_000), 0.01)
	require.Zero(t, c.delivered(1, 0, 50))
	require.InDelta(t, 0.5, float64(c.delivered(1, 60, 100))/float64(40*150_000), 0.02)
	require.Zero(t, c.Rounds[110].Flows[1].Sent)
	require.Equal(t, c.Text(), Run(logged(&logs, 300_000, 0), c.Setup).Text(), "again")
	require.Contains(t, c.Text(), "  .")
}

// TestAStuckDeadlineDoesNotStopTheClock: each such call moves it by a picosecond.
func TestAStuckDeadlineDoesNotStopTheClock(t *testing.T) {
	stuck := func(congestion.Path) congestion.Controller { return &log{window: 4000, due: 0} }
	near := path
	near.BaseRTT = 2000 // picoseconds
	c := Run(stuck, Setup{Path: near, Rounds: 2})
	require.Len(t, c.Rounds, 2)
}

// onCredit makes controllers that have nothing but receiver credits.
func onCredit(t *testing.T) congestion.Maker {
	maker, _, err := congestion.Registry.Make("rccc", nil)
	require.NoError(t, err)
	return maker
}

// TestTheReceiverGrants: flows share what the receiver grants, 99 % of its link, whatever their distance; what was sent on
// speculation waits at first, and is gone when the rest of one percent has drained it. Nothing is marked at the last hop.
func TestTheReceiverGrants(t *testing.T) {
	c := Run(onCredit(t), Setup{Path: path, Flows: 4, FarRTT: 3 * path.BaseRTT, Rounds: 600})
	score := c.Score()
	require.InDelta(t, 0.99, score.Use, 0.002)
	require.InDelta(t, 1, score.Jain, 0.0001)
	require.Positive(t, score.Loss)
	for i, r := range c.Rounds {
		for _, f := range r.Flows {
			require.Zero(t, f.Marks)
			require.True(t, i < 300 || f.Losses == 0)
		}
	}
	require.Less(t, c.Rounds[599].QueuePeak, 12*path.MTU)
	require.Contains(t, c.Text(), "grants credit")
	require.Equal(t, c.Text(), Run(onCredit(t), c.Setup).Text(), "again")
}

// TestCreditMovesOn: what the flows that left do not want any more is granted to the one that stays, within three round trips,
// but for what they get on account as idle sources.
func TestCreditMovesOn(t *testing.T) {
	c := Run(onCredit(t), Setup{Path: path, Flows: 4, Leave: 200, Rounds: 300})
	require.InDelta(t, 0.25, float64(c.delivered(0, 180, 200))/float64(c.capacity(180, 200)), 0.01)
	require.Greater(t, float64(c.delivered(0, 203, 220))/float64(c.capacity(203, 220)), 0.9)
	require.InDelta(t, 0.99, float64(c.delivered(0, 280, 300))/float64(c.capacity(280, 300)), 0.005)
}

// TestCreditIsAskedFor: when the drops that asked are lost, and the trims that would be made good are none, a flow asks anew; and
// where the network before the receiver's link is slower than that, grants do not know it: queues stay full, and mark.
func TestCreditIsAskedFor(t *testing.T) {
	p := path
	p.Trimming = false
	c := Run(onCredit(t), Setup{Path: p, Flows: 32, Rounds: 300, Limit: 80_000})
	score := c.Score()
	require.Greater(t, score.Use, 0.95)
	require.Greater(t, score.Least, 0.9)

	c = Run(onCredit(t), Setup{Path: path, Flows: 2, Rounds: 200, Steps: []Step{{50, 50e9}}})
	last := c.Rounds[199]
	require.Positive(t, last.Flows[0].Marks)
	require.Positive(t, last.Flows[0].Losses)
}
