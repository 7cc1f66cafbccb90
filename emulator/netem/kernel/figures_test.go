package kernel

import (
	"hash/crc32"
	"math"
	"slices"
)

// An arrival is a packet as the receiver saw it.
type arrival struct {
	id     int   // of the packet sent
	at     int64 // nanoseconds
	hurt   int   // bits that were inverted
	where  int   // the last of them
	marked bool  // congestion experienced
}

// A trace is what came of the packets of a case.
type trace struct {
	sent     []int64 // nanoseconds, by id
	bytes    int     // of each
	arrivals []arrival
}

// A figure is what a trace shows of one property: a share, a mean or a correlation, of so many trials.
type figure struct {
	name   string
	value  float64
	trials float64
}

func share(name string, hits, trials int) figure {
	return figure{name, float64(hits) / float64(max(trials, 1)), float64(trials)}
}

func mean(name string, x []float64) figure {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return figure{name, sum / float64(max(len(x), 1)), float64(len(x))}
}

// came tells of each packet whether it arrived.
func (t *trace) came() []bool {
	c := make([]bool, len(t.sent))
	for _, a := range t.arrivals {
		c[a.id] = true
	}
	return c
}

// losses are the share, and how they follow each other.
func losses(t *trace) []figure {
	var lost, after, bursts, alone, long, length int
	for _, came := range append(t.came(), true) {
		switch {
		case !came:
			if lost++; length > 0 {
				after++
			}
			length++
		case length > 0:
			bursts++
			if length == 1 {
				alone++
			}
			if length > 5 {
				long++
			}
			length = 0
		}
	}
	return []figure{share("lost", lost, len(t.sent)), share("lost after a loss", after, lost),
		share("bursts of one", alone, bursts), share("bursts longer than 5", long, bursts)}
}

func firstArrivals(t *trace) []figure {
	n := 0
	for _, came := range t.came()[:300] {
		if came {
			n++
		}
	}
	return []figure{{"arrived of the first 300", float64(n), 300}}
}

// set is a number that two traces share if the same packets arrived in both.
func set(t *trace) uint32 {
	sum := crc32.NewIEEE()
	for _, came := range t.came() {
		if came {
			sum.Write([]byte{1})
		} else {
			sum.Write([]byte{0})
		}
	}
	return sum.Sum32()
}

// delays are milliseconds, by arrival; base is what a packet takes without netem.
func delays(t *trace, base int64) []float64 {
	ms := make([]float64, len(t.arrivals))
	for i, a := range t.arrivals {
		ms[i] = float64(a.at-t.sent[a.id]-base) / 1e6
	}
	return ms
}

// below are shares of delays up to bounds in milliseconds, the mean, and the correlation of each with the one before.
func below(bounds []float64, names []string) func(t *trace, base int64) []figure {
	return func(t *trace, base int64) []figure {
		inOrder := slices.Clone(t.arrivals)
		slices.SortFunc(inOrder, func(a, b arrival) int { return a.id - b.id })
		ms := delays(&trace{sent: t.sent, arrivals: inOrder}, base)
		var f []figure
		for i, b := range bounds {
			n := 0
			for _, v := range ms {
				if v <= b {
					n++
				}
			}
			f = append(f, share(names[i], n, len(ms)))
		}
		m := mean("mean, ms", ms)
		variance, lag := 0.0, 0.0
		for i, v := range ms {
			variance += (v - m.value) * (v - m.value)
			if i > 0 {
				lag += (v - m.value) * (ms[i-1] - m.value)
			}
		}
		return append(f, m, figure{"correlation", lag / math.Max(variance, 1e-9), float64(len(ms))})
	}
}

// atOnce is the share of packets that did not wait.
func atOnce(t *trace, base int64) []figure {
	n := 0
	for _, v := range delays(t, base) {
		if v < 10 {
			n++
		}
	}
	return []figure{share("at once", n, len(t.arrivals))}
}

func copies(t *trace) []figure {
	return []figure{share("twice", len(t.arrivals)-len(t.sent), len(t.sent))}
}

func damage(t *trace) []figure {
	hurt, one, late := 0, 0, 0
	for _, a := range t.arrivals {
		if a.hurt > 0 {
			hurt++
			if a.hurt == 1 {
				one++
			}
			if a.where >= t.bytes*4 {
				late++
			}
		}
	}
	return []figure{share("hurt", hurt, len(t.arrivals)), share("one bit of these", one, hurt), share("in the second half", late, hurt)}
}

func marks(t *trace) []figure {
	n := 0
	for _, a := range t.arrivals {
		if a.marked {
			n++
		}
	}
	return []figure{share("marked", n, len(t.sent)), share("lost", len(t.sent)-len(t.arrivals), len(t.sent))}
}

// spacing is the mean distance of arrivals in the second half: by then packets wait for the wire all the time.
func spacing(t *trace) []figure {
	late := t.arrivals[len(t.arrivals)/2:]
	n := len(late) - 1
	return []figure{{"spacing, us", float64(late[n].at-late[0].at) / 1e3 / float64(n), float64(n)}}
}

// groups are arrivals less than a millisecond apart: the slots. The first and the last may be smaller.
func groups(t *trace) []figure {
	var sizes, gaps []float64
	size, from := 0, t.arrivals[0].at
	for i, a := range t.arrivals {
		if i > 0 && a.at-t.arrivals[i-1].at > 1e6 {
			sizes, gaps = append(sizes, float64(size)), append(gaps, float64(a.at-from)/1e6)
			size, from = 0, a.at
		}
		size++
	}
	if len(sizes) < 100 {
		return []figure{mean("packets in a slot", nil), mean("between slots, ms", nil)}
	}
	return []figure{mean("packets in a slot", sizes[20:]), mean("between slots, ms", gaps[20:])}
}
