package transport

import (
	"context"
	"fmt"

	"github.com/weft-transport/weft/transport/core"
)

// A Message is what a Receive has got.
type Message struct {
	From    *Peer
	Length  int
	Tag     uint64 // of a tagged one
	Data    uint64 // WithData
	HasData bool
}

// A Match says which messages a receive takes. The zero Match takes untagged ones from anybody.
type Match struct {
	Tagged   bool // takes tagged messages whose tag is Tag in all bits but those of Ignore
	Tag      uint64
	Ignore   uint64
	From     *Peer  // nil: anybody
	Resource uint16 // receive queue; 0 is the first
}

// Receive waits for a message and puts it into b. A message that is longer than b is lost to both ends: ErrTooLong.
// When ctx ends while a message is coming, it is waited for: until it is there, or is known not to come.
func (e *Endpoint) Receive(ctx context.Context, b []byte) (Message, error) {
	return e.ReceiveMatch(ctx, b, Match{})
}

// ReceiveMatch is Receive for the messages that match.
func (e *Endpoint) ReceiveMatch(ctx context.Context, b []byte, match Match) (got Message, err error) {
	r, err := match.receive(e, uint64(len(b)))
	if err != nil {
		return got, &OpError{Op: OpReceive, Err: err}
	}
	s, err := e.takeStage(len(b))
	if err != nil {
		return got, &OpError{Op: OpReceive, Err: err}
	}
	a := action{op: OpReceive, stage: s, cancel: e.host.CancelReceive, start: func(now core.Time, cookie uint64) error {
		if err := s.register(e.host); err != nil {
			return err
		}
		r.Buffer, r.Cookie = s.buffer, cookie
		return mistake(e.host.PostReceive(now, r))
	}}
	err = e.run(ctx, &a, func(v *core.Event) {
		got = e.message(v)
		if v.Err == core.NoError {
			copy(b, s.bytes[:v.Length])
		}
	})
	return got, err
}

func (m *Match) receive(e *Endpoint, length uint64) (core.Receive, error) {
	r := core.Receive{Length: length, Resource: m.Resource, Tagged: m.Tagged, Tag: m.Tag, Ignore: m.Ignore}
	if m.From != nil {
		if m.From.endpoint != e {
			return r, fmt.Errorf("%w: a receive from a peer of another endpoint", ErrConfig)
		}
		r.OnlyFrom, r.From = true, m.From.addr
	}
	return r, nil
}

func (e *Endpoint) message(v *core.Event) Message {
	return Message{From: e.peer(v.Peer), Length: int(v.Length), Tag: v.RemoteKey, Data: v.Data, HasData: v.HasData}
}
