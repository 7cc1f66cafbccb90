package live

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Limits are what a run must keep to be valid.
type Limits struct {
	LatenessP50 time.Duration // 0: the constant of that name, times the dilation where that is above 1
	LatenessP99 time.Duration // 0: the same
	Unread      float64       // share of datagrams that no reader had room for, and share that no relay read in time; 0: 0.1 %
	Delay       float64       // by which share delays may be longer than asked, in the mean; 0: 10 %
}

// What Limits are by default.
const (
	LatenessP50 = 100 * time.Microsecond
	LatenessP99 = time.Millisecond
)

// withDefaults counts lateness in the network's time: what is late by 10 ms of the wall is late by 1 ms to a network that takes
// ten times as long.
func (l Limits) withDefaults(dilation float64) Limits {
	scaled := func(d time.Duration) time.Duration { return time.Duration(float64(d) * max(1, dilation)) }
	if l.LatenessP50 == 0 {
		l.LatenessP50 = scaled(LatenessP50)
	}
	if l.LatenessP99 == 0 {
		l.LatenessP99 = scaled(LatenessP99)
	}
	if l.Unread == 0 {
		l.Unread = 0.001
	}
	if l.Delay == 0 {
		l.Delay = 0.1
	}
	return l
}

// A Validity says how well the wall's clock was kept, in wall-clock time. Lateness is what a datagram took from the
// writer's call to the reader's buffer, less what the network says that it takes.
type Validity struct {
	Datagrams, Bytes uint64 // delivered to hosts
	Unread           uint64 // of these, nobody listened or had room: the carrier's own drops
	Overflow         uint64 // beside these, the system dropped them in front of a Relay, whose sockets were full
	LatenessP50      time.Duration
	LatenessP99      time.Duration
	LatenessMax      time.Duration
	AskedDelay       time.Duration // mean of what the network says that datagrams of Conns and TUNs take
	Delay            time.Duration // mean of what they took
	Wall             time.Duration
	Processor        float64  // share of all processors that the process used, 0 to 1, with the programs in it
	Shaped           []Shaped // links that have a netem
	Limits           Limits
}

// Problems lists the limits that were not kept, a line each; none: the run is valid.
func (v Validity) Problems() []string {
	if v.Datagrams == 0 {
		return []string{"no datagram was delivered: nothing was measured"}
	}
	var all []string
	if v.LatenessP50 > v.Limits.LatenessP50 {
		all = append(all, fmt.Sprintf("half of the datagrams were more than %v late; the limit is %v", v.LatenessP50.Round(time.Microsecond), v.Limits.LatenessP50))
	}
	if v.LatenessP99 > v.Limits.LatenessP99 {
		all = append(all, fmt.Sprintf("one in a hundred datagrams was more than %v late; the limit is %v", v.LatenessP99.Round(time.Microsecond), v.Limits.LatenessP99))
	}
	if share := float64(v.Unread) / float64(v.Datagrams); share > v.Limits.Unread {
		all = append(all, fmt.Sprintf("%d of %d datagrams found no reader; the limit is %v", v.Unread, v.Datagrams, v.Limits.Unread))
	}
	if share := float64(v.Overflow) / float64(v.Datagrams+v.Overflow); share > v.Limits.Unread {
		all = append(all, fmt.Sprintf("%d datagrams were dropped in front of the network, which did not read its sockets as fast; the limit is %v of all", v.Overflow, v.Limits.Unread))
	}
	if late := v.Delay - v.AskedDelay; float64(late) > v.Limits.Delay*float64(v.AskedDelay) {
		all = append(all, fmt.Sprintf("datagrams took %v, asked were %v; the limit is %v %% more", v.Delay.Round(time.Microsecond), v.AskedDelay.Round(time.Microsecond), 100*v.Limits.Delay))
	}
	for _, s := range v.Shaped {
		if p := s.problem(); p != "" {
			return append(all, p) // one is enough
		}
	}
	return all
}

// Valid tells whether all limits were kept.
func (v Validity) Valid() bool { return len(v.Problems()) == 0 }

// String is one line.
func (v Validity) String() string {
	verdict := "valid"
	if p := v.Problems(); len(p) > 0 {
		verdict = "INVALID: " + strings.Join(p, "; ")
	}
	overflow := ""
	if v.Overflow > 0 {
		overflow = fmt.Sprintf("%d dropped in front, ", v.Overflow)
	}
	return fmt.Sprintf("%d datagrams in %v, late by %v (p50), %v (p99), %v (max), %d unread, %s%.0f %% of the processors: %s",
		v.Datagrams, v.Wall.Round(time.Millisecond), brief(v.LatenessP50), brief(v.LatenessP99), brief(v.LatenessMax), v.Unread, overflow, 100*v.Processor, verdict)
}

// brief leaves three digits of a duration.
func brief(d time.Duration) time.Duration {
	unit := time.Nanosecond
	for d >= 1000*unit {
		unit *= 10
	}
	return d.Round(unit)
}

// A Record is a Validity as results keep it, with units in the names, and as it is read back.
type Record struct {
	Valid       bool     `json:"valid"`
	Problems    []string `json:"problems,omitempty"`
	Datagrams   uint64   `json:"datagrams"`
	Bytes       uint64   `json:"bytes"`
	Unread      uint64   `json:"unread_datagrams"`
	Overflow    uint64   `json:"overflow_datagrams,omitempty"`
	LatenessP50 float64  `json:"lateness_p50_us"`
	LatenessP99 float64  `json:"lateness_p99_us"`
	LatenessMax float64  `json:"lateness_max_us"`
	AskedDelay  float64  `json:"asked_delay_us"`
	Delay       float64  `json:"delay_us"`
	LimitP50    float64  `json:"limit_p50_us"`
	LimitP99    float64  `json:"limit_p99_us"`
	Wall        float64  `json:"wall_s"`
	Processor   float64  `json:"processor_share"`
	Shaped      []Shaped `json:"shaped_links,omitempty"`
}

// Record returns what results keep.
func (v Validity) Record() *Record {
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
	return &Record{v.Valid(), v.Problems(), v.Datagrams, v.Bytes, v.Unread, v.Overflow, us(v.LatenessP50), us(v.LatenessP99), us(v.LatenessMax), us(v.AskedDelay), us(v.Delay),
		us(v.Limits.LatenessP50), us(v.Limits.LatenessP99), v.Wall.Seconds(), v.Processor, v.Shaped}
}

// MarshalJSON writes a Record.
func (v Validity) MarshalJSON() ([]byte, error) { return json.Marshal(v.Record()) }

// measures are guarded by Fabric.mu.
type measures struct {
	late             *hdrhistogram.Histogram // nanoseconds
	datagrams, bytes uint64
	unread           uint64
	asked            time.Duration   // sum of what the network says that datagrams take, of those that are in took
	took             time.Duration   // sum of what they took
	counted          int64           // of these
	unsettled        int64           // of these, delivered since the clock was last read
	due              []time.Duration // of what was delivered since the clock was last read
	used             time.Duration   // by the process, before the fabric
}

const mostLate = time.Minute

func newMeasures() measures {
	return measures{late: hdrhistogram.New(1, int64(mostLate), 3), used: processorTime()}
}

// delivered counts a datagram that is due at an instant of the wall's clock, and that the network had for a time; 0: it is
// not known how long.
func (m *measures) delivered(due, asked time.Duration, bytes int) {
	if asked > 0 {
		m.asked += asked
		m.took += asked - due // and the instant of its delivery, which is not known yet
		m.counted++
		m.unsettled++
	}
	m.datagrams++
	m.bytes += uint64(bytes)
	m.due = append(m.due, due)
}

// settle reads the clock once for all that was delivered before: the first of them was less late than it counts.
func (m *measures) settle(clock func() time.Duration) {
	if len(m.due) == 0 {
		return
	}
	now := clock()
	for _, due := range m.due {
		_ = m.late.RecordValue(int64(min(max(now-due, 0), mostLate))) // in range
	}
	m.took += time.Duration(m.unsettled) * now
	m.unsettled, m.due = 0, m.due[:0]
}

// Validity returns what was measured so far.
func (f *Fabric) Validity() Validity {
	overflow := f.overflow()
	f.mu.Lock()
	defer f.mu.Unlock()
	m := &f.validity
	at := func(q float64) time.Duration { return time.Duration(m.late.ValueAtQuantile(q)) }
	wall := f.since()
	counted := time.Duration(max(m.counted, 1))
	return Validity{
		Datagrams: m.datagrams, Bytes: m.bytes, Unread: m.unread, Overflow: overflow, Wall: wall, Limits: f.cfg.Limits,
		LatenessP50: at(50), LatenessP99: at(99), LatenessMax: time.Duration(m.late.Max()),
		Processor: float64(processorTime()-m.used) / float64(wall) / float64(runtime.NumCPU()),
		Shaped:    f.shaped(), AskedDelay: m.asked / counted, Delay: m.took / counted,
	}
}

// overflow is that of all relays there were.
func (f *Fabric) overflow() uint64 {
	f.mu.Lock()
	relays, n := slices.Clone(f.relays), f.missed
	f.mu.Unlock()
	for _, r := range relays { // whose lock goes before the fabric's
		n += r.Overflow()
	}
	return n
}
