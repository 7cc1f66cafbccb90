package rocev2

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/core"
)

var (
	swarmSeed = flag.Uint64("swarm.seed", 0, "run only this seed of TestSwarm")
	swarmRuns = flag.Uint64("swarm.runs", 150, "how many seeds TestSwarm runs")
)

// A swarm is one small random case: rules, network and messages all follow from the seed.
type swarm struct {
	seed uint64
	rng  *rand.Rand
	net  *testNet
	loss float64
	what string
	sent int
	// By host: the bytes it sends from, the buffer it receives in and how far that is used, and what
	// must be there in the end.
	source, target, want [][]byte
	used                 []int
}

// TestSwarm draws everything from a seed: mode, striping, window, timers, first PSN, loss, duplication, reordering,
// marks, pauses, buffers and messages. Every message must arrive once, with the right bytes in the right place,
// everything must be quiet afterwards, and the books must balance. To repeat a failure: -swarm.seed=N.
func TestSwarm(t *testing.T) {
	if *swarmSeed != 0 {
		newSwarm(t, *swarmSeed).run(t)
		return
	}
	for seed := uint64(1); seed <= *swarmRuns; seed++ {
		s := newSwarm(t, seed)
		if !t.Run(s.what, s.run) {
			t.Fatalf("repeat with: go test ./compare/rocev2 -run TestSwarm -swarm.seed=%d", seed)
		}
	}
}

func newSwarm(t testing.TB, seed uint64) *swarm {
	s := &swarm{seed: seed, rng: rand.New(rand.NewPCG(seed, 77))}
	mode, loss := Modes[s.rng.IntN(len(Modes))], Losses[s.rng.IntN(len(Losses))]
	c, err := Preset(mode, loss, Env{LineRateBps: 100e9, BaseRTT: 10 * us, PayloadMTU: testMTU, WireMTU: testMTU + 100,
		Seed: seed, Data: dataCl, Control: ctlCl, Lossless: s.coin(2)})
	require.NoError(t, err)
	s.vary(&c)
	s.what = fmt.Sprintf("seed=%d,mode=%s,loss=%s,qps=%d", seed, mode, loss, c.QPs)
	s.net = newNet(t, 2+s.rng.IntN(3), c)
	s.net.fate = s.fates()
	for range s.net.hosts {
		s.source = append(s.source, pattern(40_000, byte(s.rng.Uint32())))
		s.target = append(s.target, make([]byte, 200_000))
		s.want = append(s.want, make([]byte, 200_000))
	}
	s.used = make([]int, len(s.net.hosts))
	real := s.coin(2)
	for k, h := range s.net.hosts {
		if real {
			h.Register(s.source[k])
			h.Register(s.target[k])
		}
	}
	for k := 2 + s.rng.IntN(12); k > 0; k-- {
		s.message(real)
	}
	return s
}

// coin is true once in n times.
func (s *swarm) coin(n int) bool { return s.rng.IntN(n) == 0 }

func (s *swarm) vary(c *Config) {
	c.QPs = 1 + s.rng.IntN(4)
	if s.coin(3) {
		c.FirstPSN = 0xFFFFFF - wire.PSN(s.rng.IntN(40))
	}
	if s.coin(3) {
		c.MaxOutstanding = 1 + s.rng.IntN(30)
	}
	if s.coin(3) && c.Placement == OutOfOrder {
		c.ReorderWindow = 1 + s.rng.IntN(200)
	}
	if s.coin(3) {
		c.AckReqEvery, c.AckEvery = 1+s.rng.IntN(40), s.rng.IntN(20)
	}
	c.Timeout, c.AdaptiveFirst = 300*us, 0
	if s.coin(3) {
		c.AdaptiveFirst = 50 * us
	}
	c.RetryCount, c.RetryFor = -1, 0
}

// fates draws what the network does: it loses, doubles, delays, marks and damages packets of any kind.
func (s *swarm) fates() func(*core.Packet, *wire.Header) fate {
	pick := func(most float64) float64 {
		if s.coin(2) {
			return 0
		}
		return most * s.rng.Float64()
	}
	loss, twice, mark, corrupt, late := pick(0.1), pick(0.1), pick(0.5), pick(0.05), pick(0.3)
	s.loss = loss + corrupt
	rng := rand.New(rand.NewPCG(s.seed, 78))
	return func(p *core.Packet, h *wire.Header) (f fate) {
		f.drop = rng.Float64() < loss
		f.twice = rng.Float64() < twice
		f.mark = rng.Float64() < mark && p.ECN == core.ECT0
		f.corrupt = rng.Float64() < corrupt
		if rng.Float64() < late {
			f.late = Time(rng.Int64N(int64(8 * us)))
		}
		return f
	}
}

// message sends a random message between two hosts. Each has a place of its own.
func (s *swarm) message(real bool) {
	from := s.rng.IntN(len(s.net.hosts))
	to := (from + 1 + s.rng.IntN(len(s.net.hosts)-1)) % len(s.net.hosts)
	length := []int{0, 1, testMTU, testMTU + 1, s.rng.IntN(12_000), s.rng.IntN(300)}[s.rng.IntN(6)]
	place, offset := s.used[to], s.rng.IntN(20_000)
	s.used[to] += length
	m := core.Message{Length: uint64(length), RemoteKey: 2, RemoteOffset: uint64(place), Cookie: uint64(s.sent)}
	if real {
		m.Buffer, m.Offset = 1, uint64(offset)
		copy(s.want[to][place:], s.source[from][offset:offset+length])
	}
	s.net.send(from, to, m)
	s.sent++
}

func (s *swarm) run(t *testing.T) {
	n := s.net
	n.t = t
	for k := s.rng.IntN(4); k > 0; k-- { // pauses of either class
		n.run(n.now + Time(s.rng.Int64N(int64(30*us))))
		s.audit(t)
		n.closed = core.ClassMask(1) << s.rng.IntN(2)
		n.run(n.now + Time(s.rng.Int64N(int64(100*us))))
		s.audit(t)
		n.closed = 0
	}
	n.run(forever)
	s.check(t)
}

func (s *swarm) audit(t *testing.T) {
	for _, h := range s.net.hosts {
		require.NoError(t, h.Audit())
	}
}

func (s *swarm) check(t *testing.T) {
	s.audit(t)
	n := s.net
	n.quiet()
	var sum core.Counters
	completed, delivered := 0, 0
	for k, h := range n.hosts {
		completed += len(n.kind(k, core.Completed))
		delivered += len(n.kind(k, core.Delivered))
		require.Empty(t, n.kind(k, core.Failed))
		require.Equal(t, s.want[k], s.target[k], "bytes of host %d", k)
		c := h.Counters()
		require.Equal(t, c.Sent, c.SentData+c.SentControl)
		sum.Add(c)
	}
	require.Equal(t, s.sent, completed)
	require.Equal(t, s.sent, delivered)
	require.Equal(t, sum.MessagesSent, uint64(completed))
	require.Equal(t, sum.MessagesGot, uint64(delivered))
	require.Equal(t, sum.SentData-sum.Retransmits, sum.Delivered, "each packet counts as delivered once")
	if s.loss == 0 {
		require.Zero(t, sum.CorruptDropped)
	}
}

// hash digests everything that a run showed: counters, events and their times.
func (s *swarm) hash() uint64 {
	d := fnv.New64a()
	for k, h := range s.net.hosts {
		fmt.Fprintf(d, "%+v %+v\n", h.Counters(), s.net.events[k])
	}
	return d.Sum64()
}

// The same seed gives the same run, to the picosecond.
func TestDeterminism(t *testing.T) {
	for seed := uint64(1000); seed < 1010; seed++ {
		var hashes [2]uint64
		for k := range hashes {
			s := newSwarm(t, seed)
			s.run(t)
			hashes[k] = s.hash()
		}
		require.Equal(t, hashes[0], hashes[1], "seed %d", seed)
	}
}
