package live

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/weft-transport/weft/transport/core"
)

// A train is what a kernel hands over as one packet of up to 64 KiB and means as many: each has a copy of the headers, and a
// piece of the payload. Every packet of it crosses the network by itself, and meets its own losses, marks and delays; what
// still stands side by side behind the network goes to the other kernel as one again, without having been copied, and
// without a checksum: the kernels trust each other, as those of two virtual machines on one host.
type train struct {
	buf     []byte // what the kernel says about the packet (virtioBytes), the packet
	ip      int    // bytes of its IP header
	head    int    // bytes of all headers
	piece   int    // bytes of payload of all packets but the last
	parcels []parcel
	left    atomic.Int32 // parcels that are under way
}

// virtioBytes is the length of struct virtio_net_hdr, which is in front of packets of a TUN device.
const virtioBytes = 10

// Of struct virtio_net_hdr: flags, kind of segments, bytes of headers, bytes of a piece, where the sum starts, where it goes.
const (
	needsSum  = 1 // flag: the transport's checksum is only that of the pseudo header
	gsoTCP    = 1
	gsoUDP    = 5
	gsoECN    = 0x80
	protoTCP  = 6
	protoUDP  = 17
	flagFIN   = 1 << 0
	flagPSH   = 1 << 3
	flagCWR   = 1 << 7
	leastIPv4 = 20
	leastTCP  = 20
	leastUDP  = 8
)

var native = binary.NativeEndian

// couple takes a buffer apart, as the kernel has filled it; false: it is no train.
func (t *train) couple(buf []byte) bool {
	t.buf = buf
	b := buf[virtioBytes:]
	kind := buf[1] &^ gsoECN
	if len(b) < leastIPv4 || b[0]>>4 != 4 {
		return false
	}
	t.ip = int(b[0]&15) * 4
	switch {
	case kind == gsoTCP && b[9] == protoTCP && len(b) >= t.ip+leastTCP:
		t.head = t.ip + int(b[t.ip+12]>>4)*4
	case kind == gsoUDP && b[9] == protoUDP && len(b) >= t.ip+leastUDP:
		t.head = t.ip + leastUDP
	default:
		return false
	}
	t.piece = int(native.Uint16(buf[4:]))
	if t.piece == 0 || t.head >= len(b) {
		return false
	}
	n := (len(b) - t.head + t.piece - 1) / t.piece
	if cap(t.parcels) < n {
		t.parcels = make([]parcel, n)
	}
	t.parcels = t.parcels[:n]
	t.left.Store(int32(n))
	return true
}

// payload is that of the packets from one to before another.
func (t *train) payload(from, to int) []byte {
	all := t.buf[virtioBytes+t.head:]
	return all[from*t.piece : min(to*t.piece, len(all))]
}

// size is the length of a packet, IP header included.
func (t *train) size(i int) int { return t.head + len(t.payload(i, i+1)) }

// headers appends those of one packet that stands for a part of the train, with what the kernel is told about it.
func (t *train) headers(dst []byte, from, to int, ecn core.ECN) []byte {
	start := len(dst)
	dst = append(dst, t.buf[:virtioBytes+t.head]...)
	v, b := dst[start:], dst[start+virtioBytes:]
	bytes := t.head + len(t.payload(from, to))
	tcp := b[9] == protoTCP
	v[0], v[1] = needsSum, v[1]&^gsoECN
	native.PutUint16(v[2:], uint16(t.head))
	native.PutUint16(v[6:], uint16(t.ip))
	if to-from == 1 {
		v[1] = 0
		native.PutUint16(v[4:], 0)
	}
	b[1] = b[1]&^3 | byte(ecn)
	binary.BigEndian.PutUint16(b[2:], uint16(bytes))
	binary.BigEndian.PutUint16(b[4:], binary.BigEndian.Uint16(b[4:])+uint16(from))
	binary.BigEndian.PutUint16(b[10:], 0)
	binary.BigEndian.PutUint16(b[10:], ^fold(sum(b[:t.ip])))
	x := b[t.ip:]
	at := 6 // of UDP's checksum
	if tcp {
		at = 16
		binary.BigEndian.PutUint32(x[4:], binary.BigEndian.Uint32(x[4:])+uint32(from*t.piece))
		if to < len(t.parcels) {
			x[13] &^= flagFIN | flagPSH
		}
		if from > 0 {
			x[13] &^= flagCWR
		}
	} else {
		binary.BigEndian.PutUint16(x[4:], uint16(bytes-t.ip))
	}
	native.PutUint16(v[8:], uint16(at))
	binary.BigEndian.PutUint16(x[at:], fold(sum(b[12:20])+uint64(b[9])+uint64(bytes-t.ip)))
	return dst
}

// complete gives a packet the checksum that what the kernel says about it leaves out.
func complete(virtio, b []byte) {
	start := int(native.Uint16(virtio[6:]))
	at := start + int(native.Uint16(virtio[8:]))
	if virtio[0]&needsSum == 0 || at+2 > len(b) {
		return
	}
	virtio[0] &^= needsSum
	s := ^fold(sum(b[start:]))
	if s == 0 && b[9] == protoUDP {
		s = 0xffff
	}
	binary.BigEndian.PutUint16(b[at:], s)
}

// sum adds up the 16-bit words of b.
func sum(b []byte) (s uint64) {
	for ; len(b) >= 4; b = b[4:] {
		s += uint64(binary.BigEndian.Uint32(b))
	}
	if len(b) >= 2 {
		s += uint64(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) > 0 {
		s += uint64(b[0]) << 8
	}
	return s
}

func fold(s uint64) uint16 {
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return uint16(s)
}
