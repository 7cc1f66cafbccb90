// Package instant holds the one notion of time that every layer shares.
//
// A Time counts picoseconds since the start of a run. One byte at 800 Gbit/s lasts ten of
// them, so serialisation times stay exact where a nanosecond clock would drift.
package instant

import (
	"strconv"
	"strings"
	"time"
)

// A Time is an instant, or the distance between two, in picoseconds. The range of 106 days
// is enough for any run. The zero Time is the start of the run.
type Time int64

// Units of Time.
const (
	Picosecond  Time = 1
	Nanosecond       = 1000 * Picosecond
	Microsecond      = 1000 * Nanosecond
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond
)

// Never is later than every instant of a run: the deadline of one who waits for nothing.
const Never Time = 1<<63 - 1

// FromDuration converts a duration; it saturates at Never (about 106 days).
func FromDuration(d time.Duration) Time {
	if d > time.Duration(Never/Nanosecond) {
		return Never
	}
	return Time(d) * Nanosecond
}

// Duration returns t rounded towards zero to whole nanoseconds.
func (t Time) Duration() time.Duration { return time.Duration(t / Nanosecond) }

// Microseconds returns t in microseconds.
func (t Time) Microseconds() float64 { return float64(t) / float64(Microsecond) }

// Nanoseconds returns t in nanoseconds, fraction included.
func (t Time) Nanoseconds() float64 { return float64(t) / float64(Nanosecond) }

// Seconds returns t in seconds.
func (t Time) Seconds() float64 { return float64(t) / float64(Second) }

// String prints t in the largest unit that keeps it at or above one: "12us", "1.5ms", "never".
func (t Time) String() string {
	if t == Never {
		return "never"
	}
	for _, u := range [...]struct {
		size Time
		name string
	}{{Second, "s"}, {Millisecond, "ms"}, {Microsecond, "us"}, {Nanosecond, "ns"}} {
		if t >= u.size || -t >= u.size {
			s := strconv.FormatFloat(float64(t)/float64(u.size), 'f', 6, 64)
			return strings.TrimRight(strings.TrimRight(s, "0"), ".") + u.name
		}
	}
	return strconv.FormatInt(int64(t), 10) + "ps"
}
