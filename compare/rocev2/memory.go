package rocev2

import "github.com/weft-transport/weft/transport/core"

// Register makes b a buffer that messages may come from and go to, and returns its handle, which is also
// its R_Key. The bytes stay the application's; those of a message must not change before it completed.
func (h *Host) Register(b []byte) uint32 {
	h.buffers = append(h.buffers, b)
	return uint32(len(h.buffers))
}

var _ core.Memory = (*Host)(nil)

// ReadAt copies from a registered buffer. What lies outside reads as nothing.
func (h *Host) ReadAt(buffer uint32, offset uint64, dst []byte) {
	if h.holds(buffer, offset, uint64(len(dst))) {
		copy(dst, h.buffers[buffer-1][offset:])
	}
}

// holds tells whether length bytes at offset lie within a registered buffer.
func (h *Host) holds(buffer uint32, offset, length uint64) bool {
	if buffer == 0 || int(buffer) > len(h.buffers) {
		return false
	}
	size := uint64(len(h.buffers[buffer-1]))
	return offset <= size && length <= size-offset
}

// admits tells whether the peer may write there. A host without registered buffers takes every key as a
// virtual buffer; a WRITE without bytes touches none.
func (h *Host) admits(key uint32, va uint64, length uint32) bool {
	return length == 0 || len(h.buffers) == 0 || h.holds(key, va, uint64(length))
}

// place puts the payload of p where it belongs. A virtual payload has no bytes, but a place: its offset is
// the address it was meant for, which must be the address that the headers led to.
func (h *Host) place(p *core.Packet, key uint32, va uint64) {
	if p.Payload.Length == 0 {
		return
	}
	if p.Payload.Buffer == 0 {
		if p.Payload.Offset != va {
			h.misfits++
		}
		return
	}
	if len(h.buffers) == 0 || h.cfg.Remote == nil {
		return
	}
	source := h.cfg.Remote(p.Payload.Owner)
	if source == nil {
		return
	}
	source.ReadAt(p.Payload.Buffer, p.Payload.Offset, h.buffers[key-1][va:va+uint64(p.Payload.Length)])
}
