package probe

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/net/ipv4"

	"github.com/weft-transport/weft/transport/wire"
)

// A Line carries UET packets to one endpoint and back, over IPv4.
type Line struct {
	conn          net.PacketConn
	beside        net.PacketConn // of a native line: UDP from the same address
	local, remote netip.Addr
	native        bool
	patience      time.Duration
	fences        uint16
	held          [][]byte // heard and not asked for
	buf           [4096]byte
}

// NewLine opens a line from a local address: over IP protocol 253 if native (Linux, CAP_NET_RAW), else over UDP port 4793
// at both ends. patience is how long an answer that is due may take.
func NewLine(local, remote netip.Addr, native bool, patience time.Duration) (*Line, error) {
	l := &Line{local: local, remote: remote, native: native, patience: patience}
	if !local.Is4() || !remote.Is4() {
		return nil, fmt.Errorf("probe from %v to %v: expected two IPv4 addresses", local, remote)
	}
	var err error
	if native {
		if l.conn, err = net.ListenIP("ip4:253", &net.IPAddr{IP: local.AsSlice()}); err == nil {
			l.beside, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(local, 0)))
		}
	} else {
		l.conn, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(local, wire.Port)))
	}
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("probe from %v: %w", local, err)
	}
	return l, nil
}

// Close ends the line.
func (l *Line) Close() (err error) {
	for _, c := range []net.PacketConn{l.conn, l.beside} {
		if c != nil {
			err = errors.Join(err, c.Close())
		}
	}
	return err
}

// How a packet is sent that is not sent as it should be.
type How struct {
	CE     bool // marked by the network
	BadCRC bool
	NoCRC  bool
	Port   uint16 // over UDP to that port, though the line is native
}

// ev is the entropy value of all that the prober sends.
const ev = 0x1234

// send sends the packet b, without trailer.
func (l *Line) send(b []byte, how How) error {
	packet := b
	if l.native {
		head := wire.EntropyPart(ev)
		packet = append(head[:], b...)
	}
	if !how.NoCRC {
		crc := l.crc(l.local, l.remote, b, wire.Port)
		if how.BadCRC {
			crc ^= 1
		}
		var trailer [wire.CRCSize]byte
		wire.PutCRC(trailer[:], crc, wire.MostFirst)
		packet = append(packet[:len(packet):len(packet)], trailer[:]...)
	}
	if how.Port != 0 {
		_, err := l.beside.WriteTo(packet, net.UDPAddrFromAddrPort(netip.AddrPortFrom(l.remote, how.Port)))
		return err
	}
	if how.CE {
		if err := ipv4.NewPacketConn(l.conn).SetTOS(3); err != nil {
			return err
		}
		defer ipv4.NewPacketConn(l.conn).SetTOS(0)
	}
	_, err := l.conn.WriteTo(packet, l.to())
	return err
}

func (l *Line) to() net.Addr {
	if l.native {
		return &net.IPAddr{IP: l.remote.AsSlice()}
	}
	return net.UDPAddrFromAddrPort(netip.AddrPortFrom(l.remote, wire.Port))
}

// crc is the trailer of b. Over UDP, source is the source port of the one who sends.
func (l *Line) crc(from, to netip.Addr, b []byte, source uint16) uint32 {
	a, z := from.As4(), to.As4()
	crc := wire.AddCRC(wire.AddCRC(0, a[:]), z[:])
	if l.native {
		part := wire.EntropyPart(source)
		if from == l.local {
			part = wire.EntropyPart(ev)
		}
		crc = wire.AddCRC(crc, part[:])
	} else {
		part := wire.UDPPart(source, wire.Port, uint16(8+len(b)+wire.CRCSize))
		crc = wire.AddCRC(crc, part[:])
	}
	return wire.AddCRC(crc, b)
}

var errSilent = errors.New("no packet came")

// hear returns the next packet, without trailer; errSilent if none comes for so long.
func (l *Line) hear(wait time.Duration) ([]byte, error) {
	if len(l.held) > 0 {
		b := l.held[0]
		l.held = l.held[1:]
		return b, nil
	}
	if err := l.conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
		return nil, err
	}
	for {
		n, from, err := l.conn.ReadFrom(l.buf[:])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, errSilent
		}
		if err != nil {
			return nil, err
		}
		b, source := l.buf[:n], uint16(0)
		switch a := from.(type) {
		case *net.IPAddr:
			if ip, _ := netip.AddrFromSlice(a.IP.To4()); ip != l.remote || n < 4 {
				continue
			}
			source, b = uint16(b[0])<<8|uint16(b[1]), b[4:]
		case *net.UDPAddr:
			if a.AddrPort().Addr().Unmap() != l.remote {
				continue
			}
			source = a.AddrPort().Port()
		}
		if len(b) < wire.CRCSize {
			return nil, fmt.Errorf("a packet of %d bytes, too short for its trailer", n)
		}
		got, _ := wire.ParseCRC(b[len(b)-wire.CRCSize:], wire.MostFirst)
		b = append([]byte(nil), b[:len(b)-wire.CRCSize]...)
		if want := l.crc(l.remote, l.local, b, source); got != want {
			return nil, fmt.Errorf("a packet with CRC %08x; expected %08x: %x", got, want, b)
		}
		return b, nil
	}
}

// settled returns what has come until nothing more will: two requests for contexts that are not there are each refused after
// everything that was due before them.
func (l *Line) settled() (heard [][]byte, err error) {
	for range 2 {
		l.fences++
		mine := 0x7000 | l.fences&0xfff
		var b [wire.MaxHeaders]byte
		p := wire.Packet{Has: wire.HasPDS | wire.HasSES, Type: wire.TypeRUD, Next: wire.NextStandard, Order: wire.CRCOff}
		p.Request = wire.Request{Flags: wire.RequestAR, ClearOffset: -1, SPDCID: mine, DPDCID: 0x7fe, PSN: 1}
		p.Standard = wire.Standard{Opcode: wire.OpSend, Flags: wire.SESStart | wire.SESEnd | wire.SESRelative}
		if err := l.send(b[:p.Put(b[:], nil)], How{}); err != nil {
			return heard, err
		}
		for {
			got, err := l.hear(l.patience)
			if err != nil {
				return heard, fmt.Errorf("a request to a context that is not there should be refused: %w", err)
			}
			p, _ := wire.ParsePacket(got, wire.CRCOff)
			if p.Type == wire.TypeNack && p.Nack.DPDCID == mine {
				break
			}
			heard = append(heard, got)
		}
	}
	return heard, nil
}
