package estimate

// A Sequential is the rule of an adaptive number of repetitions: at least Min, then until the
// interval is narrow enough, at most Max. Looking after every repetition makes stopping early
// slightly too easy; a Min of five or more keeps that small.
type Sequential struct {
	HalfWidth float64 // wanted relative half-width, 0.05 for 5 %
	Min, Max  int
}

// Enough says whether to stop after n repetitions with the widest of the intervals that matter at
// the relative half-width widest. nil is no interval yet.
func (s Sequential) Enough(n int, widest *float64) bool {
	switch {
	case n >= s.Max:
		return true
	case n < max(s.Min, 2) || widest == nil:
		return false
	}
	return *widest <= s.HalfWidth
}
