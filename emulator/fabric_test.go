package emulator

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/core"
)

// A sender is the simplest Stack: it sends count packets to one host as fast as its card takes them,
// on random entropy values, and counts what it gets.
type sender struct {
	self, to  core.Addr
	count     int
	payload   uint32
	window    int // packets not acknowledged; 0: no limit
	trimmable bool
	oneEV     bool // all packets have the same entropy value
	class     core.Class
	rand      rng

	sent, acked  int
	acksDue      int
	got, trimmed int
	gotBytes     uint64
	marked       int
	corrupt      int
	from         core.Addr
	first, last  Time
	ackClass     core.Class
}

func (s *sender) HandlePacket(now Time, p *core.Packet) {
	if p.Header[0] == 'A' {
		s.acked += int(p.Header[1])
		return
	}
	if s.got == 0 {
		s.first = now
	}
	s.last = now
	s.got++
	s.gotBytes += uint64(p.Payload.Length)
	if p.ECN == core.CE {
		s.marked++
	}
	if p.Flags&core.WasTrimmed != 0 {
		s.trimmed++
	}
	if p.Flags&core.Corrupt != 0 {
		s.corrupt++
	}
	s.from = p.From
	if p.Header[1] == 'w' {
		s.acksDue++
	}
}
func (s *sender) HandleTimeout(Time) {}
func (s *sender) Deadline() Time     { return Never }
func (s *sender) Transmit(now Time, pull core.Pull, p *core.Packet) bool {
	if s.acksDue >= 4 {
		*p = core.Packet{From: s.self, To: s.from, Class: s.ackClass, Proto: core.ProtoTest, HeaderLen: 12, EV: uint16(s.rand.next())}
		p.Header[0], p.Header[1] = 'A', 4
		s.acksDue -= 4
		return true
	}
	if s.sent >= s.count || !pull.Open.Has(s.class) || s.window > 0 && s.sent-s.acked >= s.window {
		return false
	}
	s.sent++
	p.From, p.To, p.Class, p.Proto, p.HeaderLen = s.self, s.to, s.class, core.ProtoTest, 12
	p.EV, p.ECN, p.Flags = uint16(s.rand.next()), core.ECT0, 0
	if s.oneEV {
		p.EV = 77
	}
	p.Payload = core.Payload{Length: s.payload}
	p.Header[0], p.Header[1] = 'D', 0
	if s.window > 0 {
		p.Header[1] = 'w'
	}
	if s.trimmable {
		p.Flags = core.Trimmable
	}
	return true
}

func build(t testing.TB, topology string, params map[string]string, s Spec) *Network {
	t.Helper()
	make, _, err := Topologies.Make(topology, params)
	require.NoError(t, err)
	n, err := make(s)
	require.NoError(t, err)
	return n
}

// attachSenders gives every host an idle sender and returns them.
func attachSenders(f *Fabric) []*sender {
	all := make([]*sender, f.Network().Hosts)
	for h := range all {
		all[h] = &sender{self: core.Addr(h), payload: 4096 - 12, rand: rng{derive(7, uint64(h))}}
		f.Attach(h, all[h], core.ProtoTest, 1)
	}
	return all
}

func run(t testing.TB, f *Fabric, until Time) {
	t.Helper()
	require.NoError(t, f.Run(context.Background(), until))
	require.NoError(t, f.Audit())
}

const us = 1_000_000 // picoseconds

var hundredGig = Spec{Hosts: 16, RateBps: 100e9, LinkDelay: 1 * us}

func onlyData() []Class { return []Class{{Name: "data"}} }

func TestOneFlowTakesSerialisationAndPropagation(t *testing.T) {
	n := build(t, "fattree", nil, hundredGig)
	f, err := New(n, Config{Classes: onlyData(), LinkOverhead: 64})
	require.NoError(t, err)
	s := attachSenders(f)
	s[0].to, s[0].count = 15, 100
	f.Wake(0)
	run(t, f, Never-1)
	// 4160 bytes last 332.8 ns; six links, each stores and forwards.
	const packet, hops = 332_800, 6
	require.Equal(t, Time(hops*(packet+us)), s[15].first)
	require.Equal(t, Time(hops*(packet+us)+99*packet), s[15].last)
	require.Equal(t, 100, s[15].got)
}

func TestSmallPacketsArePadded(t *testing.T) {
	n := build(t, "single", nil, hundredGig)
	for _, c := range []struct{ least, wire Time }{{0, 40}, {64, 64}, {2000, 2000}} {
		f, err := New(n, Config{Classes: onlyData(), LinkOverhead: 20, MinWireBytes: int64(c.least)})
		require.NoError(t, err)
		s := attachSenders(f)
		s[0].to, s[0].count, s[0].payload = 1, 1, 8
		f.Wake(0)
		run(t, f, Never-1)
		require.Equal(t, 2*(c.wire*80+us), s[1].first)
	}
}

func TestIncastSharesTheLastLink(t *testing.T) {
	n := build(t, "leafspine", map[string]string{"leaves": "4"}, hundredGig)
	f, err := New(n, Config{Classes: onlyData(), LinkOverhead: 64, BufferBytes: 64 << 20})
	require.NoError(t, err)
	s := attachSenders(f)
	for h := 4; h < 12; h++ {
		s[h].to, s[h].count = 0, 50
		f.Wake(h)
	}
	run(t, f, Never-1)
	require.Equal(t, 400, s[0].got)
	busy := s[0].last - s[0].first
	require.InEpsilon(t, float64(399*332_800), float64(busy), 0.001, "the last link never rests")
}

func TestTailDropIsCounted(t *testing.T) {
	n := build(t, "single", nil, hundredGig)
	f, err := New(n, Config{Classes: []Class{{Name: "data", QueueBytes: 10 * 4160}}, LinkOverhead: 64})
	require.NoError(t, err)
	s := attachSenders(f)
	for h := 1; h < 5; h++ {
		s[h].to, s[h].count = 0, 100
		f.Wake(h)
	}
	run(t, f, Never-1)
	require.Equal(t, uint64(400-s[0].got), f.Totals().Dropped[DropQueue])
	require.Greater(t, f.Totals().Dropped[DropQueue], uint64(200))
	link := n.LinkNamed("switch0-h0")
	require.LessOrEqual(t, f.Port(link).MaxQueue, int64(10*4160))
}

func trimClasses() []Class {
	return []Class{
		{Name: "data", QueueBytes: 10 * 4160, Trim: true, TrimBytes: 64, TrimInto: 1, TrimTail: true, ECNMin: 2 * 4160, ECNMax: 8 * 4160, ECNP: 1},
		{Name: "trimmed", Priority: 1, MaxShare: 0.25, QueueBytes: 4 * 4160},
	}
}

func TestTrimmingKeepsEveryHeader(t *testing.T) {
	n := build(t, "single", nil, hundredGig)
	f, err := New(n, Config{Classes: trimClasses(), LinkOverhead: 64})
	require.NoError(t, err)
	s := attachSenders(f)
	for h := 1; h < 5; h++ {
		s[h].to, s[h].count, s[h].trimmable = 0, 100, true
		f.Wake(h)
	}
	run(t, f, Never-1)
	require.Equal(t, 400, s[0].got, "nothing is lost, some is trimmed")
	require.Greater(t, s[0].trimmed, 200)
	require.Greater(t, s[0].marked, 50)
	require.Equal(t, uint64(400-s[0].trimmed)*(4096-12), s[0].gotBytes)
}

func TestCappedClassGetsItsShareAndNoMore(t *testing.T) {
	n := build(t, "single", nil, hundredGig)
	classes := []Class{{Name: "data"}, {Name: "trimmed", Priority: 1, MaxShare: 0.25}}
	f, err := New(n, Config{Classes: classes, LinkOverhead: 64, BufferBytes: 64 << 20})
	require.NoError(t, err)
	s := attachSenders(f)
	s[1].to, s[1].count = 0, 400
	s[2].to, s[2].count, s[2].class = 0, 400, 1
	f.Wake(1)
	f.Wake(2)
	require.NoError(t, f.Run(context.Background(), 200*332_800))
	link := n.LinkNamed("switch0-h0")
	capped := float64(f.queues[link*2+1].bytes) // what waits of it
	data := float64(f.queues[link*2].bytes)
	// 200 packet times in: each sender offered about 197; 3/4 of what left was data.
	require.InDelta(t, 0.25, (197-capped/4160)/(2*197-capped/4160-data/4160), 0.02)
}

func TestPFCLosesNothingAndPausesTheSource(t *testing.T) {
	for _, static := range []int64{0, 12 * 4160} {
		n := build(t, "leafspine", map[string]string{"leaves": "4"}, hundredGig)
		f, err := New(n, Config{Classes: []Class{{Name: "lossless", FlowControl: PFC, Alpha: 0.125, XOFF: static}}, LinkOverhead: 64, BufferBytes: 8 << 20})
		require.NoError(t, err)
		s := attachSenders(f)
		for h := 1; h < 16; h++ {
			s[h].to, s[h].count = 0, 2000
			f.Wake(h)
		}
		run(t, f, Never-1)
		require.Equal(t, 15*2000, s[0].got)
		require.Zero(t, f.Totals().Dropped[DropQueue])
		var pauses uint64
		for l := range n.Links {
			pauses += f.Port(l).PauseFrames
		}
		require.Greater(t, pauses, uint64(10))
		used, size := f.BufferPeak()
		require.LessOrEqual(t, used, size)
	}
}

func TestCreditsLoseNothing(t *testing.T) {
	n := build(t, "leafspine", map[string]string{"leaves": "4"}, hundredGig)
	f, err := New(n, Config{Classes: []Class{{Name: "credit", FlowControl: Credit}}, LinkOverhead: 64, BufferBytes: 8 << 20})
	require.NoError(t, err)
	s := attachSenders(f)
	for h := 1; h < 16; h++ {
		s[h].to, s[h].count = 0, 500
		f.Wake(h)
	}
	run(t, f, Never-1)
	require.Equal(t, 15*500, s[0].got)
	require.InEpsilon(t, float64(15*500*332_800), float64(s[0].last), 0.01, "the last link never rests")
}

func TestRandomLossIsAsAskedAndCommon(t *testing.T) {
	lostAt := func(payload uint32) (lost uint64) {
		n := build(t, "single", nil, hundredGig)
		f, err := New(n, Config{Classes: onlyData(), LinkOverhead: 64})
		require.NoError(t, err)
		s := attachSenders(f)
		f.SetLoss(n.LinkNamed("switch0-h0"), Loss{Random: 0.01})
		s[1].to, s[1].count, s[1].payload = 0, 100_000, payload
		f.Wake(1)
		run(t, f, Never-1)
		require.Equal(t, uint64(100_000-s[0].got), f.Totals().Dropped[DropRandom])
		return f.Totals().Dropped[DropRandom]
	}
	require.InDelta(t, 1000, float64(lostAt(4096-12)), 100)
	require.InDelta(t, 500, float64(lostAt(2048-44)), 70, "half the size, half the risk")
}

func TestEveryNth(t *testing.T) {
	n := build(t, "single", nil, hundredGig)
	f, err := New(n, Config{Classes: onlyData(), LinkOverhead: 64})
	require.NoError(t, err)
	s := attachSenders(f)
	f.SetLoss(n.LinkNamed("switch0-h0"), Loss{Every: 100, Corrupt: 0.02})
	s[1].to, s[1].count = 0, 10_000
	f.Wake(1)
	run(t, f, Never-1)
	require.Equal(t, 9900, s[0].got)
	require.Equal(t, uint64(s[0].corrupt), f.Totals().Corrupted)
	require.InDelta(t, 198, float64(s[0].corrupt), 50)
}

func TestBurstLossComesInBursts(t *testing.T) {
	n := build(t, "single", nil, hundredGig)
	f, err := New(n, Config{Classes: onlyData(), LinkOverhead: 64})
	require.NoError(t, err)
	s := attachSenders(f)
	f.SetLoss(n.LinkNamed("switch0-h0"), Loss{Burst: Burst{MeanGood: 99 * us, MeanBad: 1 * us, LossBad: 1}})
	s[1].to, s[1].count = 0, 300_000
	f.Wake(1)
	run(t, f, Never-1)
	require.InDelta(t, 3000, float64(f.Totals().Dropped[DropRandom]), 600)
}

// A restless Stack has a Deadline that never moves on, whatever it is told.
type restless struct{ sender }

func (*restless) Deadline() Time { return us }

func TestADeadlineThatStaysBehindEndsTheRun(t *testing.T) {
	f, err := New(build(t, "single", nil, hundredGig), Config{Classes: onlyData(), LinkOverhead: 64})
	require.NoError(t, err)
	f.Attach(1, &restless{}, core.ProtoUET, 1)
	require.EqualError(t, f.Run(t.Context(), Never-1),
		"at 1us: hosts were woken 1049601 times in one instant, the last of them host 1, and the Deadline of its Stack is still not later")
}

func TestExponentialHasMeanOne(t *testing.T) {
	r := stream(3)
	sum := 0.0
	for range 100_000 {
		sum += exponential(r.next())
	}
	require.InDelta(t, 1, sum/100_000, 0.015)
}

func TestLinkDownLosesUntilRerouted(t *testing.T) {
	for _, c := range []struct {
		name        string
		local, all  Time
		wantAtMost  uint64
		wantAtLeast uint64
	}{
		{"never", Never, Never, 9000, 1000},
		{"locally after 20us", 20 * us, Never, 200, 5},
		{"everywhere after 50us", Never, 50 * us, 400, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := build(t, "leafspine", map[string]string{"leaves": "4"}, hundredGig)
			f, err := New(n, Config{Classes: onlyData(), LinkOverhead: 64, RerouteLocal: c.local, RerouteAll: c.all, BufferBytes: 64 << 20})
			require.NoError(t, err)
			s := attachSenders(f)
			for h := range 4 {
				s[h].to, s[h].count = core.Addr(h+12), 5000
				f.Wake(h)
			}
			down := n.LinkNamed("leaf0-spine1")
			require.NoError(t, f.Schedule(Fault{Kind: LinkDown, Links: []int{down, int(n.Links[down].Reverse)}, At: 100 * us}))
			run(t, f, Never-1)
			lost := f.Totals().Dropped[DropFault]
			require.GreaterOrEqual(t, lost, c.wantAtLeast)
			require.LessOrEqual(t, lost, c.wantAtMost)
		})
	}
}

func TestSlowLinkAndFlap(t *testing.T) {
	n := build(t, "single", nil, hundredGig)
	f, err := New(n, Config{Classes: onlyData(), LinkOverhead: 64, BufferBytes: 64 << 20})
	require.NoError(t, err)
	s := attachSenders(f)
	s[1].to, s[1].count = 0, 1000
	f.Wake(1)
	slow := n.LinkNamed("switch0-h0")
	require.NoError(t, f.Schedule(Fault{Kind: SlowLink, Links: []int{slow}, At: 0, Factor: 0.5}))
	require.NoError(t, f.Schedule(Fault{Kind: LinkDown, Links: []int{n.LinkNamed("switch0-h3")}, At: us, For: us, Every: 5 * us, Count: 3}))
	run(t, f, Never-1)
	require.InEpsilon(t, float64(1000*665_600), float64(s[0].last), 0.01)
	require.ErrorContains(t, f.Schedule(Fault{Kind: SlowLink}), "factor")
	require.ErrorContains(t, f.Schedule(Fault{Links: []int{99}}), "links 0 to")
}

// TestRunsRepeat compares the state hash of two equal runs, and of one with another seed.
func TestRunsRepeat(t *testing.T) {
	once := func(seed uint64) uint64 {
		n := build(t, "fattree", nil, hundredGig)
		f, err := New(n, Config{Classes: trimClasses(), LinkOverhead: 64, Seeds: Seeds{Salt: seed, Loss: 2, Mark: 3}})
		require.NoError(t, err)
		s := attachSenders(f)
		for h := range s {
			s[h].to, s[h].count, s[h].trimmable = core.Addr((h+5)%16), 200, true
			f.Wake(h)
		}
		run(t, f, Never-1)
		return f.Hash()
	}
	require.Equal(t, once(1), once(1))
	require.NotEqual(t, once(1), once(2))
}

func TestTopologiesHaveTheirCounts(t *testing.T) {
	for _, c := range []struct {
		topology        string
		params          map[string]string
		hosts           int
		over            float64
		switches, links int
		err             string
	}{
		{"fattree", nil, 128, 0, 32 + 32 + 16, 2 * (128 * 3), ""},
		{"fattree", nil, 1024, 0, 128 + 128 + 64, 2 * (1024 * 3), ""},
		{"fattree", map[string]string{"tiers": "2"}, 32, 0, 8 + 4, 2 * 64, ""},
		{"fattree", nil, 128, 4, 32 + 8 + 4, 2 * (128 + 32 + 32), ""},
		{"fattree", nil, 32, 0, 8 + 8 + 16, 2 * (32 * 3), ""},
		{"fattree", nil, 31, 0, 0, 0, "expected a multiple of 3"},
		{"fattree", map[string]string{"radix": "4"}, 128, 0, 0, 0, "room for 16 hosts"},
		{"leafspine", map[string]string{"leaves": "4"}, 16, 2, 4 + 2, 2 * (16 + 8), ""},
		{"leafspine", map[string]string{"leaves": "3"}, 16, 0, 0, 0, "do not divide"},
		{"leafspine", map[string]string{"leaves": "4"}, 16, 3, 0, 0, "does not divide"},
		{"single", nil, 5, 0, 1, 10, ""},
		{"single", nil, 1, 0, 0, 0, "at least 2 hosts"},
		{"dumbbell", nil, 4, 0, 2, 10, ""},
		{"dumbbell", nil, 3, 0, 0, 0, "even number"},
	} {
		make, _, err := Topologies.Make(c.topology, c.params)
		require.NoError(t, err)
		n, err := make(Spec{Hosts: c.hosts, RateBps: 1e9, Oversubscription: c.over})
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.switches, n.Switches, "%s %v", c.topology, c.params)
		require.Equal(t, c.links, len(n.Links), "%s %v", c.topology, c.params)
		require.Len(t, n.NodeNames, n.Hosts+n.Switches)
	}
}

func TestNewRefuses(t *testing.T) {
	n := build(t, "single", nil, hundredGig)
	_, err := New(n, Config{})
	require.ErrorContains(t, err, "1 to 8 classes")
	_, err = New(n, Config{Classes: []Class{{Name: "x"}}, MaxWireBytes: 1 << 16})
	require.EqualError(t, err, "packets of 65536 bytes on the wire; expected at most 65280")
	_, err = New(n, Config{Classes: []Class{{Name: "x", FlowControl: PFC, XOFF: 1 << 30}}, LinkOverhead: 64})
	require.ErrorContains(t, err, "lossless classes need")
}

// What a host may not send ends the run, with who sent what.
func TestPacketsThatCannotBeSent(t *testing.T) {
	for want, spoil := range map[string]func(*sender){
		"host 1 sends from 1 to 2 in class 5; expected itself, and hosts below 4 and classes below 1": func(s *sender) { s.class = 5 },
		"host 1 sends from 1 to 9 in class 0; expected itself, and hosts below 4 and classes below 1": func(s *sender) { s.to = 9 },
		"host 1 sends from 3 to 2 in class 0; expected itself, and hosts below 4 and classes below 1": func(s *sender) { s.self = 3 },
		"host 1 sends 70012 bytes on the wire to 2 in one packet; expected at most 4160":              func(s *sender) { s.payload = 70_000 },
	} {
		f, err := New(build(t, "single", nil, Spec{Hosts: 4, RateBps: 100e9, LinkDelay: us}), Config{Classes: onlyData()})
		require.NoError(t, err)
		s := attachSenders(f)[1]
		s.to, s.count = 2, 1
		spoil(s)
		f.Wake(1)
		require.EqualError(t, f.Run(context.Background(), Never), "at 0ps: "+want)
		require.NoError(t, f.Audit(), "the packet is back")
	}
}

// BenchmarkPermutation measures the fabric alone: 1024 hosts, a window of 54 packets, one
// acknowledgement for four packets.
func BenchmarkPermutation(b *testing.B) {
	n := build(b, "fattree", nil, Spec{Hosts: 1024, RateBps: 100e9, LinkDelay: us})
	b.ReportAllocs()
	var transmissions uint64
	for b.Loop() {
		f, err := New(n, Config{Classes: []Class{{Name: "data", QueueBytes: 36 * 4160}, {Name: "ack", Priority: 1}}, LinkOverhead: 64})
		require.NoError(b, err)
		s := attachSenders(f)
		for h := range s {
			s[h].to, s[h].count, s[h].window, s[h].ackClass = core.Addr((h*37+111)%1024), 200, 54, 1
			f.Wake(h)
		}
		require.NoError(b, f.Run(context.Background(), Never-1))
		transmissions += f.Totals().Transmissions
	}
	b.ReportMetric(float64(transmissions)/b.Elapsed().Seconds()/1e6, "Mtx/s")
}

// A reader keeps the telemetry of the packets that reach it.
type reader struct {
	sender
	fabric *Fabric
	hops   [][]core.Hop
}

func (r *reader) HandlePacket(now Time, p *core.Packet) {
	r.hops = append(r.hops, append([]core.Hop(nil), r.fabric.Hops(p.Telemetry)...))
	r.sender.HandlePacket(now, p)
}

func TestTelemetryReportsEveryHop(t *testing.T) {
	n := build(t, "fattree", nil, hundredGig)
	f, err := New(n, Config{Classes: []Class{{Name: "data", Telemetry: true}}, LinkOverhead: 64, BufferBytes: 64 << 20})
	require.NoError(t, err)
	s := attachSenders(f)
	end := &reader{fabric: f}
	f.hosts[15].only = end
	for h := range 4 {
		s[h].to, s[h].count = 15, 50
		f.Wake(h)
	}
	run(t, f, Never-1)
	require.Len(t, end.hops, 200)
	queued := int64(0)
	for _, hops := range end.hops {
		require.Len(t, hops, 5, "five switches between the pods")
		last := hops[4]
		require.Equal(t, int64(100e9), last.RateBps)
		for i := 1; i < len(hops); i++ {
			require.Greater(t, hops[i].Stamp, hops[i-1].Stamp)
		}
		queued = max(queued, last.QueueBytes)
	}
	require.Greater(t, queued, int64(4160), "the last link was shared")
	require.Equal(t, uint64(200*(4160+5*HopBytes)), f.Port(n.LinkNamed("tor7-h15")).Bytes, "reports weigh something")
	require.Len(t, f.notes.reports, 1+countFree(f), "every report was given back")
}

func countFree(f *Fabric) (n int) {
	for h := f.notes.unused; h != 0; h = f.notes.reports[h].next {
		n++
	}
	return n
}
