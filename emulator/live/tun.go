package live

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"

	"golang.zx2c4.com/wireguard/tun"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/splitmix"
)

// A TUN is a network device of the kernel that is a host of the fabric: any program can use it, through the kernel's
// own TCP and UDP. The kernel hands over segments of up to 64 KiB, which are cut to packets before the network sees
// them and put together again behind it, so that every loss, mark and delay meets one packet.
type TUN struct {
	gate   *gate
	device tun.Device
	host   int32
	all    sync.WaitGroup

	mu      sync.Mutex
	out     []*parcel // to the kernel
	wake    sync.Cond
	ended   bool
	ignored uint64 // packets that are not IPv4, or for nobody
}

// MaxWaiting is how many packets wait for the kernel at most.
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
	device, err := tun.CreateTUN(name, mtu)
	if err != nil {
		return nil, fmt.Errorf("live: device %s, which takes CAP_NET_ADMIN: %w", name, err)
	}
	t := &TUN{gate: f.gates[host], device: device, host: int32(host)}
	t.wake.L = &t.mu
	g := t.gate
	g.mu.Lock()
	taken := g.over || g.tun.Load() != nil || len(*g.conns.Load()) > 0
	if !taken {
		g.tun.Store(t)
	}
	g.mu.Unlock()
	if taken {
		device.Close()
		return nil, fmt.Errorf("live: host %d has programs already", host)
	}
	t.all.Add(3)
	go t.events()
	go t.read(mtu)
	go t.write()
	return t, nil
}

// events keeps the device's channel empty.
func (t *TUN) events() {
	defer t.all.Done()
	for range t.device.Events() {
	}
}

// Close removes the device.
func (t *TUN) Close() error {
	t.mu.Lock()
	if t.ended {
		t.mu.Unlock()
		return nil
	}
	t.ended = true
	t.mu.Unlock()
	t.wake.Broadcast()
	t.gate.stir()
	err := t.device.Close()
	t.all.Wait()
	return err
}

// stopped implements writer.
func (t *TUN) stopped() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return os.ErrClosed
	}
	return nil
}

// read takes packets from the kernel.
func (t *TUN) read(mtu int) {
	defer t.all.Done()
	f := t.gate.fabric
	n := t.device.BatchSize()
	bufs, sizes := make([][]byte, n), make([]int, n)
	parcels := make([]*parcel, n)
	for i := range parcels {
		parcels[i] = f.newParcel(mtu + headroom)
		bufs[i] = parcels[i].buf
	}
	batch := make([]*parcel, 0, n)
	for {
		got, err := t.device.Read(bufs, sizes, headroom)
		if err != nil && !errors.Is(err, tun.ErrTooManySegments) {
			return
		}
		bytes := 0
		for i := range got {
			p := parcels[i]
			p.bytes = p.buf[headroom : headroom+sizes[i]]
			p.headers = 0
			if !t.address(p) {
				continue
			}
			bytes += len(p.bytes)
			batch = append(batch, p)
			parcels[i] = f.newParcel(mtu + headroom)
			bufs[i] = parcels[i].buf
		}
		if len(batch) == 0 {
			continue
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
		batch = batch[:0]
	}
}

// address reads where a packet goes, and what its path is chosen by.
func (t *TUN) address(p *parcel) bool {
	b := p.bytes
	if len(b) < 20 || b[0]>>4 != 4 {
		t.ignored++
		return false
	}
	to, err := t.gate.fabric.HostOf(netip.AddrFrom4([4]byte(b[16:20])))
	if err != nil {
		t.ignored++
		return false
	}
	p.from, p.to, p.ecn = t.host, int32(to), core.ECN(b[1]&3)
	p.srcPort, p.dstPort = uint16(b[9]), 0
	const tcp, udp = 6, 17
	if head := int(b[0]&15) * 4; (b[9] == tcp || b[9] == udp) && len(b) >= head+4 {
		hash := splitmix.Mix(uint64(b[head])<<24 | uint64(b[head+1])<<16 | uint64(b[head+2])<<8 | uint64(b[head+3]) | uint64(b[9])<<32)
		p.srcPort, p.dstPort = uint16(hash), uint16(hash>>16)
	}
	return true
}

// receive takes a packet from the loop.
func (t *TUN) receive(p *parcel) bool {
	if p.ecn == core.CE && p.bytes[1]&3 != 3 {
		mark(p.bytes)
	}
	t.mu.Lock()
	ok := !t.ended && len(t.out) < maxWaiting
	if ok {
		t.out = append(t.out, p)
	}
	t.mu.Unlock()
	if ok {
		t.wake.Signal()
	}
	return ok
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
	var taken []*parcel
	bufs := make([][]byte, 0, t.device.BatchSize())
	for {
		t.mu.Lock()
		for len(t.out) == 0 && !t.ended {
			t.wake.Wait()
		}
		if t.ended {
			t.mu.Unlock()
			return
		}
		taken, t.out = t.out, taken[:0]
		t.mu.Unlock()
		for i := 0; i < len(taken); i += cap(bufs) {
			bufs = bufs[:0]
			for _, p := range taken[i:min(len(taken), i+cap(bufs))] {
				bufs = append(bufs, p.buf[:headroom+len(p.bytes)])
			}
			_, _ = t.device.Write(bufs, headroom) // what the kernel refuses is lost, as on any link
		}
		for i, p := range taken {
			t.gate.fabric.drop(p)
			taken[i] = nil
		}
	}
}
