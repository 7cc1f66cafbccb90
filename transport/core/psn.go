package core

// PSNs are 32-bit and wrap: they are compared by their signed distance.

// before tells whether a comes before b.
func before(a, b uint32) bool { return int32(a-b) < 0 }

// within tells whether first <= psn < end.
func within(psn, first, end uint32) bool { return psn-first < end-first }
