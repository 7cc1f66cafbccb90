package live

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/splitmix"
)

// A TUN is a network device of the kernel that is a host of the fabric: any program can use it, through the kernel's
// own TCP and UDP. The kernel hands over segments of up to 64 KiB, which are cut to packets before the network sees
// them and put together again behind it, so that every loss, mark and delay meets one packet (train.go).
type TUN struct {
	gate   *gate
	fd     int
	ended  atomic.Bool
	reader sync.WaitGroup
	stop   *sleeper // of the thread that reads

	held []backlog // by class; the reader's

	// guarded by mu of the fabric
	first, last *parcel // to the kernel
	head        []byte  // scratch
	gone        bool
}

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
	t := &TUN{gate: f.gates[host], held: make([]backlog, len(f.cfg.Fabric.Classes))}
	var err error
	if t.stop, err = newSleeper(); err != nil {
		return nil, fmt.Errorf("live: device %s: %w", name, err)
	}
	if t.fd, err = openTUN(name, mtu); err != nil {
		t.stop.close()
		return nil, fmt.Errorf("live: device %s, which takes CAP_NET_ADMIN: %w", name, err)
	}
	g := t.gate
	g.mu.Lock()
	taken := g.over || g.tun.Load() != nil || len(*g.conns.Load()) > 0
	if !taken {
		g.tun.Store(t)
	}
	g.mu.Unlock()
	if taken {
		return nil, errors.Join(fmt.Errorf("live: host %d has programs already", host), t.release())
	}
	t.reader.Go(t.read)
	return t, nil
}

// Close removes the device.
func (t *TUN) Close() error {
	if t.ended.Swap(true) {
		return nil
	}
	t.stop.wake()
	t.reader.Wait()
	f := t.gate.fabric
	f.mu.Lock()
	defer f.mu.Unlock()
	t.gone = true
	return t.release()
}

func (t *TUN) release() error {
	t.stop.close()
	return unix.Close(t.fd)
}

// stir has the reader look for room. The caller holds mu of the fabric.
func (t *TUN) stir() {
	if !t.gone {
		t.stop.wake()
	}
}

// next reads one packet, and waits for it.
func (t *TUN) next(buf []byte) (n int, err error) {
	for !t.ended.Load() {
		if err := t.settle(); err != nil {
			return 0, err
		}
		if t.full() {
			t.stop.await(-1)
			continue
		}
		if n, err = unix.Read(t.fd, buf); err == nil {
			return n, nil
		}
		switch {
		case errors.Is(err, unix.EAGAIN):
			t.stop.await(t.fd)
		case !errors.Is(err, unix.EINTR):
			return 0, err
		}
	}
	return 0, os.ErrClosed
}

// read takes packets from the kernel. Its thread is as urgent as the loop's: what it is late by, nobody sees.
func (t *TUN) read() {
	runtime.LockOSThread()
	t.stop.prepare()
	f := t.gate.fabric
	whole := f.newTrain(wholeTrain)
	var batch []*parcel
	for {
		n, err := t.next(whole.buf[:cap(whole.buf)])
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
		if t.offer(batch) != nil {
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
	p.to, p.ecn, p.dscp = int32(to), core.ECN(b[1]&3), b[1]>>2
	p.class = t.gate.fabric.cfg.ClassOf[p.dscp]
	p.srcPort, p.dstPort = uint16(b[9]), 0
	if head := int(b[0]&15) * 4; (b[9] == protoTCP || b[9] == protoUDP) && len(b) >= head+4 {
		hash := splitmix.Mix(uint64(b[head])<<24 | uint64(b[head+1])<<16 | uint64(b[head+2])<<8 | uint64(b[head+3]) | uint64(b[9])<<32)
		p.srcPort, p.dstPort = uint16(hash), uint16(hash>>16)
	}
	return true
}

// receive takes a packet of the network; flush gives it to the kernel.
func (t *TUN) receive(p *parcel) bool {
	if t.gone {
		return false
	}
	if p.train == nil && p.headers == 0 && p.ecn == core.CE && p.bytes[1]&3 != 3 {
		mark(p.bytes)
	}
	p.next = nil
	if t.first == nil {
		t.first = p
		t.gate.fabric.full = append(t.gate.fabric.full, t)
	} else {
		t.last.next = p
	}
	t.last = p
	return true
}

// flush gives the kernel what was received.
func (t *TUN) flush() {
	for p := t.first; p != nil; {
		if t.gone {
			return
		}
		p = t.writeFirst(p)
	}
	t.first, t.last = nil, nil
}

// writeFirst writes the first of some packets, with those that stand behind it as they stood in one train, and returns the
// others. What the kernel refuses is lost, as on any link.
func (t *TUN) writeFirst(p *parcel) (rest *parcel) {
	rest = p.next
	n := 1
	switch {
	case p.train != nil:
		to := p.piece + 1
		for ; rest != nil && rest.train == p.train && rest.piece == to && rest.ecn == p.ecn; rest = rest.next {
			to, n = to+1, n+1
		}
		t.head = p.train.headers(t.head[:0], p.piece, to, p.ecn)
		_, _ = unix.Writev(t.fd, [][]byte{t.head, p.train.payload(p.piece, to)})
	case p.headers != 0: // a datagram of a Conn
		t.head = p.appendIP(append(t.head[:0], make([]byte, virtioBytes)...), p.ecn)
		_, _ = unix.Write(t.fd, t.head)
	default:
		_, _ = unix.Write(t.fd, p.buf[headroom-virtioBytes:headroom+len(p.bytes)])
	}
	for ; n > 0; n-- {
		following := p.next
		t.gate.fabric.drop(p)
		p = following
	}
	return rest
}
