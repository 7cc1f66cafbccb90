package scenario

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-transport/weft/transport/splitmix"
)

// A Seeds says which seeds a scenario runs with.
type Seeds struct {
	List []uint64
	Auto bool // as many as it takes until the intervals are narrow; List holds the first ones
}

// maxSeeds bounds a list of seeds.
const maxSeeds = 100_000

// autoSeeds is how many seeds "auto" starts with.
const autoSeeds = 5

// ParseSeeds reads "1..5", "1,2,7", combinations of both, or "auto".
func ParseSeeds(text string) (Seeds, error) {
	if text == "auto" {
		s, err := ParseSeeds("1.." + strconv.Itoa(autoSeeds))
		s.Auto = true
		return s, err
	}
	var s Seeds
	seen := map[uint64]bool{}
	for _, part := range strings.Split(text, ",") {
		first, last, err := seedRange(strings.TrimSpace(part))
		if err != nil {
			return Seeds{}, err
		}
		if last-first >= maxSeeds || uint64(len(s.List))+last-first >= maxSeeds {
			return Seeds{}, fmt.Errorf("%q is more than %d seeds", text, maxSeeds)
		}
		for seed := first; ; seed++ {
			if seen[seed] {
				return Seeds{}, fmt.Errorf("seed %d is given twice", seed)
			}
			seen[seed] = true
			s.List = append(s.List, seed)
			if seed == last {
				break
			}
		}
	}
	return s, nil
}

func seedRange(part string) (first, last uint64, err error) {
	low, high, isRange := strings.Cut(part, "..")
	first, err = strconv.ParseUint(low, 10, 64)
	last = first
	if isRange && err == nil {
		last, err = strconv.ParseUint(high, 10, 64)
	}
	if err != nil || last < first {
		return 0, 0, fmt.Errorf("%q is not a list of seeds; expected something like 1..5, 1,2,7 or auto", part)
	}
	return first, last, nil
}

// String writes the seeds as ParseSeeds reads them, runs of three or more as ranges.
func (s Seeds) String() string {
	if s.Auto {
		return "auto"
	}
	var parts []string
	for i := 0; i < len(s.List); {
		j := i
		for j+1 < len(s.List) && s.List[j+1] == s.List[j]+1 {
			j++
		}
		if j >= i+2 {
			parts = append(parts, fmt.Sprintf("%d..%d", s.List[i], s.List[j]))
			i = j + 1
			continue
		}
		parts = append(parts, strconv.FormatUint(s.List[i], 10))
		i++
	}
	return strings.Join(parts, ",")
}

// A SeedSet holds the separate seeds of one run, so that one source of chance can be held
// while the others vary.
type SeedSet struct {
	Matrix   uint64 // who sends to whom, how much, arrival times
	Hash     uint64 // salts of the path hashes of switches
	Loss     uint64 // fates of packets
	Jitter   uint64 // start jitter
	Protocol uint64 // choices of the transports themselves
}

// A FixedSeeds holds the parts of a SeedSet that the scenario fixes; nil: derived from the seed
// of the run.
type FixedSeeds struct {
	Matrix, Hash, Loss, Jitter, Protocol *uint64
}

// Derive splits the seed of a run, with splitmix64, into its parts.
func (f FixedSeeds) Derive(seed uint64) SeedSet {
	part := func(fixed *uint64, n uint64) uint64 {
		if fixed != nil {
			return *fixed
		}
		return splitmix.Mix(splitmix.Mix(seed+splitmix.Gamma) + n + splitmix.Gamma)
	}
	return SeedSet{
		Matrix:   part(f.Matrix, 1),
		Hash:     part(f.Hash, 2),
		Loss:     part(f.Loss, 3),
		Jitter:   part(f.Jitter, 4),
		Protocol: part(f.Protocol, 5),
	}
}
