package carrier

import (
	"encoding/binary"
	"io"
	"sync"
	"sync/atomic"

	"github.com/weft-transport/weft/transport/core"
)

// A message on a stream is its number and its length, eight bytes each, and what it carries; the answer is its number.
const (
	headBytes   = 16
	answerBytes = 8
	chunk       = 32 << 10 // of one write
)

// Pipes is what fleets of streams have in common: both ends of a message, and what they tell the player.
type pipes struct {
	player    *player
	delivered atomic.Uint64 // bytes of messages
	done      atomic.Uint64 // messages
	closing   atomic.Bool
	all       sync.WaitGroup // goroutines
}

var zeros [chunk]byte

// put writes a message.
func (p *pipes) put(w io.Writer, id int, length uint64) error {
	var head [headBytes]byte
	binary.BigEndian.PutUint64(head[:], uint64(id))
	binary.BigEndian.PutUint64(head[8:], length)
	_, err := w.Write(head[:])
	for err == nil && length > 0 {
		n := min(length, chunk)
		_, err = w.Write(zeros[:n])
		length -= n
	}
	return err
}

// serve reads messages, says that they are there, and answers, until the stream ends.
func (p *pipes) serve(s io.ReadWriter) error {
	for {
		var head [headBytes]byte
		if _, err := io.ReadFull(s, head[:]); err != nil {
			return err
		}
		id, length := binary.BigEndian.Uint64(head[:]), binary.BigEndian.Uint64(head[8:])
		n, err := io.CopyN(io.Discard, s, int64(length))
		p.delivered.Add(uint64(n))
		if err != nil {
			return err
		}
		p.player.tell(ending{kind: core.Delivered, id: int(id), at: p.player.clock(), bytes: length})
		if _, err := s.Write(head[:answerBytes]); err != nil {
			return err
		}
	}
}

// answered reads an answer, and says that its message is complete.
func (p *pipes) answered(r io.Reader) (id int, err error) {
	var answer [answerBytes]byte
	if _, err := io.ReadFull(r, answer[:]); err != nil {
		return 0, err
	}
	id = int(binary.BigEndian.Uint64(answer[:]))
	p.done.Add(1)
	p.player.tell(ending{kind: core.Completed, id: id, at: p.player.clock()})
	return id, nil
}

// failed says that a message will not arrive, unless it is this end that closes.
func (p *pipes) failed(id int) {
	if !p.closing.Load() {
		p.player.tell(ending{kind: core.Failed, id: id, at: p.player.clock()})
	}
}

// totals are the counters of messages.
func (p *pipes) totals() core.Counters {
	return core.Counters{DeliveredBytes: p.delivered.Load(), MessagesSent: p.done.Load()}
}
