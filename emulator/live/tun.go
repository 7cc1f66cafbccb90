package live

import (
	"fmt"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/splitmix"
)

// A TUN is a network device of the kernel that is a host of the fabric: any program can use it, through the kernel's
// own TCP and UDP. The kernel hands over segments of up to 64 KiB, which are cut to packets before the network sees
// them and put together again behind it, so that every loss, mark and delay meets one packet (train.go).
type TUN struct {
	gate   *gate
	file   *os.File
	raw    syscall.RawConn
	ended  atomic.Bool
	all    sync.WaitGroup
	out    inbox        // to the kernel
	queued atomic.Int32 // in out, and not written yet
	wake   chan struct{}
}

// maxWaiting is how many packets wait for the kernel at most.
const maxWaiting = 8192

// AttachTUN makes a device called name, in the current network namespace of the calling thread, the host of a fabric.
// mtu is the size of packets, IP header included. Close, or the fabric's, removes it. Addresses and routes are the
// caller's: the host has the address AddrOf(host).
func (f *Fabric) AttachTUN(host int, name string, mtu int) (*TUN, error) {
	if host < 0 || host >= len(f.gates) {
		return nil, fmt.Errorf("live: no host %d; expected 0 to %d", host, len(f.gates)-1)
	}
	if mtu < 576 || mtu > MaxDatagram {
		return nil, fmt.Errorf("live: an MTU of %d; expected 576 to %d", mtu, MaxDatagram)
	}
	file, err := openTUN(name, mtu)
	if err != nil {
		return nil, fmt.Errorf("live: device %s, which takes CAP_NET_ADMIN: %w", name, err)
	}
	raw, err := file.SyscallConn()
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("live: device %s: %w", name, err)
	}
	t := &TUN{gate: f.gates[host], file: file, raw: raw, wake: make(chan struct{}, 1)}
	g := t.gate
	g.mu.Lock()
	taken := g.over || g.tun.Load() != nil || len(*g.conns.Load()) > 0
	if !taken {
		g.tun.Store(t)
	}
	g.mu.Unlock()
	if taken {
		file.Close()
		return nil, fmt.Errorf("live: host %d has programs already", host)
	}
	t.all.Add(2)
	go t.read()
	go t.write()
	return t, nil
}

// Close removes the device.
func (t *TUN) Close() error {
	if t.ended.Swap(true) {
		return nil
	}
	t.signal()
	t.gate.stir()
	err := t.file.Close()
	t.all.Wait()
	return err
}

func (t *TUN) signal() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// stopped implements writer.
func (t *TUN) stopped() error {
	if t.ended.Load() {
		return os.ErrClosed
	}
	return nil
}

// read takes packets from the kernel.
func (t *TUN) read() {
	defer t.all.Done()
	f := t.gate.fabric
	whole := f.newTrain(wholeTrain)
	var batch []*parcel
	for {
		n, err := t.file.Read(whole.buf[:cap(whole.buf)])
		if err != nil {
			return
		}
		buf := whole.buf[:n]
		first := parcel{from: t.gate.host}
		if n <= virtioBytes || !t.address(&first, buf[virtioBytes:]) {
			continue
		}
		batch = batch[:0]
		if buf[1] == 0 { // one packet
			p := f.newParcel(n - virtioBytes)
			first.buf, first.bytes = p.buf, p.bytes
			*p = first
			copy(p.buf[headroom-virtioBytes:], buf)
			batch = append(batch, p)
		} else {
			tr := whole
			if n <= shortTrain {
				tr = f.newTrain(shortTrain)
				buf = append(tr.buf[:0], buf...)
			}
			if !tr.couple(buf) {
				continue
			}
			for i := range tr.parcels {
				p := &tr.parcels[i]
				*p = first
				p.train, p.piece = tr, i
				batch = append(batch, p)
			}
			if tr == whole {
				whole = f.newTrain(wholeTrain)
			}
		}
		bytes := 0
		for _, p := range batch {
			bytes += p.size()
		}
		if t.gate.take(bytes, t) != nil {
			return
		}
		now := f.since() // waiting for the link is the network's
		for _, p := range batch {
			p.stamp = now
		}
		if f.hand(batch...) != nil {
			return
		}
	}
}

// address reads where a packet goes, and what its path is chosen by; false: nowhere.
func (t *TUN) address(p *parcel, b []byte) bool {
	if len(b) < leastIPv4 || b[0]>>4 != 4 {
		return false
	}
	to, err := t.gate.fabric.HostOf(netip.AddrFrom4([4]byte(b[16:20])))
	if err != nil {
		return false
	}
	p.to, p.ecn = int32(to), core.ECN(b[1]&3)
	p.srcPort, p.dstPort = uint16(b[9]), 0
	if head := int(b[0]&15) * 4; (b[9] == protoTCP || b[9] == protoUDP) && len(b) >= head+4 {
		hash := splitmix.Mix(uint64(b[head])<<24 | uint64(b[head+1])<<16 | uint64(b[head+2])<<8 | uint64(b[head+3]) | uint64(b[9])<<32)
		p.srcPort, p.dstPort = uint16(hash), uint16(hash>>16)
	}
	return true
}

// receive takes a packet from the loop.
func (t *TUN) receive(p *parcel) bool {
	if t.ended.Load() || t.queued.Load() >= maxWaiting {
		return false
	}
	if p.train == nil && p.headers == 0 && p.ecn == core.CE && p.bytes[1]&3 != 3 {
		mark(p.bytes)
	}
	t.queued.Add(1)
	if t.out.push(p) {
		t.signal()
	}
	return true
}

// mark sets CE in an IPv4 header and mends its checksum (RFC 1624).
func mark(b []byte) {
	old := uint32(b[0])<<8 | uint32(b[1])
	b[1] |= 3
	changed := uint32(b[0])<<8 | uint32(b[1])
	sum := ^(uint32(b[10])<<8|uint32(b[11]))&0xffff + ^old&0xffff + changed
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	sum = ^sum & 0xffff
	b[10], b[11] = byte(sum>>8), byte(sum)
}

// write gives packets to the kernel.
func (t *TUN) write() {
	defer t.all.Done()
	f := t.gate.fabric
	w := vectorWriter{raw: t.raw}
	w.once = w.try
	var head []byte
	for range t.wake {
		for p := t.out.take(); p != nil; {
			if t.ended.Load() {
				return
			}
			next, n := p.next, int32(1)
			switch {
			case p.train != nil: // with those that stand behind it, as they stood when they came
				from, to := p.piece, p.piece+1
				for ; next != nil && next.train == p.train && next.piece == to && next.ecn == p.ecn; next = next.next {
					to, n = to+1, n+1
				}
				head = p.train.headers(head[:0], from, to, p.ecn)
				w.write(head, p.train.payload(from, to))
			case p.headers != 0: // a datagram of a Conn
				head = p.appendIP(append(head[:0], make([]byte, virtioBytes)...), p.ecn)
				w.write(head, nil)
			default:
				w.write(p.buf[headroom-virtioBytes:headroom+len(p.bytes)], nil)
			}
			t.queued.Add(-n)
			for ; n > 0; n-- {
				following := p.next
				f.drop(p)
				p = following
			}
		}
		if t.ended.Load() {
			return
		}
	}
}

// A vectorWriter writes two pieces as one.
type vectorWriter struct {
	raw    syscall.RawConn
	pieces [2][]byte
	once   func(fd uintptr) bool
}

// write loses what the kernel refuses, as any link does.
func (w *vectorWriter) write(a, b []byte) {
	w.pieces = [2][]byte{a, b}
	_ = w.raw.Write(w.once)
}
