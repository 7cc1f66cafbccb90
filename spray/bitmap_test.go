package spray

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func makeBitmap(t *testing.T, given map[string]string) *bitmap {
	t.Helper()
	maker, _, err := Registry.Make("bitmap", given)
	require.NoError(t, err)
	return maker(path).(*bitmap)
}

// Four values, the second with a penalty of four: it is passed over at the first four meetings
// and used at the fifth, and each meeting takes one off.
func TestBitmapSkipsAPenaltyAsOftenAsItIsHigh(t *testing.T) {
	b := makeBitmap(t, map[string]string{"evs": "4", "first": "0"})
	b.Report(0, 1, Trimmed, -1)
	meetings := 0
	for b.penalties.get(1) > 0 {
		before := b.penalties.get(1)
		require.NotEqual(t, uint16(1), next(b))
		if b.penalties.get(1) < before {
			meetings++
			require.Equal(t, before-1, b.penalties.get(1))
		}
	}
	require.Equal(t, 4, meetings)
	used := false
	for range 4 {
		used = used || next(b) == 1
	}
	require.True(t, used)
}

func TestBitmapWalksInOrderWhenTheMaskIsZero(t *testing.T) {
	b := makeBitmap(t, map[string]string{"evs": "4", "first": "0"})
	b.walk.mask = 0
	b.penalties.set(1, 4)
	require.Equal(t, []uint16{0, 2, 3}, []uint16{next(b), next(b), next(b)})
	require.Equal(t, uint8(3), b.penalties.get(1))
}

func TestBitmapPenaltiesAddUpToFifteen(t *testing.T) {
	b := makeBitmap(t, map[string]string{"evs": "5", "first": "0"})
	for _, step := range []struct {
		o    Outcome
		want uint8
	}{{Good, 0}, {Marked, 1}, {Trimmed, 5}, {Good, 5}, {Marked, 6}, {Lost, 15}, {Lost, 15}} {
		b.Report(0, 3, step.o, -1)
		require.Equal(t, step.want, b.penalties.get(3))
	}
	for i := range uint32(5) {
		if i != 3 {
			require.Zero(t, b.penalties.get(i), "its neighbour %d in the same byte", i)
		}
	}
}

// Only the first penalty that a packet meets pays off.
func TestBitmapPaysOnePenaltyPerPacket(t *testing.T) {
	b := makeBitmap(t, map[string]string{"evs": "4", "first": "0"})
	for i := range uint32(4) {
		b.penalties.set(i, 10)
	}
	sum := func() (s uint8) {
		for i := range uint32(4) {
			s += b.penalties.get(i)
		}
		return s
	}
	for packet := range uint8(20) {
		next(b)
		require.Equal(t, 40-packet-1, sum())
	}
}

func TestMixedRecyclesFirstComeFirstServed(t *testing.T) {
	maker, _, err := Registry.Make("mixed", map[string]string{"evs": "64", "first": "0", "queue": "4"})
	require.NoError(t, err)
	m := maker(path).(*mixed)
	for _, ev := range []uint16{5, 9, 7, 1, 2, 3} {
		m.Report(0, ev, Good, -1)
	}
	m.Report(0, 50, Marked, -1)
	require.Equal(t, []uint16{7, 1, 2, 3}, []uint16{next(m), next(m), next(m), next(m)}, "the youngest four")
	require.Equal(t, uint8(1), m.penalties.get(50), "the bitmap hears of everything")
	for range 64 {
		next(m) // the bitmap walks on
	}
	m.Report(0, 8, Good, -1)
	ev, _ := m.Next(0, 8)
	require.NotEqual(t, uint16(8), ev)
}
