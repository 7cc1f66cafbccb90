package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/wire"
)

// operations are messages that a steady state is made of.
var operations = map[string]Message{
	"send":        {Op: OpSend, Length: 100},
	"long send":   {Op: OpTaggedSend, RemoteKey: 3, Length: 40_000},
	"read in ACK": {Op: OpRead, Length: 16, RemoteKey: 1},
	"long read":   {Op: OpRead, Length: 40_000, RemoteKey: 1},
	"fetch add":   {Op: OpFetchAtomic, Atomic: wire.AtomicSum, Type: wire.TypeUint64, Operand: 1, RemoteKey: 1},
	"write":       {Length: 100, RemoteKey: 1, Flags: WithData, Data: 7},
	"idempotent":  {Mode: RUDI, Op: OpRead, Length: 9000, RemoteKey: IdempotentKey},
	"rendezvous":  {Op: OpSend, Flags: Rendezvous, Length: 40_000},
	"deferrable":  {Op: OpSend, Flags: Deferrable, Length: 40_000},
}

// operate carries one message out, both ends and whatever goes to and fro.
func (k *backToBack) operate(m Message) {
	pull := Pull{Open: AllClasses}
	if m.Op == OpSend || m.Op == OpTaggedSend {
		if err := k.b.PostReceive(k.now, Receive{Length: m.Length, Tagged: m.Op == OpTaggedSend, Tag: 3}); err != nil {
			panic(err)
		}
	}
	m.To = 2
	if err := k.a.Send(k.now, m); err != nil {
		panic(err)
	}
	for done := false; !done; k.now += us {
		for k.a.Transmit(k.now, pull, &k.p) {
			k.b.HandlePacket(k.now, &k.p)
		}
		for k.b.Transmit(k.now, pull, &k.p) {
			k.a.HandlePacket(k.now, &k.p)
		}
		for _, e := range []*Endpoint{k.a, k.b} {
			if e.Deadline() <= k.now {
				e.HandleTimeout(k.now)
			}
		}
		n := k.a.Events(k.ev[:])
		for i := range n {
			done = done || k.ev[i].Kind == Completed
		}
		for k.b.Events(k.ev[:]) > 0 {
		}
	}
}

func TestOperationsDoNotAllocate(t *testing.T) {
	for name, m := range operations {
		k := newBackToBack(t)
		for _, e := range []*Endpoint{k.a, k.b} {
			e.Register(make([]byte, 100_000))
		}
		for range 500 {
			k.operate(m)
		}
		require.Zero(t, testing.AllocsPerRun(500, func() { k.operate(m) }), name)
	}
}

func BenchmarkOperation(b *testing.B) {
	for name, m := range operations {
		b.Run(name, func(b *testing.B) {
			k := newBackToBack(b)
			for _, e := range []*Endpoint{k.a, k.b} {
				e.Register(make([]byte, 100_000))
			}
			b.ReportAllocs()
			for range b.N {
				k.operate(m)
			}
		})
	}
}
