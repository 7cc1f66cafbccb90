package conformance

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weft-transport/weft/spray"
	"github.com/weft-transport/weft/transport/instant"
)

func checkRange(s Subject) error {
	if !s.Ranged {
		return nil
	}
	for _, path := range paths() {
		for _, space := range [][2]int{{1, 0}, {2, 65534}, {7, 100}, {64, 49152}, {256, 0}, {1000, 3}, {65536, 0}} {
			sprayer, err := s.make(path, space[0], space[1])
			if err != nil {
				return err
			}
			for i, ev := range drive(sprayer, 3000, 0, 1, nothing) {
				if int(ev) < space[1] || int(ev) >= space[0]+space[1] {
					return fmt.Errorf("packet %d has value %d; %d values from %d on are allowed", i, ev, space[0], space[1])
				}
			}
		}
	}
	if _, err := s.Make(64, 65500, 1); err == nil {
		return fmt.Errorf("64 values from 65500 on, beyond the last entropy value 65535, are not refused")
	}
	return nil
}

func checkRuns(s Subject) error {
	for _, want := range []int{1, 16} {
		maker, err := s.Make(8, 0, want)
		if err != nil {
			return err
		}
		sprayer := maker(usual)
		for i := range 100 {
			_, run := sprayer.Next(instant.Time(i)*us, spray.NoEV)
			if run < 1 || s.Runs && run != want {
				return fmt.Errorf("a run of %d packets where run=%d is given", run, want)
			}
		}
	}
	return nil
}

// checkAvoid asks to avoid every value in turn, and at last the only one.
func checkAvoid(s Subject) error {
	for _, evs := range []int{2, 3, 8, 64, 1000} {
		sprayer, err := s.make(usual, evs, 10)
		if err != nil {
			return err
		}
		if spray.TraitsOf(sprayer).Fixed {
			return nil
		}
		var w weather = 3
		last := spray.NoEV
		for i := range 5000 {
			now, bad := instant.Time(i)*us, int32(10+i%evs)
			if !s.Ranged || i%2 == 0 {
				bad = last
			}
			ev, _ := sprayer.Next(now, bad)
			if bad == int32(ev) {
				return fmt.Errorf("packet %d got value %d, which it was to avoid", i, ev)
			}
			last = int32(ev)
			sprayer.Report(now, ev, w.outcome(), 13*us)
		}
	}
	if !s.Ranged {
		return nil
	}
	sprayer, err := s.make(usual, 1, 77)
	if err != nil {
		return err
	}
	for i := range 100 {
		if ev, _ := sprayer.Next(instant.Time(i)*us, 77); ev != 77 {
			return fmt.Errorf("value %d where 77 is the only one, whether to be avoided or not", ev)
		}
		sprayer.Report(instant.Time(i)*us, 77, spray.Lost, -1)
	}
	return nil
}

// checkDeterministic repeats: alone, beside another context of the same Maker, and a second later.
func checkDeterministic(s Subject) error {
	avoid := func(i int) int32 { return int32(i%97) - 50 }
	maker, err := s.Make(64, 0, 1)
	if err != nil {
		return err
	}
	for _, path := range paths() {
		want := drive(maker(path), 4000, 0, 5, avoid)
		again, other := maker(path), maker(path)
		interleaved := drive(again, 4000, 0, 5, func(i int) int32 {
			other.Next(instant.Time(i)*us, spray.NoEV)
			return avoid(i)
		})
		if !slices.Equal(want, interleaved) {
			return fmt.Errorf("the same calls, with another context beside, got other values")
		}
		if !slices.Equal(want, drive(maker(path), 4000, instant.Second, 5, avoid)) {
			return fmt.Errorf("the same calls, a second later, got other values")
		}
	}
	return nil
}

func checkSeeds(s Subject) error {
	const others = 20
	first, err := s.make(usual, 4096, 0)
	if err != nil {
		return err
	}
	want, same := drive(first, 50, 0, 5, nothing), 0
	for seed := uint64(1); seed <= others; seed++ {
		path := usual
		path.Seed = seed << 40
		sprayer, err := s.make(path, 4096, 0)
		if err != nil {
			return err
		}
		if slices.Equal(want, drive(sprayer, 50, 0, 5, nothing)) {
			same++
		}
	}
	if same > 1 {
		return fmt.Errorf("%d of %d seeds give the same values as another", same, others)
	}
	return nil
}

// checkUniform counts the k-th value of many contexts, since a single context may rightly prefer some values.
// The bound is the 99.9999 % point of the chi-square distribution for 63 degrees of freedom.
func checkUniform(s Subject) error {
	const evs, contexts, packets, bound = 64, 4096, 8, 133.0
	all, err := s.many(contexts, evs)
	if err != nil || !s.Ranged || spray.TraitsOf(all[0]).Uneven {
		return err
	}
	for k := range packets {
		var load [evs]float64
		for _, sprayer := range all {
			ev, _ := sprayer.Next(instant.Time(k)*us, spray.NoEV)
			load[ev%evs]++
		}
		mean, chi := float64(contexts)/evs, 0.0
		for _, n := range load {
			chi += (n - mean) * (n - mean) / mean
		}
		if chi > bound {
			return fmt.Errorf("packet %d of %d contexts: chi-square %.0f over %d values, at most %.0f by chance; from %v to %v packets a value",
				k, contexts, chi, evs, bound, slices.Min(load[:]), slices.Max(load[:]))
		}
	}
	return nil
}

// checkLearns wants at most half of an even share on a value that loses everything.
func checkLearns(s Subject) error {
	sprayer, err := s.make(usual, 16, 0)
	if err != nil || !spray.TraitsOf(sprayer).Learns {
		return err
	}
	share, err := deadShare(s)
	if err == nil && share > 0.5 {
		return fmt.Errorf("a value that loses everything gets %.2f of an even share", share)
	}
	return err
}

// checkRecovers lets everything be lost, then trimmed, and waits 20 ms.
func checkRecovers(s Subject) error {
	const evs, contexts = 64, 1024
	all, err := s.many(contexts, evs)
	if err != nil || !s.Ranged || spray.TraitsOf(all[0]).Uneven {
		return err
	}
	var used [evs]int
	for _, sprayer := range all {
		now := deliver(sprayer, 0, 200, always(spray.Lost), func(uint16) {})
		now = deliver(sprayer, now, 200, always(spray.Trimmed), func(uint16) {})
		now = deliver(sprayer, now+20*instant.Millisecond, 300, always(spray.Good), func(uint16) {})
		deliver(sprayer, now, 50, always(spray.Good), func(ev uint16) { used[ev%evs]++ })
	}
	if i := slices.Index(used[:], 0); i >= 0 {
		return fmt.Errorf("after 400 lost and trimmed packets value %d is not used by any of %d contexts", i, contexts)
	}
	return nil
}

func checkStrangers(s Subject) error {
	sprayer, err := s.make(usual, 8, 40)
	if err != nil {
		return err
	}
	for i := range 500 {
		sprayer.Report(instant.Time(i)*us, uint16(i*131), spray.Outcome(i%4), -1)
		ev, _ := sprayer.Next(instant.Time(i)*us, spray.NoEV)
		if s.Ranged && (ev < 40 || ev >= 48) {
			return fmt.Errorf("value %d where 40 to 47 are allowed, after news of value %d", ev, uint16(i*131))
		}
	}
	return nil
}

func checkAllocation(s Subject) error {
	const calls = 1000 // the average is rounded down: one in a thousand counts
	sprayer, err := s.make(usual, 256, 0)
	if err != nil {
		return err
	}
	var w weather = 9
	now := instant.Time(0)
	allocs := testing.AllocsPerRun(5, func() {
		for range calls {
			now += us / 4
			ev, _ := sprayer.Next(now, spray.NoEV)
			sprayer.Report(now, ev, w.outcome(), 13*us)
			sprayer.Next(now, int32(ev))
		}
	})
	if allocs > 0 {
		return fmt.Errorf("%v allocations in %d packets", allocs, calls)
	}
	return nil
}
