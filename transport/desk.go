package transport

import (
	"encoding/binary"
	"math/bits"

	"github.com/weft-transport/weft/transport/core"
)

// A desk is where streams are opened: its messages go to a receive queue of their own, deskResource.
//
//	 0       4         5      6          8        16        24          28
//	+-------+---------+------+----------+--------+---------+-----------+------------------+
//	| weft  | version | kind | reserved | stream | ring key| ring size | service, the rest|
//	+-------+---------+------+----------+--------+---------+-----------+------------------+
//
//	who dials   ── open ──────────────► who listens
//	            ◄─ taken, or refused ──
//
// All of it is of the loop.
type desk struct {
	listeners map[string]*Listener
	dials     map[uint64]*dial // by stream
	room      []byte           // of receives
	buffer    uint32
	last      uint64 // stream that was dialled
}

type dial struct {
	stream *Stream
	call   *call
}

const (
	deskResource = 1
	deskSlots    = 64 // receives
	deskSize     = 28 + maxService
	maxService   = 64
	deskMagic    = 0x77656674
	deskVersion  = 1
)

const (
	deskOpen uint8 = iota + 1
	deskTaken
	deskRefused
)

// openDesk posts the receives of the desk, once. It runs where the Host is driven.
func (e *Endpoint) openDesk(now core.Time) error {
	d := &e.desk
	if d.listeners != nil {
		return nil
	}
	d.room = make([]byte, deskSlots*deskSize)
	var err error
	if d.buffer, _, err = e.host.RegisterRegion(core.Region{Bytes: d.room}); err != nil {
		return err
	}
	d.listeners, d.dials = make(map[string]*Listener), make(map[uint64]*dial)
	for slot := range deskSlots {
		if err := e.postDesk(now, slot); err != nil {
			return err
		}
	}
	return nil
}

// postDesk posts one receive, which is posted again when it has taken a message.
func (e *Endpoint) postDesk(now core.Time, slot int) error {
	i := e.beginOwn(OpReceive)
	e.pending[i].then = func(v *core.Event) {
		if e.closed {
			return
		}
		if v.Err == core.NoError {
			e.atDesk(v, e.desk.room[slot*deskSize:][:v.Length])
		}
		e.postDesk(v.At, slot) // it has worked before
	}
	return e.host.PostReceive(now, core.Receive{Buffer: e.desk.buffer, Offset: uint64(slot * deskSize), Length: deskSize, Resource: deskResource, Cookie: e.cookie(i)})
}

// atDesk takes a message of a peer.
func (e *Endpoint) atDesk(v *core.Event, b []byte) {
	if len(b) < 28 || binary.BigEndian.Uint32(b) != deskMagic || b[4] != deskVersion {
		return
	}
	id, key, size := binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:]), binary.BigEndian.Uint32(b[24:])
	sound := bits.OnesCount32(size) == 1 && size >= leastRing && size <= mostRing
	switch b[5] {
	case deskOpen:
		e.accept(v, id, key, size, sound, string(b[28:]))
	case deskTaken:
		x := e.desk.dials[id]
		if x == nil || x.stream.addr != v.Peer {
			orphan := e.newStream(e.peer(v.Peer), v.Peer, v.At)
			orphan.remoteKey, orphan.closed, orphan.freed, orphan.stopped = key, true, true, true
			orphan.send(v.At, []core.Message{orphan.word(sayEnd, 0), orphan.word(sayStop, 0)}) // whoever wanted it has gone
			return
		}
		if !sound {
			e.desk.answer(e, x.stream, core.Failed)
			return
		}
		x.stream.connect(key, size)
		e.desk.answer(e, x.stream, core.Completed)
	case deskRefused:
		if x := e.desk.dials[id]; x != nil && x.stream.addr == v.Peer {
			e.desk.answer(e, x.stream, core.Failed)
		}
	}
}

// accept gives a listener a stream that a peer asks for.
func (e *Endpoint) accept(v *core.Event, id, key uint64, size uint32, sound bool, service string) {
	l := e.desk.listeners[service]
	s := e.newStream(e.peer(v.Peer), v.Peer, v.At)
	s.id = id
	if l == nil || !sound || !l.hasRoom() || s.listen(ringSize(e.cfg.StreamBuffer)) != nil {
		e.desk.send(v.At, e, v.Peer, deskRefused, id, 0, 0, "", nil)
		return
	}
	if s.connect(key, size); !l.offer(s) {
		s.abandon()
		e.desk.send(v.At, e, v.Peer, deskRefused, id, 0, 0, "", nil)
		return
	}
	e.desk.send(v.At, e, v.Peer, deskTaken, id, s.inKey, uint32(s.in.size), "", func(v *core.Event) {
		if err := reason(v); err != nil {
			s.mu.Lock()
			s.fail(err)
			s.mu.Unlock()
		}
	})
}

// dial asks a peer for a stream.
func (d *desk) dial(now core.Time, e *Endpoint, s *Stream, c *call, service string) error {
	d.last++
	s.id = d.last
	if err := s.listen(ringSize(e.cfg.StreamBuffer)); err != nil {
		return err
	}
	d.dials[s.id] = &dial{s, c}
	d.send(now, e, s.addr, deskOpen, s.id, s.inKey, uint32(s.in.size), service, func(v *core.Event) {
		if d.dials[s.id] != nil && v.Err != core.NoError {
			d.end(e, s, v)
		}
	})
	return nil
}

// answer ends a dial as the peer has answered.
func (d *desk) answer(e *Endpoint, s *Stream, kind core.EventKind) {
	d.end(e, s, &core.Event{Kind: kind})
}

func (d *desk) end(e *Endpoint, s *Stream, v *core.Event) {
	x := d.dials[s.id]
	delete(d.dials, s.id)
	if v.Kind != core.Completed {
		s.abandon()
	}
	x.call.event = *v
	x.call.done.Store(true)
	x.call.waiter.Wake()
}

// giveUp ends a dial whose caller has gone.
func (d *desk) giveUp(e *Endpoint, s *Stream) {
	if d.dials[s.id] != nil {
		delete(d.dials, s.id)
		s.abandon()
	}
}

// abandon gives back what a stream has that was never open.
func (s *Stream) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.free()
}

// send sends a message to another desk; then, if not nil, hears what became of it.
func (d *desk) send(now core.Time, e *Endpoint, to core.Addr, kind uint8, id, key uint64, size uint32, service string, then func(v *core.Event)) {
	i := e.beginOwn(OpDial)
	m := core.Message{To: to, Op: core.OpSend, Resource: deskResource, Cookie: e.cookie(i)}
	stage, err := e.takeStage(deskSize)
	if err == nil {
		err = stage.register(e.host)
	}
	e.pending[i].then = func(v *core.Event) {
		if stage != nil {
			e.putStage(stage)
		}
		if then != nil {
			then(v)
		}
	}
	if err == nil {
		b := stage.bytes[:28]
		binary.BigEndian.PutUint32(b, deskMagic)
		b[4], b[5], b[6], b[7] = deskVersion, kind, 0, 0
		binary.BigEndian.PutUint64(b[8:], id)
		binary.BigEndian.PutUint64(b[16:], key)
		binary.BigEndian.PutUint32(b[24:], size)
		m.Buffer, m.Length = stage.buffer, uint64(len(append(b, service...)))
		err = e.host.Send(now, m)
	}
	if err != nil {
		e.finish(i, &core.Event{Kind: core.Failed, Err: core.ClosedInError, Cookie: m.Cookie})
	}
}
