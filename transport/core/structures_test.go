package core

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChainAgainstSlice(t *testing.T) {
	const n = 8
	r := random(1)
	next := make([]uint32, n+1)
	var c chain
	var model []uint32
	index := func(i uint32) int {
		for k, v := range model {
			if v == i {
				return k
			}
		}
		return -1
	}
	for range 20_000 {
		i := uint32(1 + r.below(n))
		switch r.below(4) {
		case 0:
			c.push(next, i)
			if index(i) < 0 {
				model = append(model, i)
			}
		case 1:
			if len(model) > 0 {
				c.pop(next)
				model = model[1:]
			}
		case 2:
			if len(model) > 0 {
				c.rotate(next)
				model = append(model[1:], model[0])
			}
		case 3:
			c.remove(next, i)
			if k := index(i); k >= 0 {
				model = append(model[:k:k], model[k+1:]...)
			}
		}
		head := uint32(0)
		if len(model) > 0 {
			head = model[0]
		}
		require.Equal(t, head, c.head(next))
	}
}

func TestLookupAgainstMap(t *testing.T) {
	r := random(2)
	var l lookup
	model := map[uint64]uint32{}
	for n := range uint32(50_000) {
		key := 1 + r.next()%300*7919
		switch _, there := model[key]; {
		case there && r.chance(0.6):
			l.remove(key)
			delete(model, key)
		case !there:
			l.put(key, n+1)
			model[key] = n + 1
		}
		probe := 1 + r.next()%300*7919
		require.Equal(t, model[probe], l.get(probe))
		require.Equal(t, len(model), l.used)
	}
	l.remove(3)
	require.Equal(t, len(model), l.used)
}

func TestTimersFireInOrder(t *testing.T) {
	r := random(3)
	var h timers
	last := timer{}
	for range 20_000 {
		if len(h) == 0 || r.chance(0.52) {
			h.push(timer{last.at + Time(r.below(50)), uint32(r.below(1000))})
			continue
		}
		v := h.pop()
		if v.at < last.at {
			t.Fatalf("%v after %v", v, last)
		}
		for _, other := range h {
			if earlier(other, v) {
				t.Fatalf("%v was taken before %v", v, other)
			}
		}
		last = v
	}
}

func TestBlocksDoNotOverlap(t *testing.T) {
	r := random(4)
	var s blocks
	var held []block
	for range 5_000 {
		if len(held) > 0 && r.chance(0.5) {
			k := r.below(len(held))
			empty := s.give(held[k])
			held = append(held[:k], held[k+1:]...)
			require.Equal(t, len(held) == 0, empty)
			continue
		}
		b := s.take(1 << r.below(5))
		for _, o := range held {
			require.False(t, b.first < o.first+o.units && o.first < b.first+b.units, "%v %v", b, o)
		}
		require.LessOrEqual(t, b.first+b.units, s.end)
		held = append(held, b)
	}
	require.EqualValues(t, 1, unitsFor(1))
	require.EqualValues(t, 1, unitsFor(64))
	require.EqualValues(t, 2, unitsFor(65))
	require.EqualValues(t, 512, unitsFor(maxMPR*128))
}

func TestBitmapOverTheWrap(t *testing.T) {
	words := make([]uint64, 8)
	b := block{first: 2, units: 4}
	base := uint32(1<<32 - 100)
	for n := range uint32(256) {
		if n%3 == 0 {
			b.set(words, base+n)
		}
	}
	require.Zero(t, words[0]|words[1]|words[6]|words[7])
	for n := range uint32(256 - 64) {
		got := b.get64(words, base+n)
		for k := range uint32(64) {
			require.Equal(t, (n+k)%3 == 0, got>>k&1 != 0)
			require.Equal(t, (n+k)%3 == 0, b.has(words, base+n+k))
		}
	}
	b.clear(words, base)
	require.False(t, b.has(words, base))
}

func TestEventQueueKeepsOrder(t *testing.T) {
	var q eventQueue
	var buf [3]Event
	in, out := uint64(0), uint64(0)
	r := random(5)
	for range 1000 {
		for range r.below(6) {
			q.push(Event{Cookie: in})
			in++
		}
		n := q.take(buf[:r.below(4)])
		for _, v := range buf[:n] {
			require.Equal(t, out, v.Cookie)
			out++
		}
	}
	require.Equal(t, in-out, uint64(q.count))
}

// Room for PSNs grows in the middle of a window, with packets in every state.
func TestWindowKeepsItsStateWhileItGrows(t *testing.T) {
	c := base()
	c.MPR = 255
	c.StartPSN = 1<<32 - 70
	e := newPair(t, c, nil).A()
	require.NoError(t, e.Send(0, Message{To: 2, Length: 1 << 20}))
	pd := &e.pdcs[1]
	e.contexts[1].window = 1 // so that room begins small
	state := func(psn uint32) uint32 { return (psn * 2654435761) >> 30 }
	for range 1000 {
		require.True(t, e.makeRoom(pd))
		psn := pd.next
		pd.next++
		e.sent[pd.room.slot(psn)] = sentPacket{chunk: psn}
		pd.room.clear(e.got, psn)
		pd.room.clear(e.lostMap, psn)
		switch state(psn) {
		case 1:
			pd.room.set(e.got, psn)
		case 2:
			pd.room.set(e.lostMap, psn)
		}
		for at := pd.una; at != pd.next; at++ {
			if e.packet(pd, at).chunk != at || pd.room.has(e.got, at) != (state(at) == 1) || pd.room.has(e.lostMap, at) != (state(at) == 2) {
				t.Fatalf("PSN %d of %d to %d has changed", at, pd.una, pd.next)
			}
		}
	}
	require.EqualValues(t, 1024, pd.room.psns())
	require.EqualValues(t, 16, e.sendRoom.used)
}

// The map of an ACK shows nothing that lies behind it in the ring.
func TestMapEndsWithTheRing(t *testing.T) {
	e := newPair(t, base(), nil).B()
	var g recvPDC
	for n := uint32(1); n <= 64; n++ {
		if n%2 == 0 {
			e.admit(&g, n, 1)
		}
	}
	require.EqualValues(t, 64, g.room.psns())
	require.Equal(t, uint64(0xaaaaaaaaaaaaaaaa), e.map64(&g, 1))
	require.EqualValues(t, 0xaaaaaaaaaa, e.map64(&g, 25), "40 PSNs from 25 to 64")
	require.EqualValues(t, 1, e.map64(&g, 64))
	require.Zero(t, e.map64(&g, 65))
	e.admit(&g, 100, 1)
	require.EqualValues(t, 128, g.room.psns())
	require.EqualValues(t, 1|1<<36, e.map64(&g, 64))
	e.admit(&g, 1, 1)
	require.EqualValues(t, 2, g.cack)
	require.EqualValues(t, 32, g.beyond)
}
