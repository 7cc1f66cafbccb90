package core

import (
	"encoding/binary"
	"math"

	"github.com/weft-transport/weft/transport/wire"
)

// Atomics change one operand in registered memory, where it has the byte order of the machines that this project
// knows, little-endian, and lies at a multiple of its size. On the wire operands are big-endian, behind a four-byte
// extension of the standard header:
//
//	| op, type, 0, 0 | operand, 1 to 8 bytes |
//	| op, type, 0, 0 | compare, 16 bytes     | swap, 16 bytes |   compare-and-swap and MSWAP
//
// The fetched value comes back in the ACK and is kept until it is cleared, so that a request that is sent again is
// answered without being carried out again.

// atomicWidth is the size of an operand in bytes; 0: not supported.
func atomicWidth(t wire.DataType) int {
	switch t {
	case wire.TypeInt8, wire.TypeUint8:
		return 1
	case wire.TypeInt16, wire.TypeUint16:
		return 2
	case wire.TypeInt32, wire.TypeUint32, wire.TypeFloat:
		return 4
	case wire.TypeInt64, wire.TypeUint64, wire.TypeDouble:
		return 8
	}
	return 0
}

// operandSize is the length of the operands on the wire, which is the request length.
func operandSize(op wire.AtomicOp, t wire.DataType) int {
	if op.Swaps() {
		return wire.CompareSwapSize - wire.AtomicSize
	}
	return atomicWidth(t)
}

// checkAtomic finds mistakes in the operation of a message, and sets its length.
func (e *Endpoint) checkAtomic(m *Message) error {
	if _, ok := combine(m.Atomic, m.Type, 0, 0, 0); !ok {
		return ErrOperand
	}
	m.Length = uint64(operandSize(m.Atomic, m.Type))
	if m.Op == OpFetchAtomic && m.Buffer != 0 && !e.holds(m.Buffer, m.Offset, uint64(atomicWidth(m.Type))) {
		return ErrBuffer
	}
	return nil
}

// putOperands writes the extension and the operands of an atomic, and returns their length.
func putOperands(o *operation, b []byte) int {
	x := wire.CompareSwap{Atomic: wire.Atomic{Op: o.amo, DataType: o.dataType}, CompareLow: o.data, SwapLow: o.operand}
	if o.amo.Swaps() {
		return x.Put(b)
	}
	n := x.Atomic.Put(b)
	width := atomicWidth(o.dataType)
	putBig(b[n:], o.operand, width)
	return n + width
}

func putBig(b []byte, v uint64, width int) {
	for i := range width {
		b[i] = byte(v >> (8 * (width - 1 - i)))
	}
}

func getBig(b []byte) (v uint64) {
	for _, c := range b {
		v = v<<8 | uint64(c)
	}
	return v
}

// performAtomic carries out an atomic.
func (e *Endpoint) performAtomic(p *Packet, s *wire.Standard, ses []byte, o *response) wire.NackCode {
	room := e.scratch[:]
	n := e.behind(p, int(p.HeaderLen)-len(ses)+wire.StandardSize, room)
	x, why := wire.ParseAtomic(room[:n])
	if why != wire.OK {
		return malformedRequest
	}
	width, size := atomicWidth(x.DataType), operandSize(x.Op, x.DataType)
	_, known := combine(x.Op, x.DataType, 0, 0, 0)
	switch {
	case width == 0:
		o.result = wire.RCAMOUnsupportedDT
	case !known:
		o.result = wire.RCAMOUnsupportedOp
	case int(s.RequestLength) != size || n < wire.AtomicSize+size:
		o.result = wire.RCAMOUnsupportedLen
	case s.BufferOffset%uint64(width) != 0:
		o.result = wire.RCAMOUnaligned
	}
	if o.result != wire.RCOK {
		return 0
	}
	if s.Opcode == wire.OpFetchingAtomic && o.full {
		return wire.NackNoGtdDel
	}
	buffer, result := e.reach(s.Key, s.BufferOffset, uint64(width), RemoteAtomic)
	if o.result = result; result != wire.RCOK {
		return 0
	}
	operands := room[wire.AtomicSize : wire.AtomicSize+size]
	operand, compare := getBig(operands[max(0, len(operands)-8):]), uint64(0)
	if x.Op.Swaps() {
		compare = getBig(operands[8:16])
	}
	old := uint64(0)
	if buffer != 0 {
		var word [8]byte
		at := e.bytesOf(buffer)[s.BufferOffset : s.BufferOffset+uint64(width)]
		copy(word[:], at)
		old = binary.LittleEndian.Uint64(word[:])
		v, _ := combine(x.Op, x.DataType, old, operand, compare)
		binary.LittleEndian.PutUint64(word[:], v)
		copy(at, word[:width])
	}
	if s.Opcode == wire.OpFetchingAtomic {
		o.op, o.size, o.length = wire.RespWithData, uint8(width), s.RequestLength
		putBig(o.data[:], old, width)
	}
	return 0
}

// takeFetched takes the value that a fetching atomic found; false if it is not one.
func (e *Endpoint) takeFetched(m *sendMessage, o *operation, b []byte) bool {
	width := atomicWidth(o.dataType)
	if len(b) != width {
		return false
	}
	o.data = getBig(b)
	if m.buffer != 0 && e.holds(m.buffer, m.offset, uint64(width)) {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], o.data)
		copy(e.bytesOf(m.buffer)[m.offset:], word[:width])
	}
	return true
}

// combine returns what an atomic leaves in memory, in the low bits; false if the operation is not for that type.
func combine(op wire.AtomicOp, t wire.DataType, old, operand, compare uint64) (uint64, bool) {
	width := atomicWidth(t)
	if width == 0 || op > wire.AtomicMSwap {
		return 0, false
	}
	switch op {
	case wire.AtomicRead:
		return old, true
	case wire.AtomicWrite:
		return operand, true
	case wire.AtomicMSwap:
		return old&^compare | operand&compare, t != wire.TypeFloat && t != wire.TypeDouble
	}
	switch t {
	case wire.TypeFloat:
		v, ok := arithmetic(op, math.Float32frombits(uint32(old)), math.Float32frombits(uint32(operand)), math.Float32frombits(uint32(compare)))
		return uint64(math.Float32bits(v)), ok
	case wire.TypeDouble:
		v, ok := arithmetic(op, math.Float64frombits(old), math.Float64frombits(operand), math.Float64frombits(compare))
		return math.Float64bits(v), ok
	}
	shift := 64 - 8*width
	if t%2 == 0 { // the signed types
		a, b, c := int64(old<<shift)>>shift, int64(operand<<shift)>>shift, int64(compare<<shift)>>shift
		if v, ok := logic(op, a, b); ok {
			return uint64(v), true
		}
		v, ok := arithmetic(op, a, b, c)
		return uint64(v), ok
	}
	a, b, c := old<<shift>>shift, operand<<shift>>shift, compare<<shift>>shift
	if v, ok := logic(op, a, b); ok {
		return v, true
	}
	return arithmetic(op, a, b, c)
}

// arithmetic is what all types have.
func arithmetic[T int64 | uint64 | float32 | float64](op wire.AtomicOp, old, operand, compare T) (T, bool) {
	swap := false
	switch op {
	case wire.AtomicMin:
		return min(old, operand), true
	case wire.AtomicMax:
		return max(old, operand), true
	case wire.AtomicSum:
		return old + operand, true
	case wire.AtomicDiff:
		return old - operand, true
	case wire.AtomicProd:
		return old * operand, true
	case wire.AtomicCSwap:
		swap = compare == old
	case wire.AtomicCSwapNE:
		swap = compare != old
	case wire.AtomicCSwapLE:
		swap = compare <= old
	case wire.AtomicCSwapLT:
		swap = compare < old
	case wire.AtomicCSwapGE:
		swap = compare >= old
	case wire.AtomicCSwapGT:
		swap = compare > old
	default:
		return 0, false
	}
	if swap {
		return operand, true
	}
	return old, true
}

// logic is what integers have besides.
func logic[T int64 | uint64](op wire.AtomicOp, old, operand T) (T, bool) {
	truth := func(b bool) T {
		if b {
			return 1
		}
		return 0
	}
	switch op {
	case wire.AtomicLogicalOr:
		return truth(old != 0 || operand != 0), true
	case wire.AtomicLogicalAnd:
		return truth(old != 0 && operand != 0), true
	case wire.AtomicLogicalXor:
		return truth((old != 0) != (operand != 0)), true
	case wire.AtomicBitOr:
		return old | operand, true
	case wire.AtomicBitAnd:
		return old & operand, true
	case wire.AtomicBitXor:
		return old ^ operand, true
	}
	return 0, false
}
