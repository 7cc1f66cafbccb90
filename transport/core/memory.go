package core

import (
	"errors"
	"fmt"
	"math"

	"github.com/weft-transport/weft/transport/wire"
)

// Access is what peers may do with registered memory. The zero value is nothing: a buffer for local use.
type Access uint8

// Rights of peers.
const (
	RemoteWrite Access = 1 << iota
	RemoteRead
	RemoteAtomic
	Idempotent // by mode RUDI: what is done twice has the effect of once. The key has IdempotentKey set
)

const allAccess = RemoteWrite | RemoteRead | RemoteAtomic

// IdempotentKey is the bit of a memory key that says that it may be used in mode RUDI ("IDEMPOTENT_SAFE").
const IdempotentKey uint64 = 1 << 63

// A Region is memory to register.
type Region struct {
	Bytes  []byte
	Access Access
	Later  int    // bytes, instead of Bytes: they are made when they are first written (Bytes of the Endpoint)
	Key    uint64 // by which peers name it; 0: the buffer's number, with IdempotentKey if Access has Idempotent
}

// Errors of RegisterRegion about keys.
var (
	ErrKey       = errors.New("memory key in use")
	ErrKeyAccess = errors.New("only keys for the access Idempotent have bit 63, and all of them have it") // IdempotentKey
)

// A registry of buffers: numbers are handed out upwards and never used again, so that a key that was taken back is refused, and a payload
// that is still under way, which names its buffer by number, is not read from another's. That costs 40 bytes for each
// registration there ever was; whoever registers often should keep memory registered, as package transport does with its stages.
type bufferTable struct {
	buffers [][]byte // by number; nil: taken back. Number 0 is virtual
	rights  []rights // by number
	byKey   lookup   // keys that are not the buffer's number
}

type rights struct {
	key    uint64
	later  uint32 // bytes that are not made yet
	access Access
}

// Bytes returns the memory of a buffer; nil: there is none, or it was registered for later and nothing was written to it.
func (e *Endpoint) Bytes(buffer uint32) []byte {
	if !e.holds(buffer, 0, 0) || e.memory.rights[buffer].later > 0 {
		return nil
	}
	return e.memory.buffers[buffer]
}

// bytesOf returns the memory of a buffer that there is, for whoever writes to it or reads it.
func (e *Endpoint) bytesOf(buffer uint32) []byte {
	t := &e.memory
	if r := &t.rights[buffer]; r.later > 0 {
		t.buffers[buffer], r.later = make([]byte, r.later), 0
	}
	return t.buffers[buffer]
}

// Register makes memory known and returns its number: the Buffer of local messages, and the
// RemoteKey by which peers write to it, read it and change it. The endpoint keeps b until Deregister.
func (e *Endpoint) Register(b []byte) uint32 {
	buffer, _, err := e.RegisterRegion(Region{Bytes: b, Access: allAccess})
	if err != nil {
		panic(err) // a number is never in use as a key
	}
	return buffer
}

// RegisterRegion makes memory known and returns its number, the Buffer of local messages and receives, and the key
// by which peers name it. The endpoint keeps the bytes until Deregister; they may be read at any time, and are
// written when a peer does what Access allows.
func (e *Endpoint) RegisterRegion(r Region) (buffer uint32, key uint64, err error) {
	t := &e.memory
	if len(t.buffers) == 0 {
		t.buffers, t.rights = append(t.buffers, nil), append(t.rights, rights{})
	}
	for r.Key == 0 && e.inUse(uint64(len(t.buffers))) { // somebody has chosen that number as a key
		t.buffers, t.rights = append(t.buffers, nil), append(t.rights, rights{})
	}
	buffer, key = uint32(len(t.buffers)), r.Key
	if key == 0 {
		if key = uint64(buffer); r.Access&Idempotent != 0 {
			key |= IdempotentKey
		}
	}
	if r.Later < 0 || int64(r.Later) > math.MaxUint32 || r.Later > 0 && r.Bytes != nil {
		return 0, 0, fmt.Errorf("core: register %d bytes for later: %w", r.Later, ErrBuffer)
	}
	if key&IdempotentKey != 0 != (r.Access&Idempotent != 0) {
		return 0, 0, fmt.Errorf("core: register key %#x: %w", r.Key, ErrKeyAccess)
	}
	if e.inUse(key) {
		return 0, 0, fmt.Errorf("core: register key %#x: %w", r.Key, ErrKey)
	}
	if r.Bytes == nil {
		r.Bytes = []byte{}
	}
	t.buffers, t.rights = append(t.buffers, r.Bytes), append(t.rights, rights{key, uint32(r.Later), r.Access})
	if key != uint64(buffer) {
		t.byKey.remove(key)
		t.byKey.put(key, buffer)
	}
	return buffer, key, nil
}

// inUse tells whether a key names a buffer that was not taken back.
func (e *Endpoint) inUse(key uint64) bool {
	b := e.bufferOf(key)
	return b != 0 && e.memory.buffers[b] != nil
}

// Deregister takes a buffer back. Peers that use it from then on are refused with BAD_MKEY.
// The buffer must not be the source of an open message.
func (e *Endpoint) Deregister(buffer uint32) {
	t := &e.memory
	if int(buffer) >= len(t.buffers) {
		return
	}
	t.buffers[buffer], t.rights[buffer].later = nil, 0
	if key := t.rights[buffer].key; e.cfg.OnlyRegistered && key != uint64(buffer) && t.byKey.get(key) == buffer {
		t.byKey.remove(key) // where other keys are virtual memory, this one stays known
	}
}

// bufferOf returns the number of the buffer that a key names or has named; 0: none.
func (e *Endpoint) bufferOf(key uint64) uint32 {
	t := &e.memory
	if t.byKey.used != 0 {
		if b := t.byKey.get(key); b != 0 {
			return b
		}
	}
	if key < uint64(len(t.rights)) && t.rights[key].key == key {
		return uint32(key)
	}
	return 0
}

// reach tells whether a peer may do something with a range of what a key names, and returns the buffer: 0 is virtual
// memory, of which everything is allowed.
func (e *Endpoint) reach(key, offset, length uint64, need Access) (buffer uint32, result wire.ReturnCode) {
	buffer = e.bufferOf(key)
	switch {
	case buffer == 0:
		if e.cfg.OnlyRegistered {
			return 0, wire.RCBadMKey
		}
	case e.memory.buffers[buffer] == nil:
		return 0, wire.RCBadMKey
	case e.memory.rights[buffer].access&need != need:
		return 0, wire.RCPermViolation
	case !e.holds(buffer, offset, length):
		return 0, wire.RCBadAddr
	}
	return buffer, wire.RCOK
}

// ReadAt copies from a registered buffer; it implements Memory. What lies outside is zero.
func (e *Endpoint) ReadAt(buffer uint32, offset uint64, dst []byte) {
	if !e.holds(buffer, offset, uint64(len(dst))) {
		clear(dst)
		return
	}
	copy(dst, e.bytesOf(buffer)[offset:])
}

// holds tells whether a range lies within a registered buffer.
func (e *Endpoint) holds(buffer uint32, offset, length uint64) bool {
	if buffer == 0 || uint64(buffer) >= uint64(len(e.memory.buffers)) || e.memory.buffers[buffer] == nil {
		return false
	}
	size := uint64(len(e.memory.buffers[buffer])) + uint64(e.memory.rights[buffer].later)
	return offset <= size && length <= size-offset
}

// place copies a payload into a buffer, where it fits. Virtual payloads, and virtual
// destinations, have no bytes.
func (e *Endpoint) place(p *Payload, buffer uint32, offset uint64) {
	if p.Buffer == 0 || p.Length == 0 || buffer == 0 || e.cfg.Remote == nil {
		return
	}
	e.fetch(p, 0, e.bytesOf(buffer)[offset:offset+uint64(p.Length)])
}

// fetch copies bytes of a payload, from at on, to dst.
func (e *Endpoint) fetch(p *Payload, at int, dst []byte) {
	if p.Buffer == 0 || e.cfg.Remote == nil {
		clear(dst)
	} else if m := e.cfg.Remote(p.Owner); m != nil {
		m.ReadAt(p.Buffer, p.Offset+uint64(at), dst)
	}
}

// behind copies what follows the first at bytes of a packet to dst, and returns how much there was. A sender has
// operands and short answers in the header; what came through a socket may have them in the payload.
func (e *Endpoint) behind(p *Packet, at int, dst []byte) int {
	n := copy(dst, p.Header[min(at, int(p.HeaderLen)):p.HeaderLen])
	if more := min(len(dst)-n, int(p.Payload.Length)); more > 0 {
		e.fetch(&p.Payload, 0, dst[n:n+more])
		n += more
	}
	return n
}
