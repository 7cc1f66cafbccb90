package core

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/wire"
)

// An opSwarm is a small run drawn from a seed in which both ends do everything at once through bad weather. Every
// message has a place of its own in the memory of both ends, so that what must be there in the end can be told.
type opSwarm struct {
	t       *testing.T
	p       *pair
	r       random
	memory  [2][]byte // by end: buffer 1, keys 1 and IdempotentKey|2
	want    [2][]byte
	asked   [2][]Message
	posted  [2][]Receive
	taken   [2]map[uint64]Event
	sums    [2]uint64 // what fetching atomics of each end have added at the other
	fetched [2]map[uint64]bool
}

const opPlace = 16_000 // bytes for each message

func drawOpSwarm(t *testing.T, seed uint64, change ...func(*Config)) *opSwarm {
	s := &opSwarm{t: t, r: random(seed)}
	r := &s.r
	c := patient()
	c.Seed = seed
	c.PayloadMTU = pick(r, 256, 1024, 4096)
	c.MPR = pick(r, 1, 8)
	c.PDCs = pick(r, 1, 1, 3)
	c.Trimming = r.chance(0.4)
	c.ACK.Plain = r.chance(0.2)
	c.ACK.PerPacket = r.chance(0.2)
	c.IdleClose = pick[Time](r, 0, 0, 80*us)
	c.SegmentLifetime = 100 * us
	c.RTO.Max = ms
	c.FastLoss.On, c.TailProbe.On = r.chance(0.5), r.chance(0.3)
	c.FastLoss.Rule = LossRule(r.below(3))
	c.MaxResponses = pick(r, 0, 0, 3)
	c.MaxReadAhead = pick(r, 0, 1, 5)
	c.MaxACKData = pick(r, 0, 0, -1)
	c.Unexpected.Messages = pick(r, 0, 2, -1)
	c.Unexpected.Bytes = pick(r, 0, 300, -1)
	c.StartPSN = pick[uint32](r, 0, 1<<32-20)
	for _, f := range change {
		f(&c)
	}
	s.p = newPair(t, c, nil)
	w := &swarmCase{lateness: pick[Time](r, 2*us, 20*us, 120*us)}
	w.drawWeather(r)
	weather := random(seed ^ 0x5eed)
	s.p.fates = w.fates(s.p, &weather)
	for end, e := range s.p.ends {
		s.memory[end] = make([]byte, 40*opPlace)
		s.taken[end], s.fetched[end] = map[uint64]Event{}, map[uint64]bool{}
		e.Register(s.memory[end])
		_, _, err := e.RegisterRegion(Region{Bytes: s.memory[end], Access: RemoteRead | RemoteWrite | Idempotent})
		require.NoError(t, err)
	}
	return s
}

// Places: the first quarter of memory is sent from and read from, the second written and read to, the third received
// to, and the first word of the fourth is for atomics.
func (s *opSwarm) from(i int) uint64 { return uint64(i) * opPlace }
func (s *opSwarm) to(i int) uint64   { return uint64(10+i) * opPlace }
func (s *opSwarm) rec(i int) uint64  { return uint64(20+i) * opPlace }

const opCounter = 30 * opPlace

// draw makes the i-th message of an end, and the receive that it needs.
func (s *opSwarm) draw(end, i int) {
	r := &s.r
	m := Message{To: Addr(2 - end), Mode: pick(r, RUD, RUD, ROD), Buffer: 1, Offset: s.from(i), Cookie: uint64(i), RemoteKey: 1, RemoteOffset: s.to(i),
		Length: uint64(r.below(pick(r, 1, 17, 300, 5000, opPlace)))}
	switch r.below(8) {
	case 0:
	case 1:
		m.Flags, m.Data = WithData, r.next()
	case 2:
		m.Op, m.Offset, m.RemoteOffset = OpRead, s.to(i), s.from(i)
	case 3:
		m.Op, m.Atomic, m.Type, m.Operand, m.RemoteOffset, m.Buffer = OpFetchAtomic, wire.AtomicSum, wire.TypeUint64, 1, opCounter, 0
	case 4:
		m.Mode, m.RemoteKey = RUDI, IdempotentKey|2
		if r.chance(0.5) {
			m.Op, m.Offset, m.RemoteOffset = OpRead, s.to(i), s.from(i)
		}
	default:
		m.Op, m.RemoteKey, m.RemoteOffset = OpTaggedSend, uint64(100+i), 0
		m.Flags = pick(r, 0, WithData, Rendezvous, DeliveryComplete, Deferrable)
		if m.Flags == Deferrable {
			m.Mode = RUD
		}
		if m.Flags == WithData {
			m.Data = r.next()
		}
		s.posted[1-end] = append(s.posted[1-end], Receive{Tagged: true, Tag: m.RemoteKey, Buffer: 1, Offset: s.rec(i), Length: opPlace, Cookie: uint64(i)})
	}
	s.asked[end] = append(s.asked[end], m)
}

// play sends and posts everything and waits for the end.
func (s *opSwarm) play() {
	s.send()
	until := s.p.now + 2000*ms
	for s.p.sentDone(0) < 10 || s.p.sentDone(1) < 10 {
		require.True(s.t, s.p.step(until), "messages that never end")
	}
	s.p.settle()
}

// send sends and posts everything, in an order and at times that the seed draws.
func (s *opSwarm) send() {
	for end := range 2 {
		for i := range 10 {
			s.draw(end, i)
		}
		for i := range s.posted[end] {
			k := s.r.below(i + 1)
			s.posted[end][i], s.posted[end][k] = s.posted[end][k], s.posted[end][i]
		}
		for i := range s.memory[end][:10*opPlace] {
			s.memory[end][i] = byte(s.r.next())
		}
	}
	for end := range 2 {
		s.want[end] = append([]byte(nil), s.memory[end]...)
	}
	next, received := [2]int{}, [2]int{}
	for next[0] < 10 || next[1] < 10 || received[0] < len(s.posted[0]) || received[1] < len(s.posted[1]) {
		end := s.r.below(2)
		switch e := s.p.ends[end]; {
		case s.r.chance(0.5) && next[end] < 10:
			require.NoError(s.t, e.Send(s.p.now, s.asked[end][next[end]]))
			next[end]++
		case received[end] < len(s.posted[end]):
			require.NoError(s.t, e.PostReceive(s.p.now, s.posted[end][received[end]]))
			received[end]++
		}
		if s.r.chance(0.3) {
			s.p.runFor(Time(s.r.below(200)) * us)
		}
	}
}

// check requires that everything happened once, and that memory is what it must be.
func (s *opSwarm) check() {
	for end := range 2 {
		over, got, delivered := map[uint64]Event{}, map[uint64]Event{}, map[uint64]int{}
		for _, v := range s.p.events[end] {
			switch v.Kind {
			case Received:
				require.NotContains(s.t, got, v.Cookie, "two events for one receive")
				got[v.Cookie] = v
			case Delivered:
				delivered[v.Data]++
			default:
				require.NotContains(s.t, over, v.Cookie, "two events for one message")
				over[v.Cookie] = v
			}
		}
		require.Len(s.t, got, len(s.posted[end]))
		for i, m := range s.asked[end] {
			v := over[uint64(i)]
			require.Equal(s.t, Completed, v.Kind, "message %d of end %d: %v %v %+v", i, end, v.Err, v.Remote, m)
			mine, theirs := s.want[end], s.want[1-end]
			switch m.Op {
			case OpWrite:
				copy(theirs[s.to(i):], mine[s.from(i):s.from(i)+m.Length])
			case OpRead:
				copy(mine[s.to(i):], theirs[s.from(i):s.from(i)+m.Length])
			case OpFetchAtomic:
				require.False(s.t, s.fetched[end][v.Data], "one value was fetched twice")
				s.fetched[end][v.Data] = true
				s.sums[end]++
			case OpTaggedSend:
				copy(theirs[s.rec(i):], mine[s.from(i):s.from(i)+m.Length])
			}
		}
		for i, v := range got {
			m := s.asked[1-end][i]
			require.Equal(s.t, NoError, v.Err)
			require.Equal(s.t, m.Length, v.Length)
			require.Equal(s.t, m.Flags&WithData != 0, v.HasData)
			require.Equal(s.t, m.Data, v.Data)
		}
		for _, m := range s.asked[1-end] {
			if m.Op == OpWrite && m.Flags == WithData {
				require.Equal(s.t, 1, delivered[m.Data], "a write with data is delivered once")
			}
		}
	}
	for end := range 2 {
		for v := range s.sums[end] {
			require.True(s.t, s.fetched[end][v], "every value was fetched")
		}
		binary.LittleEndian.PutUint64(s.want[1-end][opCounter:], s.sums[end])
	}
	for end := range 2 {
		for i := range 40 {
			at := i * opPlace
			require.Equal(s.t, s.want[end][at:at+opPlace], s.memory[end][at:at+opPlace], "end %d, place %d", end, i)
		}
	}
}

func runOpSwarm(t *testing.T, seed uint64) uint64 {
	s := drawOpSwarm(t, seed)
	s.play()
	s.check()
	return s.p.hash
}

// Where retries are few and the network may go dark, messages fail: each once, and nothing is left of them.
func TestOperationsThatFail(t *testing.T) {
	count := 200
	if testing.Short() {
		count = 40
	}
	for seed := range uint64(count) {
		ok := t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := drawOpSwarm(t, seed, func(c *Config) {
				c.RTO.MaxRetries, c.NACK.MaxRetries, c.MessageRetry.Max = int(seed%3)+1, 2, 2
				c.TargetIdle = 3 * ms
			})
			bad := s.p.fates
			s.p.fates = func(from int, out *Packet) fate {
				f := bad(from, out)
				f.drop = f.drop || s.p.now > Time(seed%7)*200*us && s.p.now < Time(seed%5)*2*ms
				return f
			}
			s.send()
			for i := range 10 {
				s.p.ends[seed%2].Cancel(s.p.now, uint64(i)*seed%13)
			}
			until := s.p.now + 4000*ms
			for s.p.step(until) { // deferred and rendezvous messages wait for ever
			}
			for end, e := range s.p.ends {
				s.p.take(end)
				over := map[uint64]bool{}
				for _, v := range s.p.events[end] {
					if v.Kind == Completed || v.Kind == Failed {
						require.False(t, over[v.Cookie], "two events for one message")
						over[v.Cookie] = true
					}
				}
				for i, m := range s.asked[end] {
					require.True(t, over[uint64(i)] || m.Flags&(Deferrable|Rendezvous) != 0, "no event for message %d: %+v", i, m)
				}
				require.Zero(t, e.byRead.used)
				require.Zero(t, e.loose.used)
				for i := range e.contexts {
					require.Zero(t, e.contexts[i].inFlight)
				}
				require.Zero(t, e.sendRoom.used)
			}
		})
		if !ok {
			return
		}
	}
}

func TestOperationSwarm(t *testing.T) {
	count := 300
	if testing.Short() {
		count = 60
	}
	for seed := range uint64(count) {
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) { runOpSwarm(t, seed) }) {
			return
		}
	}
}

func TestOperationsRepeatThemselves(t *testing.T) {
	for seed := range uint64(10) {
		require.Equal(t, runOpSwarm(t, seed), runOpSwarm(t, seed))
	}
}
