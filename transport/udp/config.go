package udp

import (
	"errors"
	"fmt"
	"math/bits"
	"net/netip"
	"time"

	"github.com/weft-transport/weft/transport/core"
)

// A Config says how a Carrier behaves. Zero fields have the default that their comment names.
type Config struct {
	// Local are the addresses of this host, one a rail, at least one and at most MaxRails, all with
	// the same port. Port 0: the port of the Format (4793) if Default is set, else a free block.
	// They must be addresses of interfaces, not wildcards: checksums cover them, and they are who we are.
	Local []netip.AddrPort
	// Default makes port 0 mean the Format's well-known port.
	Default bool

	Format Format // of the protocol that is carried; nil: UET{}
	Lanes  int    // source ports a rail, a power of two, at most MaxLanes; 0: 64
	// OnePerAddress takes whatever comes from one IP address as one peer on the well-known port, from
	// any source port: for peers that are not this carrier.
	OnePerAddress bool
	// Refuse drops packets of peers that nobody named with Resolve or AddPeer, instead of learning them.
	Refuse   bool
	MaxPeers int           // 0: 4096
	PeerIdle time.Duration // silence after which a learnt peer's place may be given to another, one second if no context is open with it; 0: 30 s

	// MaxDatagram is the most bytes behind the UDP header, trailer included. 0: what the smallest MTU of
	// the rails' interfaces takes, at most 9216.
	MaxDatagram int
	// Run is the most packets in one GSO burst, which leaves from one source port. 0: 32; 1: no bursts.
	// A burst needs packets in a row with the same entropy value: sprayers have a parameter "run".
	Run int
	// Spin is how long the loop polls after the last packet before it sleeps. 0: 30 us; negative: it
	// never polls, which is right where cores are shared.
	Spin time.Duration
	// Inline lets the goroutine that waits drive: what it asks for is sent, and what it waits for received, on its own
	// thread, without a hand-over to the loop and back, which is most of the time of a small message. While nobody waits,
	// a loop takes over, a millisecond later. Right for applications that do little between two waits; with several
	// goroutines that wait, one of them drives for all. What wakes a goroutine is acknowledged before it goes on, unless it
	// posted something within 100 us the last time: then its answer leaves first.
	Inline bool
	// SocketBuffer is the receive buffer to ask for, bytes. 0: 4 MiB. Stats tells what was granted.
	SocketBuffer int
	DSCP         [16]uint8 // of each traffic class; all zero: 0 for class 0, 46 (EF) for the others

	NoGSO      bool // one datagram per message
	NoGRO      bool // the kernel joins no datagrams on arrival
	NoBatch    bool // one message per system call: sendmsg and recvmsg
	NoStamps   bool // arrival is when the loop reads a packet, not when the kernel got it
	NoChecksum bool // IPv4 and IPv6 UDP checksum 0, as UET has it; turns GSO off, which cannot do without
	Portable   bool // use the sockets of package net even where there are better ones
	Native     bool // IP protocol 253 with an entropy header instead of UDP (Linux, CAP_NET_RAW)

	// Fate, if not nil, is asked about every packet that arrives: for tests and experiments that want a
	// worse network. It is called where the Stack is driven.
	Fate func(p *core.Packet) Fate

	faults faults // of system calls, for tests
}

// A Fate is what becomes of a packet that arrived. The zero Fate is to be handled.
type Fate struct {
	Drop   bool
	Copies int       // handled so many times more
	Late   core.Time // handled so much later, from when on later packets overtake it
	At     core.Time // handled at that instant of the carrier's clock instead, or as soon as it has passed; 0: see Late
}

// Limits of a Config.
const (
	MaxRails = 4
	MaxLanes = 1024

	minDatagram = 256
	maxDatagram = 65000
)

// Errors of Listen, wrapped with what was wrong.
var (
	ErrConfig     = errors.New("wrong configuration")
	ErrWildcard   = errors.New("not the address of an interface")
	ErrInUse      = errors.New("ports are in use")
	ErrPermission = errors.New("not permitted")
	ErrMTU        = errors.New("MTU too small")
	ErrClosed     = errors.New("carrier is closed")
	ErrPeers      = errors.New("peer table is full")
	ErrAddress    = errors.New("not an address of a peer")
	ErrSystem     = errors.New("not on this system")
)

// complete checks c and fills in its defaults.
func (c Config) complete() (Config, error) {
	orDefault(&c.Lanes, 64)
	orDefault(&c.MaxPeers, 4096)
	orDefault(&c.PeerIdle, 30*time.Second)
	orDefault(&c.Run, 32)
	orDefault(&c.Spin, 30*time.Microsecond)
	orDefault(&c.SocketBuffer, 4<<20)
	if c.Format == nil {
		c.Format = UET{}
	}
	if c.DSCP == [16]uint8{} {
		for i := 1; i < len(c.DSCP); i++ {
			c.DSCP[i] = 46
		}
	}
	if c.NoChecksum {
		c.NoGSO = true
	}
	for _, f := range [...]struct {
		name          string
		value, lo, hi int
	}{
		{"number of Local addresses", len(c.Local), 1, MaxRails},
		{"Lanes", c.Lanes, 1, MaxLanes},
		{"MaxPeers", c.MaxPeers, 1, 1 << 20},
		{"MaxDatagram", c.MaxDatagram, 0, maxDatagram},
		{"Run", c.Run, 1, maxSegments},
		{"SocketBuffer", c.SocketBuffer, 1, 1 << 30},
	} {
		if f.value < f.lo || f.value > f.hi {
			return c, fmt.Errorf("udp: %w: %s is %d; expected %d to %d", ErrConfig, f.name, f.value, f.lo, f.hi)
		}
	}
	if bits.OnesCount(uint(c.Lanes)) != 1 {
		return c, fmt.Errorf("udp: %w: Lanes is %d; expected a power of two", ErrConfig, c.Lanes)
	}
	for i, d := range c.DSCP {
		if d > 63 {
			return c, fmt.Errorf("udp: %w: DSCP of class %d is %d; expected 0 to 63", ErrConfig, i, d)
		}
	}
	return c, c.completeLocal()
}

// completeLocal checks the local addresses and chooses the port if it is the well-known one.
func (c *Config) completeLocal() error {
	port := c.Local[0].Port()
	if port == 0 && (c.Default || c.Native || c.OnePerAddress) {
		port = c.Format.Port()
	}
	local := make([]netip.AddrPort, len(c.Local))
	for i, l := range c.Local {
		a := l.Addr().Unmap()
		switch {
		case !a.IsValid() || a.IsUnspecified() || a.IsMulticast():
			return fmt.Errorf("udp: local address %v: %w; expected a unicast address of this host, which checksums and peers need", l, ErrWildcard)
		case l.Port() != c.Local[0].Port():
			return fmt.Errorf("udp: %w: local addresses have ports %d and %d; expected one port on all rails", ErrConfig, c.Local[0].Port(), l.Port())
		}
		for _, other := range local[:i] {
			if other.Addr() == a {
				return fmt.Errorf("udp: %w: local address %v is named twice", ErrConfig, a)
			}
		}
		local[i] = netip.AddrPortFrom(a, port)
	}
	c.Local = local
	return c.ports().check(port)
}

func (c *Config) ports() ports {
	return ports{wellKnown: c.Format.Port(), block: uint16(max(64, c.Lanes)), one: c.OnePerAddress || c.Native}
}

// orDefault sets *field to the default if it is zero.
func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
