//go:build linux

package rxe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/wire/encap"
)

// Directions.
const (
	outward = iota // to the kernel
	inward
)

// A gateway carries datagrams between the socket of our carrier and the Ethernet of the guest. It is the cable of the
// tests: it counts, checks every ICRC, and loses packets.
type gateway struct {
	our, their netip.Addr
	frames     *net.UnixConn
	guest      *net.UnixAddr
	peer       *net.UDPConn            // the kernel's well-known port, as our carrier sees it
	sources    map[uint16]*net.UDPConn // likewise, the ports that the kernel sends from
	ended      sync.WaitGroup

	mu   sync.Mutex
	mtu  int64
	loss float64
	mark bool
	lose func(direction int, v *wire.Datagram) bool // beside that; nil: nothing
	dice [2]*rand.Rand
	seen [2]tally
	last [256]sighting // the latest packets, in a ring
	at   int

	kept   map[wire.PSN]kept // requests of the kernel
	oddity string            // the first that was not what it had been before
}

// A kept request is what must be the same when it comes again. A READ may ask for the rest only.
type kept struct {
	opcode wire.Opcode
	length int
	sum    uint32
}

// contradiction tells how the kernel sent a PSN again as something else; empty if it did not.
func (g *gateway) contradiction() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.oddity
}

// keep remembers a request of the kernel, and compares it with an earlier one of that PSN.
func (g *gateway) keep(v *wire.Datagram) {
	is := kept{v.Opcode, len(v.Payload), crc32.ChecksumIEEE(v.Payload)}
	was, again := g.kept[v.PSN]
	if again && was != is && g.oddity == "" {
		g.oddity = fmt.Sprintf("PSN %#06x was %v of %d bytes, and then %v of %d bytes", v.PSN, was.opcode, was.length, is.opcode, is.length)
	}
	g.kept[v.PSN] = is
}

// A sighting is one packet, for the story of a failure.
type sighting struct {
	direction int
	lost      bool
	header    wire.Header
	length    int
}

func (s *sighting) String() string {
	h := &s.header
	text := fmt.Sprintf("%-20s %v %06x", [...]string{"to the kernel", "   from the kernel"}[s.direction], h.Opcode, h.PSN)
	if h.AckReq {
		text += " ask"
	}
	if h.Opcode.HasAETH() {
		text += fmt.Sprintf(" %v %#x MSN %d", h.AETH.Syndrome, uint8(h.AETH.Syndrome), h.AETH.MSN)
	}
	if h.Opcode.HasPayload() {
		text += fmt.Sprintf(" %d bytes", s.length)
	}
	if s.lost {
		text += " LOST"
	}
	return text
}

// story tells the latest packets.
func (g *gateway) story() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var lines []string
	for k := max(0, g.at-len(g.last)); k < g.at; k++ {
		lines = append(lines, g.last[k%len(g.last)].String())
	}
	return strings.Join(lines, "\n")
}

// A tally is what went in one direction, lost packets included.
type tally struct {
	packets, lost, damaged int
	again                  int // requests that had been sent before
	askedAck, cnps         int
	next                   wire.PSN              // behind the last request that is not one of these
	answers                map[wire.Syndrome]int // by kind; ACKs whatever their credits
	msn                    uint32                // of the latest answer that arrived
}

func (s *tally) String() string {
	text := fmt.Sprintf("%d packets", s.packets)
	if s.lost > 0 {
		text += fmt.Sprintf(", %d lost", s.lost)
	}
	if s.cnps > 0 {
		text += fmt.Sprintf(", %d CNPs", s.cnps)
	}
	if s.again > 0 {
		text += fmt.Sprintf(", %d sent again", s.again)
	}
	var kinds []string
	for kind, n := range s.answers {
		kinds = append(kinds, fmt.Sprintf("%d %v", n, kind))
	}
	slices.Sort(kinds)
	return strings.Join(append([]string{text}, kinds...), ", ")
}

var envelope = encap.Config{RoCEPort: wire.Port}

// openGateway makes both sides; socket is the name of ours on the guest's Ethernet.
func openGateway(t testing.TB, our, their netip.Addr, socket string) *gateway {
	g := &gateway{our: our, their: their, sources: map[uint16]*net.UDPConn{}, guest: &net.UnixAddr{Name: socket + ".qemu", Net: "unixgram"}}
	var err error
	g.frames, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	require.NoError(t, err)
	g.peer, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(their, wire.Port)))
	require.NoError(t, err)
	g.peer.SetReadBuffer(4 << 20)
	g.weather(conditions{}, 0)
	g.ended.Add(2)
	go g.out()
	go g.in()
	t.Cleanup(func() {
		g.peer.Close()
		g.frames.Close()
		g.ended.Wait()
		for _, c := range g.sources {
			c.Close()
		}
	})
	return g
}

// weather begins to count anew, for a connection.
func (g *gateway) weather(c conditions, seed uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mtu, g.loss, g.mark, g.lose, g.at = c.mtu, c.loss, c.marked, nil, 0
	g.kept, g.oddity = map[wire.PSN]kept{}, ""
	for d := range g.dice {
		g.dice[d] = rand.New(rand.NewPCG(seed, uint64(d)))
		g.seen[d] = tally{answers: map[wire.Syndrome]int{}, next: [...]wire.PSN{c.ourPSN, c.guestPSN}[d]}
	}
}

// loses sets what else is lost from now on.
func (g *gateway) loses(lose func(direction int, v *wire.Datagram) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lose = lose
}

// tallies returns what was seen so far.
func (g *gateway) tallies() (out, in tally) {
	g.mu.Lock()
	defer g.mu.Unlock()
	out, in = g.seen[outward], g.seen[inward]
	out.answers, in.answers = maps.Clone(out.answers), maps.Clone(in.answers)
	return out, in
}

// passes counts a datagram, which starts with the IP header, and tells whether it arrives.
func (g *gateway) passes(direction int, b []byte) bool {
	var v wire.Datagram
	n, why := wire.ParseDatagram(b, wire.Standard, &v)
	g.mu.Lock()
	defer g.mu.Unlock()
	s := &g.seen[direction]
	s.packets++
	if why != wire.Accepted || !wire.Intact(b[:n]) {
		s.damaged++
		return false
	}
	lost := g.dice[direction].Float64() < g.loss
	if g.lose != nil && g.lose(direction, &v) {
		lost = true
	}
	if lost {
		s.lost++
	}
	g.last[g.at%len(g.last)] = sighting{direction, lost, v.Header, len(v.Payload)}
	g.at++
	if v.AckReq {
		s.askedAck++
	}
	switch {
	case v.Opcode.IsRequest():
		if direction == inward && v.Opcode != wire.ReadRequest {
			g.keep(&v)
		}
		end := v.PSN.Add(1)
		if v.Opcode == wire.ReadRequest { // which takes a PSN for each response
			end = v.PSN.Add(max(1, int((int64(v.RETH.Length)+g.mtu-1)/g.mtu)))
		}
		if v.PSN.Before(s.next) {
			s.again++
		}
		if s.next.Before(end) {
			s.next = end
		}
	case v.Opcode == wire.CongestionNotification:
		s.cnps++
	case v.Opcode.HasAETH():
		kind := v.AETH.Syndrome
		if kind.IsACK() {
			kind = wire.AckUnlimited
		}
		s.answers[kind]++
		if !lost {
			s.msn = v.AETH.MSN
		}
	}
	return !lost
}

// out carries what our carrier sends.
func (g *gateway) out() {
	defer g.ended.Done()
	const front = 14 + encap.IPv4Size + encap.UDPSize
	frame := make([]byte, 1<<16)
	copy(frame, guestMAC)
	copy(frame[6:], hostMAC)
	frame[12] = 8
	for {
		n, from, err := g.peer.ReadFromUDPAddrPort(frame[front:])
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil || from.Addr().Unmap() != g.our {
			continue
		}
		header := envelope.Make(encap.RoCE, g.our, g.their, 0, from.Port()) // DF, identification 0: as Linux sends from such sockets
		header.Put(frame[14:], n)
		if g.passes(outward, frame[14:front+n]) {
			g.frames.WriteToUnix(frame[:front+n], g.guest)
		}
	}
}

// in carries what the kernel sends, and other packets of its Ethernet nowhere.
func (g *gateway) in() {
	defer g.ended.Done()
	frame := make([]byte, 1<<16)
	for {
		n, err := g.frames.Read(frame)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil || n < 14+encap.IPv4Size+encap.UDPSize {
			continue
		}
		header, why := encap.Parse(frame[14:n], &envelope)
		b := frame[14 : 14+header.End]
		if why != encap.OK || header.Kind != encap.RoCE || header.Dst != g.our || !g.passes(inward, b) {
			continue
		}
		if header.ID != 0 { // which our carrier cannot see
			b[4], b[5] = 0, 0
			sum, _ := wire.ICRC(b[:len(b)-wire.ICRCSize])
			binary.LittleEndian.PutUint32(b[len(b)-wire.ICRCSize:], sum)
		}
		if c, err := g.source(header.Entropy); err == nil {
			c.WriteMsgUDPAddrPort(b[header.Payload:], g.service(), netip.AddrPortFrom(g.our, wire.Port))
		}
	}
}

// service returns the control message that makes a datagram leave with the right type of service: CE, if all is marked.
func (g *gateway) service() []byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.mark {
		return nil
	}
	m := make([]byte, unix.CmsgSpace(4))
	h := (*unix.Cmsghdr)(unsafe.Pointer(&m[0]))
	h.Level, h.Type = unix.IPPROTO_IP, unix.IP_TOS
	h.SetLen(unix.CmsgLen(4))
	binary.NativeEndian.PutUint32(m[unix.CmsgLen(0):], uint32(core.CE))
	return m
}

// source returns the socket that sends from a port of the kernel's address.
func (g *gateway) source(port uint16) (c *net.UDPConn, err error) {
	if c = g.sources[port]; c == nil {
		if c, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(g.their, port))); err == nil {
			g.sources[port] = c
		}
	}
	return c, err
}
