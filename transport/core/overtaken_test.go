package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/spray"
)

// inferring is a configuration that finds losses by one rule, without a timer that could help.
func inferring(rule LossRule) Config {
	c := base()
	c.RTO.Init = 100 * ms
	c.ACK.PerPacket = true
	c.FastLoss.On, c.FastLoss.Rule = true, rule
	return c
}

// fewEVs makes a pair's sprayers go round so many values.
type fewEVs struct{ next, count uint16 }

func (s *fewEVs) Next(_ Time, avoid int32) (uint16, int) {
	if s.next = (s.next + 1) % s.count; int32(s.next) == avoid {
		s.next = (s.next + 1) % s.count
	}
	return s.next, 1
}
func (s *fewEVs) Report(Time, uint16, spray.Outcome, Time) {}

// Each rule repairs single losses and several at once, within the times that it promises; nothing is sent twice that
// had arrived, and the controller hears of each once.
func TestEveryRuleRepairsLosses(t *testing.T) {
	for _, c := range []struct {
		rule LossRule
		lost []int
		by   Time // 300 packets last 27 us, a round trip 10
	}{
		{ByOrder, []int{60}, 60 * us},
		{ByTime, []int{60}, 50 * us},
		{ByTime, []int{20, 21, 22, 90, 150}, 60 * us},
		{ByTime, []int{10, 270}, 70 * us}, // the second has nearly nothing behind it: its timer finds it
		{ByEntropy, []int{60}, 50 * us},
		{ByEntropy, []int{20, 21, 22, 90, 150}, 60 * us},
	} {
		p := newPair(t, inferring(c.rule), func(_ int, c *Config) {
			c.NewSprayer = func(spray.Path) spray.Sprayer { return &fewEVs{count: 8} }
		})
		p.fates = nth(fate{drop: true}, c.lost...)
		p.send(300 * 1024)
		p.cc[0][0].window = 1 << 20
		p.runDone(1)
		v := p.wantOne()
		require.EqualValues(t, len(c.lost), v.Retransmits, "%+v", c)
		require.Zero(t, v.Timeouts)
		require.Zero(t, p.B().Counters().Spurious)
		require.Less(t, v.At, c.by, "%+v", c)
		require.Len(t, p.cc[0][0].signals, len(c.lost))
		for _, s := range p.cc[0][0].signals {
			require.Equal(t, congestion.Inferred, s.Cause)
		}
		p.balanced()
	}
}

// A packet sent again may be lost again: the rules hold for every transmission.
func TestRulesRepairALostRepair(t *testing.T) {
	for _, rule := range []LossRule{ByTime, ByEntropy} {
		p := newPair(t, inferring(rule), func(_ int, c *Config) {
			c.NewSprayer = func(spray.Path) spray.Sprayer { return &fewEVs{count: 4} }
		})
		copies := 0
		p.fates = func(from int, out *Packet) fate {
			if from == 0 && isData(out) && out.Payload.Offset == 60*1024 {
				copies++
				return fate{drop: copies <= 3}
			}
			return fate{}
		}
		p.send(1000 * 1024)
		p.cc[0][0].window = 1 << 20
		p.runDone(1)
		v := p.wantOne()
		require.EqualValues(t, 3, v.Retransmits)
		require.Zero(t, v.Timeouts)
		require.Zero(t, p.B().Counters().Spurious)
	}
}

// Reordering by less than the window is none of the time rule's business, and beyond it costs one spurious
// retransmission a packet, which is counted.
func TestTimeRuleToleratesItsWindow(t *testing.T) {
	for _, c := range []struct{ window, late, spurious Time }{{0, 9 * us, 0}, {0, 14 * us, 1}, {20 * us, 14 * us, 0}, {us, 4 * us, 1}} {
		config := inferring(ByTime)
		config.FastLoss.Window = c.window
		p := newPair(t, config, nil)
		p.fates = nth(fate{late: c.late}, 60)
		p.send(400 * 1024)
		p.cc[0][0].window = 1 << 20
		p.run()
		v := p.wantOne()
		require.EqualValues(t, c.spurious, v.Retransmits, "%+v", c)
		require.EqualValues(t, c.spurious, p.B().Counters().Duplicates, "%+v", c)
	}
}

// Other values may overtake as they like; on one value nothing may, and what does is taken for a proof.
func TestEntropyRuleAsksForOrderOnAValueOnly(t *testing.T) {
	for _, evs := range []uint16{4, 400} {
		p := newPair(t, inferring(ByEntropy), func(_ int, c *Config) {
			c.NewSprayer = func(spray.Path) spray.Sprayer { return &fewEVs{count: evs} }
		})
		p.fates = nth(fate{late: 14 * us}, 60)
		p.send(300 * 1024)
		p.cc[0][0].window = 1 << 20
		p.run()
		want := uint64(1)
		if evs == 400 {
			want = 0 // no value comes again
		}
		require.EqualValues(t, want, p.wantOne().Retransmits, "%d values", evs)
		require.Equal(t, want, p.B().Counters().Duplicates)
	}
}

// With few acknowledgements the map names what none of them does.
func TestEntropyRuleReadsTheMap(t *testing.T) {
	c := inferring(ByEntropy)
	c.ACK.PerPacket = false
	p := newPair(t, c, func(_ int, c *Config) {
		c.NewSprayer = func(spray.Path) spray.Sprayer { return &fewEVs{count: 16} } // as many packets as cause an ACK: only one value is ever named
	})
	p.fates = nth(fate{drop: true}, 61, 100, 151)
	p.send(300 * 1024)
	p.cc[0][0].window = 1 << 20
	p.runDone(1)
	v := p.wantOne()
	require.EqualValues(t, 3, v.Retransmits)
	require.Zero(t, v.Timeouts)
	require.Zero(t, p.B().Counters().Spurious)
}

// Without a rule the timer finds the loss, and a NACK a trimmed packet.
func TestTimerAloneRepairsLosses(t *testing.T) {
	p := newPair(t, base(), nil)
	p.fates = nth(fate{drop: true}, 60)
	p.send(300 * 1024)
	p.runDone(1)
	v := p.wantOne()
	require.EqualValues(t, 1, v.Retransmits)
	require.EqualValues(t, 1, v.Timeouts)
	require.Greater(t, v.At, 100*us)
}
