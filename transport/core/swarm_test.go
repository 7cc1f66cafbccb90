package core

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/splitmix"
)

// A swarmCase is a small run drawn from a seed: configuration, weather and messages, both ways.
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
	dark     [2]Time // nothing gets through between these instants
	messages [2][]Message
	bad      [2]map[uint64]bool // cookies of messages that must be refused
	real     bool
	run      int
}

func (r *random) chance(p float64) bool     { return float64(r.next()>>11)/(1<<53) < p }
func (r *random) below(n int) int           { return int(r.next() % uint64(n)) }
func pick[T any](r *random, choices ...T) T { return choices[r.below(len(choices))] }

func drawCase(seed uint64) *swarmCase {
	r := random(seed)
	c := &swarmCase{config: base()}
	g := &c.config
	g.Seed = seed
	g.PayloadMTU = pick(&r, 256, 1024, 4096)
	g.PDCs = pick(&r, 1, 1, 1, 3)
	g.MPR = pick(&r, 1, 2, 8, 255)
	g.Trimming = r.chance(0.5)
	g.RTO = pick(&r, RTOConfig{Init: 60 * us, Max: ms, MaxRetries: -1}, RTOConfig{Adaptive: true, Floor: 40 * us, Max: ms, MaxRetries: -1},
		RTOConfig{Init: 100 * us, Max: ms, MaxRetries: 3})
	g.FastLoss.On = r.chance(0.5)
	g.FastLoss.Rule = LossRule(r.below(3))
	g.TailProbe.On = r.chance(0.3)
	g.ACK.PerPacket = r.chance(0.2)
	g.ACK.IgnoreCE = r.chance(0.2)
	g.ClearTime = 30 * us
	g.NACK = NACKConfig{RetxTime: 50 * us, MaxRetries: -1}
	g.IdleClose = pick[Time](&r, 0, 0, 50*us)
	g.TargetIdle = pick[Time](&r, 0, 50*ms)
	g.SegmentLifetime = 100 * us
	g.StartPSN = pick[uint32](&r, 0, 0, 1<<32-20)
	g.MaxTargets = pick(&r, 0, 0, 0, 2)
	g.MaxResponses = pick(&r, 0, 0, 3)
	c.window = pick[int64](&r, 2_000, 20_000, 150_000, 1_000_000)
	c.rate = pick[int64](&r, 0, 0, 10e9)
	c.run = pick(&r, 1, 1, 4)
	c.drawWeather(&r)
	c.real = r.chance(0.6)
	for end := range 1 + r.below(2) {
		c.drawMessages(&r, end)
	}
	return c
}

func (c *swarmCase) drawWeather(r *random) {
	bad := pick(r, 0, 0.01, 0.1, 0.3)
	for end := range 2 {
		c.loss[end] = bad * pick(r, 0, 0.5, 1)
	}
	c.trim, c.copy, c.corrupt = bad*pick(r, 0, 1.0), bad*pick(r, 0, 1.0), bad*pick(r, 0, 0.3)
	c.mark = pick(r, 0, 0.1, 1)
	c.late, c.lateness = pick(r, 0, 0.2, 0.9), pick[Time](r, 2*us, 20*us, 120*us)
	if r.chance(0.2) {
		c.dark[0] = Time(r.below(100)) * us
		c.dark[1] = c.dark[0] + Time(r.below(400))*us
	}
}

func (c *swarmCase) drawMessages(r *random, end int) {
	mode := pick(r, RUD, RUD, ROD)
	at := uint64(0)
	c.bad[end] = map[uint64]bool{}
	for i := range uint64(1 + r.below(12)) {
		m := Message{To: Addr(2 - end), Mode: mode, Length: uint64(r.below(pick(r, 1, 300, 5_000, 60_000))), Cookie: i, RemoteKey: 1000 + i}
		if r.chance(0.2) {
			m.Mode = ROD
		}
		if c.real {
			m.Buffer, m.Offset, m.RemoteKey, m.RemoteOffset = 2, at, 1, at
		}
		if r.chance(0.1) {
			c.bad[end][i] = true
			m.Length = min(m.Length, 3000)
			m.RemoteKey, m.RemoteOffset = 1, 1<<40
		}
		at += m.Length
		c.messages[end] = append(c.messages[end], m)
	}
}

// fates is the weather as a hook.
func (c *swarmCase) fates(p *pair, weather *random) func(int, *Packet) fate {
	return func(from int, out *Packet) (f fate) {
		f.drop = weather.chance(c.loss[from]) || p.now > c.dark[0] && p.now < c.dark[1]
		f.trim = weather.chance(c.trim) && out.Flags&Trimmable != 0
		f.lastHop = f.trim && weather.chance(0.5)
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
}

// setControllers gives every controller and sprayer that has come up the case's settings.
func (c *swarmCase) setControllers(p *pair) {
	for end, e := range p.ends {
		for k := range p.cc[end] {
			p.cc[end][k].window, p.cc[end][k].rate, p.cc[end][k].keep = c.window, c.rate, false
			p.spray[end][k].run, p.spray[end][k].keep = c.run, false
			e.refresh(uint32(k + 1))
		}
	}
}

// runCase plays a case and checks everything that must hold. It returns a hash of all packets.
func runCase(t *testing.T, seed uint64) uint64 {
	c := drawCase(seed)
	p := newPair(t, c.config, nil)
	weather := random(splitmix.Mix(seed))
	p.fates = c.fates(p, &weather)
	var memory [2][2][]byte // source and sink of each end
	size := 1
	for end := range 2 {
		for _, m := range c.messages[end] {
			size += int(m.Length)
		}
	}
	for end, e := range p.ends {
		memory[end] = [2][]byte{make([]byte, size), make([]byte, size)}
		for i := range memory[end][0] {
			memory[end][0][i] = byte(weather.next())
		}
		e.Register(memory[end][1]) // key 1: what the peer writes to
		e.Register(memory[end][0]) // buffer 2: what is sent
	}
	total := [2]int{}
	for k := range max(len(c.messages[0]), len(c.messages[1])) {
		for end, e := range p.ends {
			if k < len(c.messages[end]) {
				require.NoError(t, e.Send(p.now, c.messages[end][k]))
				c.setControllers(p)
				total[end]++
			}
		}
		if weather.chance(0.3) {
			p.runFor(Time(weather.below(100)) * us)
		}
	}
	until := p.now + 1000*ms
	for p.sentDone(0) < total[0] || p.sentDone(1) < total[1] {
		require.True(t, p.step(until), "messages that never end")
	}
	for range 3 { // the last packets, the closing, and what that leaves
		p.runFor(200 * us)
		for p.A().sendRoom.used+p.B().sendRoom.used > 0 {
			require.True(t, p.step(until), "contexts that never come to rest")
		}
	}
	failed := 0
	for end := range 2 {
		failed += checkMessages(t, p, c, end, memory[end][0], memory[1-end][1])
	}
	checkIdle(t, p, failed)
	return p.hash
}

// sentDone counts the messages of one end that have ended.
func (p *pair) sentDone(end int) (n int) {
	for _, v := range p.events[end] {
		if v.Kind != Delivered {
			n++
		}
	}
	return n
}

// checkMessages requires that every message of one end has ended once, was delivered once if it
// completed, with the right bytes, and at most once if it failed. It returns how many failed.
func checkMessages(t *testing.T, p *pair, c *swarmCase, end int, source, sink []byte) (failed int) {
	delivered, seen := map[uint64]int{}, map[uint64]bool{}
	arrived, good := 0, 0
	for _, v := range p.events[1-end] {
		if v.Kind == Delivered {
			delivered[v.RemoteKey]++
			arrived++
		}
	}
	for _, v := range p.events[end] {
		if v.Kind == Delivered {
			continue
		}
		require.False(t, seen[v.Cookie], "two events for one message")
		seen[v.Cookie] = true
		m := c.messages[end][v.Cookie]
		require.Equal(t, m.Length, v.Length)
		switch {
		case v.Kind == Failed:
			failed++
			require.True(t, c.bad[end][v.Cookie] || c.config.RTO.MaxRetries >= 0, "%v", v.Err)
		case c.bad[end][v.Cookie]:
			require.Fail(t, "a bad message completed")
		case c.real:
			good++
			require.Equal(t, source[m.Offset:m.Offset+m.Length], sink[m.RemoteOffset:m.RemoteOffset+m.Length])
		default:
			good++
			require.Equal(t, 1, delivered[m.RemoteKey])
		}
	}
	require.Len(t, seen, len(c.messages[end]))
	require.LessOrEqual(t, arrived, len(c.messages[end])-len(c.bad[end]))
	require.GreaterOrEqual(t, arrived, good)
	return failed
}

// checkIdle requires that two endpoints whose messages have all ended hold nothing.
func checkIdle(t testing.TB, p *pair, failed int) {
	t.Helper()
	for _, e := range p.ends {
		require.EqualValues(t, 0, e.drift, "byte counts that do not match what was booked")
		for i := range e.contexts {
			require.Zero(t, e.contexts[i].inFlight)
		}
		for _, m := range e.messages[1:] {
			require.Zero(t, m.chunks, "a message that is over keeps its slot")
		}
		require.Zero(t, e.sendRoom.used)
		require.Zero(t, e.control.count)
		if failed == 0 {
			require.Zero(t, e.responsesUsed)
			require.Zero(t, e.byMessage.used)
		}
		c := e.counters
		require.Equal(t, c.Sent, c.SentData+c.SentControl)
		require.LessOrEqual(t, c.Spurious, c.Duplicates)
	}
}

func TestSwarm(t *testing.T) {
	count := 400
	if testing.Short() {
		count = 100
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
