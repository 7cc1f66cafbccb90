package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/spray"
	"github.com/weft-transport/weft/transport/instant"
)

// wire4096 is two endpoints back to back with the real data path and no network model: every
// packet arrives a fixed time later. It moves n data packets of 4 KiB in messages of 1 MiB.
type backToBack struct {
	a, b *Endpoint
	now  Time
	p    Packet
	ev   [8]Event
}

func newBackToBack(tb testing.TB) *backToBack {
	return newBackToBackOf(tb, func(congestion.Path) congestion.Controller { return &fixedWindow{window: 900_000} })
}

func newBackToBackOf(tb testing.TB, maker congestion.Maker) *backToBack {
	c := Config{ControlClass: 1, LineRateBps: 400e9, BaseRTT: 12 * us, Seed: 1,
		NewController: maker,
		NewSprayer:    func(s spray.Path) spray.Sprayer { return &randomEV{random: random(s.Seed)} }}
	make := func(self Addr) *Endpoint {
		mine := c
		mine.Self = self
		e, err := New(mine)
		require.NoError(tb, err)
		return e
	}
	return &backToBack{a: make(1), b: make(2)}
}

// turn sends a burst of data and brings the answers back.
func (k *backToBack) turn(burst int) (sent int) {
	pull := Pull{Open: AllClasses}
	if k.a.messagesOpen() < 2 {
		if err := k.a.Send(k.now, Message{To: 2, Length: 1 << 20}); err != nil {
			panic(err)
		}
	}
	for sent < burst && k.a.Transmit(k.now, pull, &k.p) {
		sent++
		k.now += 85 * instant.Nanosecond
		k.b.HandlePacket(k.now, &k.p)
	}
	for k.b.Transmit(k.now, pull, &k.p) {
		k.a.HandlePacket(k.now+us, &k.p)
	}
	k.now += us
	if k.a.Deadline() <= k.now {
		k.a.HandleTimeout(k.now)
	}
	if k.b.Deadline() <= k.now {
		k.b.HandleTimeout(k.now)
	}
	k.a.Events(k.ev[:])
	k.b.Events(k.ev[:])
	return sent
}

// messagesOpen counts messages that are queued on the first PDC.
func (e *Endpoint) messagesOpen() uint32 {
	if len(e.pdcs) < 2 {
		return 0
	}
	return e.pdcs[1].queued
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	k := newBackToBack(t)
	for range 2000 {
		k.turn(8)
	}
	before := k.b.Counters().Delivered
	require.Zero(t, testing.AllocsPerRun(1000, func() { k.turn(8) }))
	require.Greater(t, k.b.Counters().Delivered, before+7000)
	require.Zero(t, k.a.Counters().Retransmits)
}

// BenchmarkDataPacket measures one data packet and its share of the acknowledgements, at both
// ends together.
func BenchmarkDataPacket(b *testing.B) {
	k := newBackToBack(b)
	b.ReportAllocs()
	for n := 0; n < b.N; {
		n += k.turn(8)
	}
}
