package emulator

import (
	"sort"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCalendarOrder schedules, cancels and pops at random and compares with a sorted list: by
// time, and among equal times by the order of scheduling. Many share a bucket, so that blocks are full, cut in two
// and emptied from the middle.
func TestCalendarOrder(t *testing.T) {
	type want struct {
		at  Time
		seq int
		src uint32
	}
	for seed := uint64(1); seed <= 50; seed++ {
		rng := stream(seed)
		const sources = 128
		c := newCalendar(sources, 64, 5000)
		var model []want
		pending := map[uint32]Time{}
		var now Time
		for step := 0; step < 5000; step++ {
			src := uint32(rng.next() % sources)
			due, waits := pending[src]
			if step%97 == 0 {
				for src, at := range c.dates() {
					due, waits := pending[uint32(src)]
					require.Equal(t, waits, at != Never, "seed %d step %d", seed, step)
					require.True(t, !waits || at == due, "seed %d step %d", seed, step)
				}
			}
			switch {
			case !waits:
				span := []uint64{1, 64, 5000, 3_000_000}[rng.next()%4]
				at := now + Time(rng.next()%span)
				c.schedule(src, at)
				pending[src] = at
				model = append(model, want{at, step, src})
			case rng.next()%4 == 0:
				c.cancel(src, due)
				delete(pending, src)
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
				require.Equal(t, model[0].at, c.earliest())
				got, at := c.pop(Never - 1)
				delete(pending, got)
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
	src, _ := c.pop(Never - 1)
	require.Equal(t, nobody, src)
	c.schedule(1, 10_000_000)
	src, _ = c.pop(9_999_999)
	require.Equal(t, nobody, src, "nothing is due yet")
	c.schedule(0, 64) // far before what was looked at
	src, at := c.pop(10_000_000)
	require.Equal(t, uint32(0), src)
	require.Equal(t, Time(64), at)
	src, at = c.pop(10_000_000)
	require.Equal(t, uint32(1), src)
	require.Equal(t, Time(10_000_000), at)
}
