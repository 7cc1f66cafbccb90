package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/wire"
)

// Every resource index has receives of its own, and a generation of its own.
func TestResources(t *testing.T) {
	c := patient()
	c.JobID, c.PIDOnFEP, c.ResourceIndex, c.Resources, c.Unexpected.Messages = 0xabcdef, 0x123, 0x20, 3, -1
	p, a, b := roomy(t, c, 10_000, 0)
	for i := range uint16(3) {
		require.NoError(t, p.B().PostReceive(0, Receive{Resource: 2 - i, Buffer: 1, Offset: 1000 * uint64(2-i), Length: 1000, Cookie: uint64(2 - i)}))
	}
	var messages []Message
	for i := range uint16(3) {
		messages = append(messages, Message{Op: OpSend, Mode: Mode(i % 2), Resource: i, Buffer: 1, Offset: 1000 * uint64(i), Length: 1000, Cookie: uint64(i)})
	}
	got := p.ask(append(messages, Message{Op: OpSend, Resource: 3, Length: 10, Cookie: 3})...)
	for i := range uint64(3) {
		require.Equal(t, Completed, got[i].Kind)
	}
	require.Equal(t, wire.RCUndeliverable, got[3].Remote)
	require.Equal(t, a[:3000], b[:3000], "each in its own receive")
}

func TestForeignJobAndProcess(t *testing.T) {
	for name, c := range map[string]struct {
		change func(c *Config)
		code   wire.ReturnCode
	}{
		"job":      {func(c *Config) { c.JobID = 9 }, wire.RCBadJobID},
		"process":  {func(c *Config) { c.PIDOnFEP = 9 }, wire.RCUndeliverable},
		"resource": {func(c *Config) { c.ResourceIndex = 9 }, wire.RCUndeliverable},
	} {
		p := newPair(t, patient(), func(end int, mine *Config) {
			if end == 1 {
				c.change(mine)
			}
		})
		registered(p, 1000)
		_, key, err := p.B().RegisterRegion(Region{Bytes: make([]byte, 10), Access: RemoteWrite | Idempotent})
		require.NoError(t, err)
		require.NoError(t, p.B().PostReceive(0, Receive{Length: 100}))
		sum := Message{Op: OpAtomic, Atomic: wire.AtomicSum, Type: wire.TypeUint64, RemoteKey: 1, Cookie: 3}
		got := p.ask(Message{Op: OpSend, Length: 10, Cookie: 0}, Message{Length: 10, RemoteKey: 1, Cookie: 1}, Message{Op: OpRead, Length: 10, RemoteKey: 1, Cookie: 2}, sum,
			Message{Mode: RUDI, Length: 10, RemoteKey: key, Cookie: 4}, Message{Mode: UUD, Op: OpDatagram, Length: 10, Cookie: 5})
		for i := range uint64(5) {
			require.Equal(t, c.code, got[i].Remote, "%s, message %d", name, i)
		}
		require.Empty(t, p.events[1], name)
	}
}

// A peer that has heard of another generation is told the right one, and comes again at once.
func TestGeneration(t *testing.T) {
	p, _, _ := roomy(t, patient(), 10_000, 0)
	for i := range uint64(4) {
		require.NoError(t, p.B().PostReceive(0, Receive{Length: 5000, Cookie: i}))
	}
	p.B().receiving.queues[0].generation = 77
	got := p.ask(Message{Op: OpSend, Length: 5000, Cookie: 1}, Message{Op: OpSend, Mode: ROD, Length: 5000, Cookie: 2}, Message{Op: OpSend, Mode: ROD, Length: 10, Cookie: 3})
	for i := uint64(1); i <= 3; i++ {
		require.Equal(t, Completed, got[i].Kind)
		require.Less(t, got[i].At, 100*us, "at once")
	}
	require.EqualValues(t, 77, p.A().contexts[1].generation)
	require.Len(t, p.kind(1, Received), 3)
}

// Delivery complete: a send is not accepted before it has its receive.
func TestDeliveryCompleteWaitsForTheReceive(t *testing.T) {
	p, a, b := roomy(t, patient(), 10_000, 0)
	require.NoError(t, p.A().Send(0, Message{To: 2, Op: OpSend, Flags: DeliveryComplete, Buffer: 1, Length: 100}))
	p.runFor(2 * ms)
	require.Empty(t, p.events[0])
	require.NoError(t, p.B().PostReceive(p.now, Receive{Buffer: 1, Length: 100}))
	p.settle()
	require.Len(t, p.kind(0, Completed), 1)
	require.Len(t, p.kind(1, Received), 1)
	require.Equal(t, a[:100], b[:100])
}

// Keys: numbers, keys of one's own, rights, and what was taken back.
func TestKeysAndRights(t *testing.T) {
	p, _, _ := roomy(t, patient(), 100, 0)
	register := func(access Access, key uint64) (uint32, uint64) {
		buffer, key, err := p.B().RegisterRegion(Region{Bytes: make([]byte, 100), Access: access, Key: key})
		require.NoError(t, err)
		return buffer, key
	}
	_, writable := register(RemoteWrite, 0x11)
	_, readable := register(RemoteRead, 1<<48)
	_, countable := register(RemoteAtomic, 0)
	local, none := register(0, 0)
	require.EqualValues(t, local, none)
	gone, old := register(RemoteWrite, 0x12)
	p.B().Deregister(gone)
	sum := Message{Op: OpAtomic, Atomic: wire.AtomicSum, Type: wire.TypeUint64, Operand: 1}
	write, read := Message{Length: 10}, Message{Op: OpRead, Length: 10}
	var messages []Message
	var want []wire.ReturnCode
	ask := func(m Message, key uint64, code wire.ReturnCode) {
		m.RemoteKey, m.Cookie = key, uint64(len(messages))
		messages, want = append(messages, m), append(want, code)
	}
	for _, c := range []struct {
		key   uint64
		codes [3]wire.ReturnCode
	}{
		{writable, [3]wire.ReturnCode{wire.RCNull, wire.RCPermViolation, wire.RCPermViolation}},
		{readable, [3]wire.ReturnCode{wire.RCPermViolation, wire.RCNull, wire.RCPermViolation}},
		{countable, [3]wire.ReturnCode{wire.RCPermViolation, wire.RCPermViolation, wire.RCNull}},
		{none, [3]wire.ReturnCode{wire.RCPermViolation, wire.RCPermViolation, wire.RCPermViolation}},
		{old, [3]wire.ReturnCode{wire.RCBadMKey, wire.RCBadMKey, wire.RCBadMKey}},
		{0x13, [3]wire.ReturnCode{wire.RCBadMKey, wire.RCBadMKey, wire.RCBadMKey}},
	} {
		ask(write, c.key, c.codes[0])
		ask(read, c.key, c.codes[1])
		ask(sum, c.key, c.codes[2])
	}
	got := p.ask(messages...)
	for i, code := range want {
		require.Equal(t, code, got[uint64(i)].Remote, "message %d: %+v", i, messages[i])
	}
	_, _, err := p.B().RegisterRegion(Region{Key: 0x11})
	require.ErrorIs(t, err, ErrKey)
	_, again := register(RemoteWrite, 0x12)
	require.Equal(t, wire.RCNull, p.ask1(Message{Length: 10, RemoteKey: again, Cookie: 99}).Remote, "a key may be used again once it was taken back")
}

// ask1 is one more message after ask.
func (p *pair) ask1(m Message) Event {
	m.To = 2
	require.NoError(p.t, p.A().Send(p.now, m))
	p.settle()
	return p.events[0][len(p.events[0])-1]
}
