package congestion_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/congestion/bottleneck"
)

// timelyIn runs TIMELY in a setup.
func timelyIn(t *testing.T, s bottleneck.Setup, given map[string]string) *bottleneck.Curve {
	maker, _, err := congestion.Registry.Make("timely", given)
	require.NoError(t, err)
	return bottleneck.Run(maker, s)
}

// leastRate is the smallest rate that an active flow had at the end of a round.
func leastRate(c *bottleneck.Curve) float64 {
	least := float64(c.Setup.Path.LineRateBps)
	for _, r := range c.Rounds {
		for _, f := range r.Flows {
			if f.Active {
				least = min(least, float64(f.RateBps))
			}
		}
	}
	return least
}

// TestTimelyDoesNotMeetLow: while the queue of the standard setups serves at the line rate, it adds one base RTT at most and trims what is
// beyond. low is 2.5 base RTTs, so TIMELY has no reason to look at the gradient, and losses are not its business. Behind a queue that is deep
// enough, or with a low that is less, the same flows slow down.
func TestTimelyDoesNotMeetLow(t *testing.T) {
	var step bottleneck.Setup
	for _, s := range bottleneck.Standard() {
		if s.Name == "step-response" {
			step = s
		}
	}
	line := float64(usual.LineRateBps)
	require.Equal(t, line, leastRate(timelyIn(t, step, nil)), "a queue of one BDP")
	require.Less(t, leastRate(timelyIn(t, step, map[string]string{"low": "15us"})), line/2, "low is 1.25 base RTTs")
	step.Limit = 10 * usual.BDP()
	deep := timelyIn(t, step, nil)
	require.Less(t, leastRate(deep), line/2, "a queue of ten BDPs")
	require.Zero(t, deep.Score().Loss)
}

// TestTimelySplitsTheLinkAnyhow holds both forms to what Zhu et al. (CoNEXT 2016) say of them: the published one is content with any split of
// the link, so that flows which join one after the other stay apart; the patched one has a fixed point. There the gradient is 0 and weighs one
// half, so that what N flows add, ai each, is what beta takes of their shares of the line:
//
//	beta C/N (rtt-low)/low = ai     rtt = low (1 + N ai / (beta C))
//
// With ai = C/1000, 16 flows and a beta of 0.008 this is three times low.
func TestTimelySplitsTheLinkAnyhow(t *testing.T) {
	s := bottleneck.Setup{Path: usual, Flows: 16, Join: 50, Rounds: 1500, Limit: 60 * usual.BDP()}
	require.Less(t, timelyIn(t, s, nil).Score().Jain, 0.5)

	patched := timelyIn(t, s, map[string]string{"form": "patched", "beta": "0.008"})
	score := patched.Score()
	require.Greater(t, score.Jain, 0.999)
	require.Greater(t, score.Use, 0.99)
	require.Zero(t, score.Loss)
	low, base := 2.5, 1.0 // base RTTs, and so BDPs of the queue
	want := low*(1+16*0.001/0.008) - base
	for _, r := range patched.Rounds[1200:] {
		require.InDelta(t, want, float64(r.Queue)/float64(usual.BDP()), 0.1*want)
	}
}
