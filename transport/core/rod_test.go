package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/wire"
)

func ordered(m *Message) { m.Mode = ROD }

func TestOrderedContextUsesOneEntropyValue(t *testing.T) {
	p := newPair(t, base(), nil)
	evs := map[uint16]bool{}
	hook := nth(fate{drop: true}, 7)
	p.fates = func(from int, out *Packet) fate {
		if isData(out) {
			evs[out.EV] = true
			require.Equal(t, wire.TypeROD, typeOf(out))
		}
		return hook(from, out)
	}
	p.send(30*1024, ordered)
	p.runDone(1)
	require.NotZero(t, p.wantOne().Retransmits)
	require.Len(t, evs, 1)
	require.Empty(t, p.spray[0][0].reports, "entropy feedback is not processed for ROD")
	require.Empty(t, p.spray[0][0].avoided)
}

// "Receiver drops out-of-order packets and sends one NACK ROD_OOO with Expected_PSN; source resends
// everything from there; only one go-back per event."
func TestOrderedContextGoesBack(t *testing.T) {
	p := newPair(t, base(), nil)
	p.narrate = true
	p.fates = nth(fate{drop: true}, 10)
	p.send(60*1024, ordered)
	p.runDone(1)
	v := p.wantOne()
	require.Equal(t, 1, p.logged("ROD_OOO"))
	require.Zero(t, v.Timeouts)
	b := p.B().Counters()
	require.EqualValues(t, 60, b.Delivered)
	require.Zero(t, b.Duplicates)
	require.EqualValues(t, v.Retransmits-1, b.Discarded, "all but the lost one had arrived out of order")
	require.EqualValues(t, 49, b.Discarded)
	require.Len(t, p.cc[0][0].signals, 1, "one loss, whatever the target discards with it")
	require.Equal(t, congestion.Inferred, p.cc[0][0].signals[0].Cause)
}

func TestOrderedContextGoesBackAgainWhenTheResentPacketIsLost(t *testing.T) {
	p := newPair(t, base(), nil)
	p.narrate = true
	p.fates = nth(fate{drop: true}, 10, 60, 110)
	p.send(60*1024, ordered)
	p.runDone(1)
	v := p.wantOne()
	require.Equal(t, 3, p.logged("ROD_OOO"))
	require.Zero(t, v.Timeouts)
}

// A source may send a refused packet again and again instead of going back: the reference provider does, at once, and gives its
// context up after five times.
func TestOrderedContextDoesNotRefuseOnePacketWithoutEnd(t *testing.T) {
	p := newPair(t, base(), nil)
	p.narrate = true
	count := 0
	p.fates = func(_ int, out *Packet) fate {
		if !isData(out) {
			return fate{}
		}
		count++
		switch count {
		case 10:
			return fate{drop: true}
		case 11:
			return fate{copies: 5}
		}
		return fate{}
	}
	p.send(60*1024, ordered)
	p.runDone(1)
	p.wantOne()
	require.Equal(t, 1, p.logged("ROD_OOO"))
	require.EqualValues(t, 60, p.B().Counters().Delivered)
}

func TestOrderedContextMayStaySilent(t *testing.T) {
	p := newPair(t, base(), func(_ int, c *Config) { c.NACK.SilentROD = true })
	p.narrate = true
	p.fates = nth(fate{drop: true}, 10)
	p.send(60*1024, ordered)
	p.runDone(1)
	require.NotZero(t, p.wantOne().Timeouts)
	require.Zero(t, p.logged("ROD_OOO"))
	require.EqualValues(t, 60, p.B().Counters().Delivered)
}

func TestOrderedContextTrimmed(t *testing.T) {
	p := newPair(t, trimming(), nil)
	p.narrate = true
	p.fates = nth(fate{trim: true}, 10, 12, 13)
	p.send(60*1024, ordered)
	p.runDone(1)
	v := p.wantOne()
	require.Zero(t, v.Timeouts)
	require.Equal(t, 3, p.logged("TRIMMED"), "every trimmed packet is news to the controller")
	require.Len(t, p.cc[0][0].signals, 3)
	require.EqualValues(t, 50, v.Retransmits, "but the source goes back once")
	require.Zero(t, p.logged("ROD_OOO"), "what follows a trimmed packet is known to be sent again")
	require.EqualValues(t, 60, p.B().Counters().Delivered)
}

func TestOrderedTailLossMeetsTheTimer(t *testing.T) {
	p := newPair(t, base(), nil)
	p.fates = nth(fate{drop: true}, 58, 59)
	p.send(60*1024, ordered)
	p.runDone(1)
	v := p.wantOne()
	require.EqualValues(t, 1, v.Timeouts)
	require.EqualValues(t, 11, v.Retransmits, "everything since the last ACK, which packet 48 caused")
	require.EqualValues(t, 9, p.B().Counters().Spurious)
}

func TestOrderedMessagesAreDeliveredInOrder(t *testing.T) {
	p := newPair(t, base(), nil)
	weather := random(5)
	p.fates = func(from int, out *Packet) fate { return fate{drop: weather.chance(0.03)} }
	for n := range uint64(40) {
		p.send(1+n*700, ordered, func(m *Message) { m.RemoteKey = 1000 + n })
	}
	p.runDone(40)
	for n, v := range p.events[1] {
		require.EqualValues(t, 1000+n, v.RemoteKey)
	}
}
