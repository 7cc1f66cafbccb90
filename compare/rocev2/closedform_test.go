package rocev2

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/core"
)

// A slottedChannel carries one data packet per slot from one host to another, and loses some. A packet
// arrives some slots after it left, and its answers as many after that.
type slottedChannel struct {
	from, to *Host
	slot     Time
	out      []core.Packet // by slot of arrival modulo its length; HeaderLen 0: none
	back     [][]core.Packet
	lose     func() bool
}

// newSlotted makes a channel on which exactly w slots pass from a lost packet to the one that its NAK asks
// for: the packet behind it takes w-1 slots to the other side and back.
func newSlotted(t testing.TB, c Config, w int, lose func() bool) *slottedChannel {
	ch := &slottedChannel{slot: us, lose: lose, out: make([]core.Packet, w/2+1), back: make([][]core.Packet, w-1-w/2+1)}
	var err error
	ch.from, err = New(1, c)
	require.NoError(t, err)
	ch.to, err = New(2, c)
	require.NoError(t, err)
	return ch
}

// run sends one message and returns how many slots passed until its acknowledgement.
func (ch *slottedChannel) run(t testing.TB, packets int) (slots int) {
	require.NoError(t, ch.from.Send(0, core.Message{To: 2, Length: uint64(packets) * testMTU}))
	var events [1]core.Event
	for ch.from.Events(events[:]) == 0 {
		ch.step(slots)
		if slots++; slots > 100*packets { // require is too slow for this loop
			t.Fatalf("%d slots, and no end", slots)
		}
	}
	require.Equal(t, core.Completed, events[0].Kind)
	return slots
}

func (ch *slottedChannel) step(n int) {
	now := Time(n) * ch.slot
	away, home := len(ch.out)-1, len(ch.back)-1
	if p := &ch.out[n%len(ch.out)]; p.HeaderLen > 0 {
		ch.to.HandlePacket(now, p)
		p.HeaderLen = 0
	}
	due := &ch.back[(n+home)%len(ch.back)]
	*due = (*due)[:0]
	var answer core.Packet
	for ch.to.Transmit(now, core.Pull{Open: core.AllClasses}, &answer) {
		*due = append(*due, answer)
	}
	for k := range ch.back[n%len(ch.back)] {
		ch.from.HandlePacket(now, &ch.back[n%len(ch.back)][k])
	}
	if ch.from.Deadline() <= now {
		ch.from.HandleTimeout(now)
	}
	p := &ch.out[(n+away)%len(ch.out)]
	if !ch.from.Transmit(now, core.Pull{Open: core.AllClasses}, p) || ch.lose() {
		p.HeaderLen = 0
	}
}

// Without loss the window is just wide enough to keep the channel full.
func TestSlottedChannelIsFull(t *testing.T) {
	c := testConfig()
	c.MaxOutstanding, c.AckReqEvery = 64, 1
	ch := newSlotted(t, c, 64, func() bool { return false })
	require.Equal(t, 1000+63, ch.run(t, 1000))
	c.MaxOutstanding = 32
	ch = newSlotted(t, c, 64, func() bool { return false })
	require.InDelta(t, 2000, ch.run(t, 1000), 64)
}

// Go-back-N goodput under loss p in the data direction, window w and timeout T in slots of one packet:
// 1/(1 + p w + p^2 T). A loss wastes the w slots until its NAK is back; the packet that goes out then is lost
// again with probability p, and waits for the timer.
func TestClosedForm(t *testing.T) {
	for _, c := range []struct {
		p             float64
		w, T, packets int
	}{
		{0.002, 64, 2000, 200_000}, {0.002, 256, 2000, 200_000}, {0.01, 64, 2000, 200_000}, {0.01, 32, 5000, 400_000}, {0.01, 128, 1000, 200_000},
	} {
		t.Run(fmt.Sprintf("p=%v w=%d T=%d", c.p, c.w, c.T), func(t *testing.T) {
			config := testConfig()
			config.Path.LineRateBps = 1e12
			config.MaxOutstanding, config.Timeout, config.AckReqEvery = c.w, Time(c.T)*us, 1
			rng := rand.New(rand.NewPCG(1, 2))
			ch := newSlotted(t, config, c.w, func() bool { return rng.Float64() < c.p })
			goodput := float64(c.packets) / float64(ch.run(t, c.packets))
			want := 1 / (1 + c.p*float64(c.w) + c.p*c.p*float64(c.T))
			t.Logf("goodput %.4f, closed form %.4f", goodput, want)
			require.InEpsilon(t, want, goodput, 0.05)

			sent, got := ch.from.Counters(), ch.to.Counters()
			require.Zero(t, got.Duplicates, "nothing was sent again that had arrived")
			naks := float64(got.NacksSent)
			require.InDelta(t, c.p*float64(c.packets), naks, 4*math.Sqrt(naks))
			require.InDelta(t, c.p*naks, float64(sent.Timeouts), 4*math.Sqrt(c.p*naks)+1, "the NAK's packet is lost again")
			require.InEpsilon(t, float64(c.w-1)*naks, float64(got.Discarded), 0.05)
		})
	}
}
