package rocev2

import (
	"fmt"

	"github.com/weft-transport/weft/transport/core"
)

// Access says what a region may be used for. Its owner may always read it.
type Access uint8

// Rights of a Region.
const (
	LocalWrite Access = 1 << iota // by receives, READs and atomics of the owner
	RemoteWrite
	RemoteRead
	RemoteAtomic

	AllAccess = LocalWrite | RemoteWrite | RemoteRead | RemoteAtomic
)

// A Region is registered memory.
type Region struct {
	Bytes  []byte // stay the application's; those of an operation must not change before it completed
	Base   uint64 // the virtual address by which peers call the first byte
	Key    uint32 // the R_Key; 0: the handle
	Access Access
}

// Register makes b a buffer that messages may come from and go to, with all rights and the base address 0, and
// returns its handle, which is also its R_Key.
func (h *Host) Register(b []byte) uint32 {
	for h.keys[uint32(len(h.regions)+1)] != 0 { // the key of a region that chose it
		h.regions = append(h.regions, Region{})
	}
	h.regions = append(h.regions, Region{Bytes: b, Key: uint32(len(h.regions) + 1), Access: AllAccess})
	return uint32(len(h.regions))
}

// RegisterRegion registers memory under a key, an address and rights of the caller's choice, and returns the handle by
// which work requests of this host call it. The error is about a key that is taken.
func (h *Host) RegisterRegion(r Region) (buffer uint32, err error) {
	if r.Key == 0 {
		buffer = h.Register(r.Bytes)
		h.regions[buffer-1].Base, h.regions[buffer-1].Access = r.Base, r.Access
		return buffer, nil
	}
	if h.handle(r.Key) != 0 {
		return 0, fmt.Errorf("rocev2: host %d: R_Key %#x is taken", h.self, r.Key)
	}
	if h.keys == nil {
		h.keys = make(map[uint32]uint32)
	}
	h.regions = append(h.regions, r)
	buffer = uint32(len(h.regions))
	h.keys[r.Key] = buffer
	return buffer, nil
}

// handle returns the handle of the region with an R_Key, 0 if there is none.
func (h *Host) handle(key uint32) uint32 {
	if n := key - 1; int(n) < len(h.regions) && h.regions[n].Key == key {
		return key
	}
	return h.keys[key]
}

// invalidate takes the rights of peers away from the region with an R_Key (SEND with invalidate).
func (h *Host) invalidate(key uint32) {
	if n := h.handle(key); n != 0 {
		h.regions[n-1].Access &= LocalWrite
	}
}

var _ core.Memory = (*Host)(nil)

// ReadAt copies from a registered buffer. What lies outside reads as nothing.
func (h *Host) ReadAt(buffer uint32, offset uint64, dst []byte) {
	if h.holds(buffer, offset, uint64(len(dst))) {
		copy(dst, h.regions[buffer-1].Bytes[offset:])
	}
}

// holds tells whether length bytes at offset lie within a registered buffer.
func (h *Host) holds(buffer uint32, offset, length uint64) bool {
	if buffer == 0 || int(buffer) > len(h.regions) {
		return false
	}
	size := uint64(len(h.regions[buffer-1].Bytes))
	return offset <= size && length <= size-offset
}

// admits tells whether the peer may do there what needs the given right. A host without registered buffers
// takes every key as a virtual buffer; an operation without bytes touches none.
func (h *Host) admits(key uint32, va uint64, length uint32, right Access) bool {
	if length == 0 || len(h.regions) == 0 {
		return true
	}
	n := h.handle(key)
	return n != 0 && h.regions[n-1].Access&right != 0 && h.holds(n, va-h.regions[n-1].Base, uint64(length))
}

// place puts the payload of p, which was admitted, where key and address say.
func (h *Host) place(p *core.Packet, key uint32, va uint64) {
	n, offset := uint32(0), va
	if len(h.regions) > 0 && p.Payload.Length > 0 {
		n = h.handle(key)
		offset -= h.regions[n-1].Base
	}
	h.placeIn(p, n, offset, va)
}

// placeIn puts the payload of p into a buffer, unless that is 0. A virtual payload has no bytes, but a place: its
// offset is the address that it was meant for, which must be the one that the headers led to.
func (h *Host) placeIn(p *core.Packet, buffer uint32, offset, meant uint64) {
	if p.Payload.Length == 0 {
		return
	}
	if p.Payload.Buffer == 0 {
		if p.Payload.Offset != meant {
			h.misfits++
		}
		return
	}
	if buffer == 0 || h.cfg.Remote == nil {
		return
	}
	source := h.cfg.Remote(p.Payload.Owner)
	if source == nil {
		return
	}
	source.ReadAt(p.Payload.Buffer, p.Payload.Offset, h.regions[buffer-1].Bytes[offset:offset+uint64(p.Payload.Length)])
}
