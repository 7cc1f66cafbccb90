package core

// A registry of buffers: numbers are handed out upwards and never used again, so that a key that
// was taken back is refused.
type bufferTable struct {
	buffers [][]byte // by number; nil: taken back. Number 0 is virtual
}

// Register makes memory known and returns its number: the Buffer of local messages, and the
// RemoteKey by which peers write to it. The endpoint keeps b until Deregister.
func (e *Endpoint) Register(b []byte) uint32 {
	if len(e.memory.buffers) == 0 {
		e.memory.buffers = append(e.memory.buffers, nil)
	}
	if b == nil {
		b = []byte{}
	}
	e.memory.buffers = append(e.memory.buffers, b)
	return uint32(len(e.memory.buffers) - 1)
}

// Deregister takes a buffer back. Peers that write to it from then on are refused with BAD_MKEY.
// The buffer must not be the source of an open message.
func (e *Endpoint) Deregister(buffer uint32) {
	if int(buffer) < len(e.memory.buffers) {
		e.memory.buffers[buffer] = nil
	}
}

// ReadAt copies from a registered buffer; it implements Memory. What lies outside is zero.
func (e *Endpoint) ReadAt(buffer uint32, offset uint64, dst []byte) {
	if !e.holds(buffer, offset, uint64(len(dst))) {
		clear(dst)
		return
	}
	copy(dst, e.memory.buffers[buffer][offset:])
}

// holds tells whether a range lies within a registered buffer.
func (e *Endpoint) holds(buffer uint32, offset, length uint64) bool {
	if buffer == 0 || uint64(buffer) >= uint64(len(e.memory.buffers)) || e.memory.buffers[buffer] == nil {
		return false
	}
	size := uint64(len(e.memory.buffers[buffer]))
	return offset <= size && length <= size-offset
}

// known tells whether a key was ever registered here.
func (e *Endpoint) known(key uint64) bool { return key != 0 && key < uint64(len(e.memory.buffers)) }

// place copies a payload to where a message wants it. Virtual payloads, and virtual
// destinations, have no bytes.
func (e *Endpoint) place(p *Payload, key, offset uint64) {
	if p.Buffer == 0 || p.Length == 0 || !e.known(key) || e.cfg.Remote == nil {
		return
	}
	if m := e.cfg.Remote(p.Owner); m != nil {
		m.ReadAt(p.Buffer, p.Offset, e.memory.buffers[key][offset:offset+uint64(p.Length)])
	}
}
