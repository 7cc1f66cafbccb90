package transport

import (
	"context"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/wire"
)

// A Peer is another endpoint. Its methods are the blocking form.
type Peer struct {
	endpoint *Endpoint
	name     string // as it was dialled; empty: it was not

	// Of the loop, see giveback.go.
	addr    core.Addr
	dials   int // less Closes
	closed  bool
	evicted bool
}

// Name returns the address of the peer.
func (p *Peer) Name() string {
	if p.name != "" {
		return p.name
	}
	return p.endpoint.driver.Name(p.addr)
}

// Endpoint returns the endpoint that the peer was dialled from.
func (p *Peer) Endpoint() *Endpoint { return p.endpoint }

// Write puts b into the peer's memory and returns when it is there. What is longer than 1 MiB is cut into writes of that
// length, all of which carry the options.
func (p *Peer) Write(ctx context.Context, b []byte, to Remote, opts ...Option) error {
	return p.pieces(b, to, func(part []byte, to Remote) error {
		return p.move(ctx, OpWrite, core.OpWrite, part, to, nil, opts)
	})
}

// Read fills b from the peer's memory.
func (p *Peer) Read(ctx context.Context, b []byte, from Remote, opts ...Option) error {
	return p.pieces(b, from, func(part []byte, from Remote) error {
		return p.move(ctx, OpRead, core.OpRead, part, from, nil, opts)
	})
}

// pieces cuts a long transfer.
func (p *Peer) pieces(b []byte, r Remote, do func([]byte, Remote) error) error {
	for len(b) > piece {
		if err := do(b[:piece], r); err != nil {
			return err
		}
		b, r.Offset = b[piece:], r.Offset+piece
	}
	return do(b, r)
}

// Send sends b to a Receive of the peer and returns when it is there: in the buffer of the receive, or, for short messages
// without Complete or Deferrable, in the room for unexpected ones (Config.Core.Unexpected of the peer: 64 of up to 8 KiB). A peer
// that has neither is asked again a few times (Config.Core.MessageRetry). Two that send to each other before they receive
// both wait when there is no room: one of them needs a goroutine for its receives, or a Queue.
func (p *Peer) Send(ctx context.Context, b []byte, opts ...Option) error {
	return p.move(ctx, OpSend, core.OpSend, b, Remote{}, nil, opts)
}

// SendTagged is Send to a receive whose tag matches.
func (p *Peer) SendTagged(ctx context.Context, b []byte, tag uint64, opts ...Option) error {
	return p.move(ctx, OpTaggedSend, core.OpTaggedSend, b, Remote{Key: tag}, nil, opts)
}

// SendDatagram sends one packet, which may be lost (UUD), and returns when it has left.
func (p *Peer) SendDatagram(ctx context.Context, b []byte, opts ...Option) error {
	return p.move(ctx, OpDatagram, core.OpDatagram, b, Remote{}, func(m *core.Message) { m.Mode = core.UUD }, opts)
}

// Atomic changes a value in the peer's memory.
func (p *Peer) Atomic(ctx context.Context, op AtomicOp, typ DataType, at Remote, operand uint64, opts ...Option) error {
	_, err := p.atomic(ctx, OpAtomic, core.OpAtomic, at, opts, func(m *core.Message) { m.Atomic, m.Type, m.Operand = op, typ, operand })
	return err
}

// FetchAtomic changes a value in the peer's memory and returns what was there before.
func (p *Peer) FetchAtomic(ctx context.Context, op AtomicOp, typ DataType, at Remote, operand uint64, opts ...Option) (before uint64, err error) {
	return p.atomic(ctx, OpFetchAtomic, core.OpFetchAtomic, at, opts, func(m *core.Message) { m.Atomic, m.Type, m.Operand = op, typ, operand })
}

// FetchAdd adds to a 64-bit value in the peer's memory, little-endian as the machine has it, and returns what was there before.
func (p *Peer) FetchAdd(ctx context.Context, at Remote, delta uint64, opts ...Option) (before uint64, err error) {
	return p.FetchAtomic(ctx, wire.AtomicSum, wire.TypeUint64, at, delta, opts...)
}

// CompareSwap puts next into a 64-bit value in the peer's memory if it is old, and returns what was there before.
func (p *Peer) CompareSwap(ctx context.Context, at Remote, old, next uint64, opts ...Option) (before uint64, err error) {
	return p.atomic(ctx, OpFetchAtomic, core.OpFetchAtomic, at, opts, func(m *core.Message) {
		m.Atomic, m.Type, m.Data, m.Operand = wire.AtomicCSwap, wire.TypeUint64, old, next
	})
}

func (p *Peer) atomic(ctx context.Context, op Op, what core.Op, at Remote, opts []Option, set Option) (before uint64, err error) {
	m := p.message(what, at, set, opts)
	a := action{op: op, peer: p, start: func(now core.Time, cookie uint64) error {
		m.To, m.Cookie = p.addr, cookie
		return mistake(p.endpoint.host.Send(now, m))
	}}
	err = p.endpoint.run(ctx, &a, func(v *core.Event) { before = v.Data })
	return before, err
}

func (p *Peer) message(what core.Op, at Remote, set Option, opts []Option) core.Message {
	m := core.Message{Op: what, RemoteKey: at.Key, RemoteOffset: at.Offset}
	if set != nil {
		set(&m)
	}
	for _, o := range opts {
		o(&m)
	}
	return m
}

// move carries out an operation with bytes, through a stage.
func (p *Peer) move(ctx context.Context, op Op, what core.Op, b []byte, at Remote, set Option, opts []Option) error {
	e := p.endpoint
	s, err := e.takeStage(len(b))
	if err != nil {
		return &OpError{Op: op, Peer: p.Name(), Err: err}
	}
	m := p.message(what, at, set, opts)
	m.Length = uint64(len(b))
	if what != core.OpRead {
		copy(s.bytes, b)
	}
	a := action{op: op, peer: p, stage: s, start: func(now core.Time, cookie uint64) error {
		if err := s.register(e.host); err != nil {
			return err
		}
		m.To, m.Buffer, m.Cookie = p.addr, s.buffer, cookie
		return mistake(e.host.Send(now, m))
	}}
	return e.run(ctx, &a, func(v *core.Event) {
		if what == core.OpRead && v.Err == core.NoError {
			copy(b, s.bytes)
		}
	})
}
