package spray_test

import (
	"testing"

	"github.com/weft-transport/weft/spray"
)

// BenchmarkNext measures a packet: the choice of its entropy value and the report of what became of it.
// In fair weather one in twenty is marked; in a storm three in ten are marked, trimmed or lost, so that
// nearly every value of the penalising sprayers has a penalty.
func BenchmarkNext(b *testing.B) {
	for _, e := range spray.Registry.All() {
		b.Run(e.Name+"/fair", func(b *testing.B) {
			turn := 0
			benchmark(b, e.Name, func() spray.Outcome {
				if turn++; turn%20 == 0 {
					return spray.Marked
				}
				return spray.Good
			})
		})
		b.Run(e.Name+"/storm", func(b *testing.B) {
			turn := 0
			benchmark(b, e.Name, func() spray.Outcome {
				turn++
				return spray.Outcome(max(0, turn*7%10-6)) // 6 to 9 in turn: one mark, one trimmed, one lost
			})
		})
	}
}

func benchmark(b *testing.B, name string, outcome func() spray.Outcome) {
	maker, _, err := spray.Registry.Make(name, nil)
	if err != nil {
		b.Fatal(err)
	}
	s := maker(testPath)
	now := spray.Time(0)
	b.ReportAllocs()
	for b.Loop() {
		now += us / 4
		ev, _ := s.Next(now, spray.NoEV)
		s.Report(now, ev, outcome(), 13*us)
	}
}

// BenchmarkNextAlone measures the choice of an entropy value without the reports, of which a window's worth comes between windows.
func BenchmarkNextAlone(b *testing.B) {
	const window = 256
	for _, e := range spray.Registry.All() {
		b.Run(e.Name, func(b *testing.B) {
			maker, _, err := spray.Registry.Make(e.Name, nil)
			if err != nil {
				b.Fatal(err)
			}
			s := maker(testPath)
			now, evs := spray.Time(0), [window]uint16{}
			b.ReportAllocs()
			for n := range b.N {
				if n%window == 0 && n > 0 {
					b.StopTimer()
					for i, ev := range evs {
						outcome := spray.Good
						if i%20 == 0 {
							outcome = spray.Marked
						}
						s.Report(now, ev, outcome, 13*us)
					}
					b.StartTimer()
				}
				now += us / 4
				evs[n%window], _ = s.Next(now, spray.NoEV)
			}
		})
	}
}
