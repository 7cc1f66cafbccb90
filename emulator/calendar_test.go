package emulator

import (
	"sort"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCalendarOrder schedules, cancels and pops at random and compares with a sorted list: by
// time, and among equal times by the order of scheduling.
func TestCalendarOrder(t *testing.T) {
	type want struct {
		at  Time
		seq int
		src uint32
	}
	for seed := uint64(1); seed <= 50; seed++ {
		rng := stream(seed)
		const sources = 64
		c := newCalendar(sources, 64, 5000)
		var model []want
		var now Time
		for step := 0; step < 5000; step++ {
			src := uint32(rng.next() % sources)
			switch {
			case c.entries[src].at == Never:
				span := []uint64{1, 64, 5000, 3_000_000}[rng.next()%4]
				at := now + Time(rng.next()%span)
				c.schedule(src, at)
				model = append(model, want{at, step, src})
			case rng.next()%4 == 0:
				c.cancel(src)
				for i := range model {
					if model[i].src == src {
						model = append(model[:i], model[i+1:]...)
						break
					}
				}
			default:
				sort.SliceStable(model, func(i, j int) bool {
					return model[i].at < model[j].at || model[i].at == model[j].at && model[i].seq < model[j].seq
				})
				got, at, ok := c.pop(Never - 1)
				require.True(t, ok)
				require.Equal(t, model[0].at, at, "seed %d step %d", seed, step)
				require.Equal(t, model[0].src, got, "seed %d step %d", seed, step)
				model = model[1:]
				now = at
			}
		}
	}
}

func TestCalendarEmptyAndUntil(t *testing.T) {
	c := newCalendar(2, 64, 5000)
	_, _, ok := c.pop(Never - 1)
	require.False(t, ok)
	c.schedule(1, 10_000_000)
	_, _, ok = c.pop(9_999_999)
	require.False(t, ok, "nothing is due yet")
	src, at, ok := c.pop(10_000_000)
	require.True(t, ok)
	require.Equal(t, uint32(1), src)
	require.Equal(t, Time(10_000_000), at)
}
