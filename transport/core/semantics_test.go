package core

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/wire"
)

// roomy gives both ends one buffer of n bytes, number 1: A's is full of random bytes, B's is empty.
func roomy(t *testing.T, c Config, n int, weather uint64) (p *pair, a, b []byte) {
	p = newPair(t, c, nil)
	a, b = registered(p, n)
	if weather != 0 {
		r := random(weather)
		p.fates = func(int, *Packet) (f fate) {
			f.drop, f.mark = r.chance(0.15), r.chance(0.1)
			if r.chance(0.3) {
				f.late = Time(r.next() % uint64(60*us))
			}
			if r.chance(0.1) {
				f.copies = 1
			}
			return f
		}
	}
	return p, a, b
}

// patient is a configuration whose messages survive bad weather.
func patient() Config {
	c := base()
	c.RTO.MaxRetries, c.NACK.MaxRetries, c.MessageRetry.Max = -1, -1, -1
	c.ClearTime, c.MessageRetry.Time = 50*us, 200*us
	c.OnlyRegistered = true
	return c
}

// everyWeather runs a test on a calm network and on bad ones.
func everyWeather(t *testing.T, do func(t *testing.T, weather uint64)) {
	for weather := range uint64(12) {
		t.Run(fmt.Sprint(weather), func(t *testing.T) { do(t, weather) })
	}
}

// settle runs until nothing happens any more and requires that nothing is left behind.
func (p *pair) settle() {
	p.t.Helper()
	p.run()
	for end, e := range p.ends {
		p.take(end)
		require.Zero(p.t, e.responsesUsed, "responses that were never cleared")
		require.Zero(p.t, e.byMessage.used, "messages that never ended")
		require.Zero(p.t, e.byRead.used, "reads that never ended")
		require.Zero(p.t, e.byToken.used, "tokens that nobody knows")
		require.Zero(p.t, e.loose.used)
		require.Zero(p.t, e.loosePending)
		require.Zero(p.t, e.receiving.waiting)
		require.Zero(p.t, e.receiving.restarting)
		for _, m := range e.messages[1:] {
			require.Zero(p.t, m.chunks, "a message that is over keeps its slot")
		}
		for i := range e.contexts {
			require.Zero(p.t, e.contexts[i].inFlight)
		}
		for i := range e.pdcs {
			require.Zero(p.t, e.pdcs[i].awaiting)
		}
	}
}

// ask makes A send messages to B and returns its events, one each, by cookie.
func (p *pair) ask(messages ...Message) map[uint64]Event {
	p.t.Helper()
	for _, m := range messages {
		m.To = 2
		require.NoError(p.t, p.A().Send(p.now, m))
	}
	p.settle()
	got := map[uint64]Event{}
	for _, v := range p.events[0] {
		if v.Kind == Completed || v.Kind == Failed {
			require.NotContains(p.t, got, v.Cookie, "two events for one message")
			got[v.Cookie] = v
		}
	}
	require.Len(p.t, got, len(messages))
	return got
}

func (p *pair) kind(end int, k EventKind) (of []Event) {
	for _, v := range p.events[end] {
		if v.Kind == k {
			of = append(of, v)
		}
	}
	return of
}

func TestSendMeetsItsReceive(t *testing.T) {
	for _, length := range []uint64{0, 1, 1024, 1025, 9000} {
		for _, mode := range []Mode{RUD, ROD} {
			everyWeather(t, func(t *testing.T, weather uint64) {
				p, a, b := roomy(t, patient(), 20_000, weather)
				require.NoError(t, p.B().PostReceive(0, Receive{Buffer: 1, Offset: 500, Length: 9000, Cookie: 77}))
				got := p.ask(Message{Op: OpSend, Mode: mode, Buffer: 1, Offset: 100, Length: length, Cookie: 5, Flags: WithData, Data: 99})
				require.Equal(t, Completed, got[5].Kind)
				r := p.kind(1, Received)
				require.Len(t, r, 1)
				require.Equal(t, Event{Kind: Received, Peer: 1, At: r[0].At, Length: length, Cookie: 77, Data: 99, HasData: true}, r[0])
				require.Equal(t, a[100:100+length], b[500:500+length])
				require.Empty(t, p.kind(1, Delivered))
			})
		}
	}
}

// Messages find receives in the order in which they were posted, and by tag; in an ordered context in the order in
// which they were sent.
func TestMatching(t *testing.T) {
	everyWeather(t, func(t *testing.T, weather uint64) {
		p, _, _ := roomy(t, patient(), 20_000, weather)
		for i, r := range []Receive{
			{Tagged: true, Tag: 0x50, Ignore: 0x0f, Cookie: 1, Length: 10},
			{Tagged: true, Tag: 0x55, Cookie: 2, Length: 10},
			{Cookie: 3, Length: 10},
			{Tagged: true, Tag: 0x55, OnlyFrom: true, From: 9, Cookie: 4, Length: 10},
			{Tagged: true, Ignore: 1<<64 - 1, Cookie: 5, Length: 10},
		} {
			require.NoError(t, p.B().PostReceive(0, r), i)
		}
		tags := []uint64{0x55, 0x55, 0x66}
		for i, tag := range tags {
			require.NoError(t, p.A().Send(0, Message{To: 2, Op: OpTaggedSend, Mode: ROD, RemoteKey: tag, Length: 3, Cookie: uint64(i)}))
		}
		require.NoError(t, p.A().Send(0, Message{To: 2, Op: OpSend, Mode: ROD, Length: 4}))
		p.settle()
		by := map[uint64]Event{}
		for _, v := range p.kind(1, Received) {
			by[v.Cookie] = v
		}
		require.Len(t, by, 4)
		require.EqualValues(t, 0x55, by[1].RemoteKey)
		require.EqualValues(t, 0x55, by[2].RemoteKey)
		require.EqualValues(t, 0x66, by[5].RemoteKey)
		require.EqualValues(t, 4, by[3].Length)
		require.True(t, p.B().CancelReceive(4))
		require.False(t, p.B().CancelReceive(4))
		require.Len(t, p.kind(0, Completed), 4)
	})
}

func TestUnexpectedMessagesAreKept(t *testing.T) {
	for _, mode := range []Mode{RUD, ROD} {
		everyWeather(t, func(t *testing.T, weather uint64) {
			p, a, b := roomy(t, patient(), 20_000, weather)
			for i := range uint64(3) {
				require.NoError(t, p.A().Send(0, Message{To: 2, Op: OpTaggedSend, Mode: mode, RemoteKey: i, Buffer: 1, Offset: 3000 * i, Length: 3000, Cookie: i}))
			}
			p.run()
			require.Len(t, p.kind(0, Completed), 3, "they are accepted without a receive")
			require.Empty(t, p.events[1])
			for _, tag := range []uint64{2, 0, 1} {
				require.NoError(t, p.B().PostReceive(p.now, Receive{Tagged: true, Tag: tag, Buffer: 1, Offset: 3000 * tag, Length: 3000, Cookie: tag}))
			}
			p.settle()
			require.Len(t, p.kind(1, Received), 3)
			require.Equal(t, a[:9000], b[:9000])
			require.Len(t, p.B().receiving.roomsFree, 3, "the rooms are free again")
		})
	}
}

// A receive that is posted while an unexpected message is still coming gets the rest directly.
func TestReceiveInTheMiddle(t *testing.T) {
	p, a, b := roomy(t, patient(), 20_000, 0)
	require.NoError(t, p.A().Send(0, Message{To: 2, Op: OpSend, Buffer: 1, Length: 8000}))
	p.runFor(5*us + us/4)
	require.NotZero(t, p.B().receiving.waiting)
	require.NoError(t, p.B().PostReceive(p.now, Receive{Buffer: 1, Offset: 7, Length: 8000}))
	require.Zero(t, p.B().events.count)
	p.settle()
	require.Len(t, p.kind(1, Received), 1)
	require.Equal(t, a[:8000], b[7:8007])
}

// What there is neither a receive nor room for is refused and comes again, whole; ordered messages stay in order.
func TestNoReceiveIsTriedAgain(t *testing.T) {
	for _, mode := range []Mode{RUD, ROD} {
		everyWeather(t, func(t *testing.T, weather uint64) {
			c := patient()
			c.Unexpected.Messages = -1
			p, a, b := roomy(t, c, 40_000, weather)
			for i := range uint64(8) {
				require.NoError(t, p.A().Send(0, Message{To: 2, Op: OpSend, Mode: mode, Buffer: 1, Offset: 3000 * i, Length: 3000 - i, Cookie: i}))
			}
			p.runFor(500 * us)
			require.Empty(t, p.events[1])
			for i := range uint64(8) {
				require.NoError(t, p.B().PostReceive(p.now, Receive{Buffer: 1, Offset: 3000 * i, Length: 3000, Cookie: i}))
				p.runFor(300 * us)
			}
			p.settle()
			require.Len(t, p.kind(0, Completed), 8)
			got := p.kind(1, Received)
			require.Len(t, got, 8)
			lengths := map[uint64]bool{}
			for i, v := range got {
				n := v.Length
				lengths[n] = true
				require.Equal(t, a[3000*(3000-n):3000*(3000-n)+n], b[3000*v.Cookie:3000*v.Cookie+n])
				if mode == ROD {
					require.EqualValues(t, i, v.Cookie)
					require.EqualValues(t, 3000-i, n, "in the order of their sends")
				}
			}
			require.Len(t, lengths, 8)
		})
	}
}

func TestNoReceiveEver(t *testing.T) {
	for _, mode := range []Mode{RUD, ROD} {
		c := patient()
		c.Unexpected.Messages, c.MessageRetry.Max = -1, 3
		p, _, _ := roomy(t, c, 10_000, 0)
		got := p.ask(Message{Op: OpSend, Mode: mode, Length: 5000, Cookie: 1}, Message{Op: OpSend, Mode: mode, Length: 10, Cookie: 2})
		require.Equal(t, NotReady, got[1].Err)
		require.Equal(t, NotReady, got[2].Err)
		require.Equal(t, wire.RCNoMatch, map[Mode]wire.ReturnCode{RUD: got[1].Remote, ROD: wire.RCNoMatch}[mode])
		require.Greater(t, got[1].At, (1+2+4)*200*us)
	}
}

func TestMessageLongerThanItsReceive(t *testing.T) {
	for _, length := range []uint64{11, 5000} {
		everyWeather(t, func(t *testing.T, weather uint64) {
			p, _, b := roomy(t, patient(), 10_000, weather)
			require.NoError(t, p.B().PostReceive(0, Receive{Buffer: 1, Length: 10, Cookie: 3}))
			got := p.ask(Message{Op: OpSend, Buffer: 1, Length: length})
			require.Equal(t, RemoteError, got[0].Err)
			require.Equal(t, wire.RCTooLong, got[0].Remote)
			r := p.kind(1, Received)
			require.Len(t, r, 1)
			require.Equal(t, TooLong, r[0].Err)
			require.Equal(t, length, r[0].Length)
			require.Equal(t, make([]byte, 10_000), b)
		})
	}
}

func TestWriteWithImmediate(t *testing.T) {
	for _, length := range []uint64{0, 10, 1024, 7000} {
		everyWeather(t, func(t *testing.T, weather uint64) {
			p, a, b := roomy(t, patient(), 10_000, weather)
			got := p.ask(Message{Buffer: 1, Length: length, RemoteKey: 1, RemoteOffset: 50, Flags: WithData | DeliveryComplete, Data: 0xcaa})
			require.Equal(t, Completed, got[0].Kind)
			d := p.kind(1, Delivered)
			require.Len(t, d, 1)
			require.Equal(t, Event{Kind: Delivered, Peer: 1, At: d[0].At, Length: length, RemoteKey: 1, Data: 0xcaa, HasData: true}, d[0])
			require.Equal(t, a[:length], b[50:50+length])
		})
	}
}

func TestRead(t *testing.T) {
	for _, mode := range []Mode{RUD, ROD, RUDI} {
		for _, length := range []uint64{0, 1, 16, 17, 1024, 1025, 100_000} {
			everyWeather(t, func(t *testing.T, weather uint64) {
				p, a, b := roomy(t, patient(), 120_000, weather)
				copy(b, a)
				clear(a)
				buffer, key, err := p.B().RegisterRegion(Region{Bytes: b, Access: RemoteRead | Idempotent})
				require.NoError(t, err)
				require.EqualValues(t, 2|IdempotentKey, key)
				require.EqualValues(t, 2, buffer)
				got := p.ask(Message{Op: OpRead, Mode: mode, Buffer: 1, Offset: 30, Length: length, RemoteKey: key, RemoteOffset: 77, Cookie: 4})
				require.Equal(t, Completed, got[4].Kind, "%v", got[4])
				require.Equal(t, b[77:77+length], a[30:30+length])
				require.Empty(t, p.events[1], "reads leave no event at the target")
			})
		}
	}
}

// An initiator that has all of a long read asked for at once, as the reference provider does: its requests are acknowledged, so that its
// window does not hold it back, and the target keeps the answers that do not fit into its own.
func TestReadOfOneWhoDoesNotWait(t *testing.T) {
	const answers = 800
	for _, held := range []int{0, 300} { // answers that the target keeps: enough, and too few
		c := patient()
		c.MPR = 1
		p := newPair(t, c, func(end int, c *Config) {
			c.MaxReadAhead, c.MaxAnswers = 1<<20, held
			c.NACK.MaxRetries = -1
		})
		a, b := make([]byte, answers*1024), make([]byte, answers*1024)
		r := random(1)
		for i := range b {
			b[i] = byte(r.next())
		}
		buffer := p.A().Register(a)
		_, key, err := p.B().RegisterRegion(Region{Bytes: b, Access: RemoteRead})
		require.NoError(t, err)
		got := p.ask(Message{Op: OpRead, Buffer: buffer, Length: uint64(len(a)), RemoteKey: key, Cookie: 4})
		require.Equal(t, Completed, got[4].Kind, "%v", got[4])
		require.Equal(t, b, a)
		require.Equal(t, held != 0, p.A().Counters().NacksReceived > 0)
		require.Zero(t, p.B().answers)
	}
}

// Reads, writes and sends of both ends share contexts and do not disturb each other.
func TestReadsBothWays(t *testing.T) {
	everyWeather(t, func(t *testing.T, weather uint64) {
		c := patient()
		c.IdleClose = 300 * us
		p, a, b := roomy(t, c, 400_000, weather)
		r := random(weather + 1)
		for i := range b {
			b[i] = byte(r.next())
		}
		a2, b2 := make([]byte, 100_000), make([]byte, 100_000)
		p.A().Register(a2)
		p.B().Register(b2)
		for i := range uint64(10) {
			at := 10_000 * i
			require.NoError(t, p.A().Send(p.now, Message{To: 2, Op: OpRead, Buffer: 2, Offset: at, Length: 10_000, RemoteKey: 1, RemoteOffset: at}))
			require.NoError(t, p.B().Send(p.now, Message{To: 1, Op: OpRead, Buffer: 2, Offset: at, Length: 10_000, RemoteKey: 1, RemoteOffset: at}))
			require.NoError(t, p.A().Send(p.now, Message{To: 2, Buffer: 1, Length: 5000, Offset: 200_000, RemoteKey: 1, RemoteOffset: 200_000}))
			p.runFor(Time(r.below(500)) * us)
		}
		p.settle()
		require.Len(t, p.kind(0, Completed), 20)
		require.Len(t, p.kind(1, Completed), 10)
		require.Equal(t, b[:100_000], a2)
		require.Equal(t, a[:100_000], b2)
		p.runFor(100 * ms)
		for _, e := range p.ends {
			for i := range e.pdcs {
				require.Contains(t, []pdcState{stateFree, stateResting}, e.pdcs[i].state, "idle contexts close, and the reverse directions with them")
			}
		}
	})
}

func TestReadOfWhatIsNotThere(t *testing.T) {
	p, _, _ := roomy(t, patient(), 10_000, 0)
	_, noRead, err := p.B().RegisterRegion(Region{Bytes: make([]byte, 100), Access: RemoteWrite, Key: 0x1234567890})
	require.NoError(t, err)
	got := p.ask(Message{Op: OpRead, Length: 10, RemoteKey: 99, Cookie: 1}, Message{Op: OpRead, Length: 10_001, RemoteKey: 1, Cookie: 2},
		Message{Op: OpRead, Length: 5000, RemoteKey: 1, RemoteOffset: 5001, Cookie: 3}, Message{Op: OpRead, Length: 10, RemoteKey: noRead, Cookie: 4},
		Message{Op: OpRead, Mode: RUDI, Length: 10, RemoteKey: 1, Cookie: 5})
	require.Equal(t, wire.RCBadMKey, got[1].Remote)
	require.Equal(t, wire.RCBadAddr, got[2].Remote)
	require.Equal(t, wire.RCBadAddr, got[3].Remote)
	require.Equal(t, wire.RCPermViolation, got[4].Remote)
	require.Equal(t, wire.RCOpViolation, got[5].Remote, "not registered for RUDI")
}

// A target that vanishes before the data came is noticed.
func TestReadOfTargetThatVanishes(t *testing.T) {
	c := base()
	p, _, _ := roomy(t, c, 50_000, 0)
	p.fates = func(from int, out *Packet) fate { return fate{drop: from == 1 && isData(out)} }
	got := p.ask2(Message{Op: OpRead, Length: 20_000, RemoteKey: 1, Cookie: 1})
	require.Equal(t, Failed, got.Kind)
	require.Contains(t, []ErrCode{RetryExceeded, ClosedInError}, got.Err)
}

// ask2 is ask for one message whose target need not come to rest.
func (p *pair) ask2(m Message) Event {
	m.To = 2
	require.NoError(p.t, p.A().Send(p.now, m))
	p.run()
	require.Len(p.t, p.events[0], 1)
	return p.events[0][0]
}

func TestFetchAdd(t *testing.T) {
	everyWeather(t, func(t *testing.T, weather uint64) {
		p, a, b := roomy(t, patient(), 1000, weather)
		binary.LittleEndian.PutUint64(b[16:], 100)
		var messages []Message
		for i := range uint64(30) {
			messages = append(messages, Message{Op: OpFetchAtomic, Mode: Mode(i % 2), Atomic: wire.AtomicSum, Type: wire.TypeUint64, Operand: 1, RemoteKey: 1, RemoteOffset: 16,
				Buffer: 1, Offset: 8 * i, Cookie: i})
		}
		got := p.ask(messages...)
		seen := map[uint64]bool{}
		for i, v := range got {
			require.Equal(t, Completed, v.Kind)
			require.True(t, v.HasData)
			seen[v.Data] = true
			require.Equal(t, v.Data, binary.LittleEndian.Uint64(a[8*i:]))
		}
		for v := range uint64(30) {
			require.True(t, seen[100+v], "every value is fetched once")
		}
		require.EqualValues(t, 130, binary.LittleEndian.Uint64(b[16:]))
	})
}

func TestAtomicsOfAllTypes(t *testing.T) {
	neg := func(v int64) uint64 { return uint64(v) }
	f32 := func(v float32) uint64 { return uint64(f32bits(v)) }
	for _, c := range []struct {
		op                                 wire.AtomicOp
		ty                                 wire.DataType
		old, operand, compare, want, fetch uint64
	}{
		{wire.AtomicMin, wire.TypeInt8, 0x80, 5, 0, 0x80, 0x80},
		{wire.AtomicMin, wire.TypeUint8, 0x80, 5, 0, 5, 0x80},
		{wire.AtomicMax, wire.TypeInt32, neg(-7) & 0xffffffff, 3, 0, 3, neg(-7) & 0xffffffff},
		{wire.AtomicDiff, wire.TypeUint16, 1, 2, 0, 0xffff, 1},
		{wire.AtomicProd, wire.TypeInt64, neg(-3), 5, 0, neg(-15), neg(-3)},
		{wire.AtomicLogicalXor, wire.TypeUint32, 6, 0, 0, 1, 6},
		{wire.AtomicLogicalAnd, wire.TypeUint32, 6, 0, 0, 0, 6},
		{wire.AtomicLogicalOr, wire.TypeUint32, 0, 9, 0, 1, 0},
		{wire.AtomicBitOr, wire.TypeUint64, 6, 9, 0, 15, 6},
		{wire.AtomicBitAnd, wire.TypeUint64, 6, 12, 0, 4, 6},
		{wire.AtomicBitXor, wire.TypeUint64, 6, 12, 0, 10, 6},
		{wire.AtomicRead, wire.TypeUint64, 6, 12, 0, 6, 6},
		{wire.AtomicWrite, wire.TypeUint64, 6, 12, 0, 12, 6},
		{wire.AtomicCSwap, wire.TypeUint64, 6, 12, 6, 12, 6},
		{wire.AtomicCSwap, wire.TypeUint64, 6, 12, 7, 6, 6},
		{wire.AtomicCSwapNE, wire.TypeUint64, 6, 12, 7, 12, 6},
		{wire.AtomicCSwapLT, wire.TypeInt16, neg(-5) & 0xffff, 12, neg(-6) & 0xffff, 12, neg(-5) & 0xffff},
		{wire.AtomicCSwapLE, wire.TypeUint64, 6, 12, 6, 12, 6},
		{wire.AtomicCSwapGE, wire.TypeUint64, 6, 12, 5, 6, 6},
		{wire.AtomicCSwapGT, wire.TypeUint64, 6, 12, 7, 12, 6},
		{wire.AtomicMSwap, wire.TypeUint32, 0xff00ff00, 0x12345678, 0x0000ffff, 0xff005678, 0xff00ff00},
		{wire.AtomicSum, wire.TypeFloat, f32(1.5), f32(2), 0, f32(3.5), f32(1.5)},
		{wire.AtomicMin, wire.TypeFloat, f32(1.5), f32(-2), 0, f32(-2), f32(1.5)},
	} {
		p, _, b := roomy(t, patient(), 1000, 0)
		binary.LittleEndian.PutUint64(b[8:], c.old)
		copy(b[8+atomicWidth(c.ty):], []byte{0xee, 0xee})
		m := Message{Op: OpFetchAtomic, Atomic: c.op, Type: c.ty, Operand: c.operand, Data: c.compare, RemoteKey: 1, RemoteOffset: 8}
		got := p.ask(m)
		require.Equal(t, Completed, got[0].Kind, "%v %v: %v", c.op, c.ty, got[0].Remote)
		require.Equal(t, c.fetch, got[0].Data, "%v %v", c.op, c.ty)
		var word [8]byte
		copy(word[:], b[8:8+atomicWidth(c.ty)])
		require.Equal(t, c.want, binary.LittleEndian.Uint64(word[:]), "%v %v", c.op, c.ty)
		require.Equal(t, []byte{0xee, 0xee}, b[8+atomicWidth(c.ty):10+atomicWidth(c.ty)], "%v %v: what lies behind is left alone", c.op, c.ty)
	}
}

func TestAtomicsRefused(t *testing.T) {
	p, _, b := roomy(t, patient(), 1000, 0)
	sum := Message{Op: OpAtomic, Atomic: wire.AtomicSum, Type: wire.TypeUint64, Operand: 1, RemoteKey: 1}
	unaligned, outside, unknown, fine := sum, sum, sum, sum
	unaligned.RemoteOffset, unaligned.Cookie = 4, 1
	outside.RemoteOffset, outside.Cookie = 1000, 2
	unknown.RemoteKey, unknown.Cookie = 9, 3
	fine.Cookie = 4
	got := p.ask(unaligned, outside, unknown, fine)
	require.Equal(t, wire.RCAMOUnaligned, got[1].Remote)
	require.Equal(t, wire.RCBadAddr, got[2].Remote)
	require.Equal(t, wire.RCBadMKey, got[3].Remote)
	require.Equal(t, Completed, got[4].Kind)
	require.False(t, got[4].HasData)
	require.EqualValues(t, 1, binary.LittleEndian.Uint64(b))
	bad := sum
	bad.Type = wire.TypeInt128
	require.ErrorIs(t, p.A().Send(p.now, bad.to(2)), ErrOperand)
	bad.Type, bad.Atomic = wire.TypeFloat, wire.AtomicBitOr
	require.ErrorIs(t, p.A().Send(p.now, bad.to(2)), ErrOperand)
}

func (m Message) to(a Addr) Message { m.To = a; return m }

func f32bits(v float32) uint32 { return math.Float32bits(v) }
