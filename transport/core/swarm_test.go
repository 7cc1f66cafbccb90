package core

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// A swarmCase is a small run drawn from a seed: configuration, weather and messages.
type swarmCase struct {
	config   Config
	window   int64
	rate     int64
	loss     [2]float64 // by direction
	trim     float64
	mark     float64
	copy     float64
	corrupt  float64
	late     float64
	lateness Time
	messages []Message
	real     bool
	run      int
}

func (r *random) chance(p float64) bool     { return float64(r.next()>>11)/(1<<53) < p }
func (r *random) below(n int) int           { return int(r.next() % uint64(n)) }
func pick[T any](r *random, choices ...T) T { return choices[r.below(len(choices))] }

func drawCase(seed uint64) swarmCase {
	r := random(seed)
	c := swarmCase{config: base()}
	g := &c.config
	g.Seed = seed
	g.PayloadMTU = pick(&r, 256, 1024, 4096)
	g.PDCs = pick(&r, 1, 1, 1, 3)
	g.MPR = pick(&r, 1, 2, 8, 255)
	g.Trimming = r.chance(0.5)
	g.RTO = pick(&r, RTOConfig{Init: 60 * us, MaxRetries: -1}, RTOConfig{Adaptive: true, Floor: 40 * us, MaxRetries: -1}, RTOConfig{Init: 100 * us, MaxRetries: 3})
	g.FastLoss.On = r.chance(0.3)
	g.TailProbe.On = r.chance(0.3)
	g.ACK.PerPacket = r.chance(0.2)
	g.ACK.IgnoreCE = r.chance(0.2)
	g.ClearTime = 30 * us
	g.NACK = NACKConfig{RetxTime: 50 * us, MaxRetries: -1}
	g.IdleClose = pick[Time](&r, 0, 0, 50*us)
	g.TargetIdle = pick[Time](&r, 0, 50*ms)
	g.SegmentLifetime = 100 * us
	g.StartPSN = pick[uint32](&r, 0, 0, 1<<32-20)
	c.window = pick[int64](&r, 2_000, 20_000, 150_000, 1_000_000)
	c.rate = pick[int64](&r, 0, 0, 10e9)
	c.run = pick(&r, 1, 1, 4)
	bad := pick(&r, 0, 0.01, 0.1, 0.3)
	for end := range 2 {
		c.loss[end] = bad * pick(&r, 0, 0.5, 1)
	}
	c.trim, c.copy, c.corrupt = bad*pick(&r, 0, 1.0), bad*pick(&r, 0, 1.0), bad*pick(&r, 0, 0.3)
	c.mark = pick(&r, 0, 0.1, 1)
	c.late, c.lateness = pick(&r, 0, 0.2, 0.9), pick[Time](&r, 2*us, 20*us, 120*us)
	c.real = r.chance(0.6)
	mode := pick(&r, RUD, RUD, ROD)
	at := uint64(0)
	for i := range 1 + r.below(12) {
		m := Message{To: 2, Mode: mode, Length: uint64(r.below(pick(&r, 1, 300, 5_000, 60_000))), Cookie: uint64(i), RemoteKey: 1000 + uint64(i)}
		if r.chance(0.2) {
			m.Mode = ROD
		}
		if c.real {
			m.Buffer, m.Offset, m.RemoteKey, m.RemoteOffset = 1, at, 1, at
		}
		at += m.Length
		c.messages = append(c.messages, m)
	}
	return c
}

// runCase plays a case and checks everything that must hold. It returns a hash of all packets.
func runCase(t *testing.T, seed uint64) uint64 {
	c := drawCase(seed)
	p := newPair(t, c.config, nil)
	weather := random(mix(seed))
	p.fates = func(from int, _ *Packet) (f fate) {
		f.drop = weather.chance(c.loss[from])
		f.trim = weather.chance(c.trim)
		f.lastHop = weather.chance(c.trim / 2)
		f.mark = weather.chance(c.mark)
		f.corrupt = weather.chance(c.corrupt)
		if weather.chance(c.copy) {
			f.copies = 1
		}
		if weather.chance(c.late) {
			f.late = Time(weather.next() % uint64(c.lateness))
		}
		return f
	}
	trims := p.fates
	p.fates = func(from int, out *Packet) fate {
		f := trims(from, out)
		if out.Flags&Trimmable == 0 {
			f.trim, f.lastHop = false, false
		}
		return f
	}
	var source, sink []byte
	if c.real {
		size := uint64(0)
		for _, m := range c.messages {
			size += m.Length
		}
		source, sink = make([]byte, size+1), make([]byte, size+1)
		for i := range source {
			source[i] = byte(weather.next())
		}
		p.A().Register(source)
		p.B().Register(sink)
	}
	open := func() {
		for i := range p.A().contexts {
			if i > 0 && len(p.cc[0]) >= i {
				p.cc[0][i-1].window, p.cc[0][i-1].rate, p.cc[0][i-1].keep = c.window, c.rate, false
				p.spray[0][i-1].run, p.spray[0][i-1].keep = c.run, false
				p.A().refresh(uint32(i))
			}
		}
	}
	for _, m := range c.messages {
		require.NoError(t, p.A().Send(p.now, m))
		open()
		if weather.chance(0.3) {
			p.runFor(Time(weather.below(100)) * us)
		}
	}
	p.runDone(len(c.messages))
	p.runFor(50 * ms)
	checkCase(t, p, &c, source, sink)
	return p.hash
}

func checkCase(t *testing.T, p *pair, c *swarmCase, source, sink []byte) {
	delivered := map[uint64]int{}
	for _, v := range p.events[1] {
		require.Equal(t, Delivered, v.Kind)
		delivered[v.RemoteKey]++
	}
	failed := 0
	seen := map[uint64]bool{}
	for _, v := range p.events[0] {
		require.False(t, seen[v.Cookie], "two events for one message")
		seen[v.Cookie] = true
		m := c.messages[v.Cookie]
		require.Equal(t, m.Length, v.Length)
		if v.Kind == Failed {
			failed++
			continue
		}
		if c.real {
			require.Equal(t, source[m.Offset:m.Offset+m.Length], sink[m.Offset:m.Offset+m.Length])
		} else {
			require.Equal(t, 1, delivered[m.RemoteKey])
		}
	}
	require.LessOrEqual(t, len(p.events[1]), len(c.messages))
	require.GreaterOrEqual(t, len(p.events[1]), len(c.messages)-failed)
	if c.config.RTO.MaxRetries < 0 {
		require.Zero(t, failed)
	}
	checkIdle(t, p, failed)
}

// checkIdle requires that two endpoints whose messages have all ended hold nothing.
func checkIdle(t testing.TB, p *pair, failed int) {
	a, b := p.A(), p.B()
	require.EqualValues(t, 0, a.drift)
	for i := range a.contexts {
		require.Zero(t, a.contexts[i].inFlight)
	}
	for _, m := range a.messages[1:] {
		require.Zero(t, m.length, "a message that is over keeps its slot")
	}
	require.Zero(t, a.sendRoom.used)
	require.Zero(t, a.control.count)
	require.Zero(t, b.control.count)
	require.Zero(t, b.responsesUsed)
	if failed == 0 {
		for _, m := range b.inbound[1:] {
			require.Zero(t, m.target)
		}
		require.Zero(t, b.byMessage.used)
	}
	sent := a.counters
	require.Equal(t, sent.Sent, sent.SentData+sent.SentControl)
	require.LessOrEqual(t, b.counters.Spurious, b.counters.Duplicates)
}

func TestSwarm(t *testing.T) {
	count := 400
	if testing.Short() {
		count = 50
	}
	for seed := range uint64(count) {
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) { runCase(t, seed) }) {
			return
		}
	}
}

func TestSameSeedSamePackets(t *testing.T) {
	for seed := range uint64(20) {
		require.Equal(t, runCase(t, seed), runCase(t, seed))
	}
}
