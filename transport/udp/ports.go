package udp

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/netip"

	"github.com/weft-transport/weft/transport/core"
)

// ports are the rules by which a source port tells the endpoint and the lane. Package doc: Lanes.
type ports struct {
	wellKnown uint16 // of the protocol
	block     uint16 // ports an endpoint on another port owns: a power of two
	one       bool   // one endpoint per address, whatever the source port
}

// Lanes of endpoints on the well-known port are the first of the dynamic ports (RFC 6335).
const (
	firstLane = 49152
	lastLane  = firstLane + MaxLanes - 1
)

// Free blocks are looked for here: below the ports that systems hand out by themselves, above what
// services like to use.
const (
	firstFree = 12288
	lastFree  = 32767
)

// base returns the first port of the block that a port lies in, and 0 for endpoints on the well-known port.
func (p ports) base(port uint16) uint16 {
	if p.one || port == p.wellKnown || port >= firstLane && port <= lastLane {
		return 0
	}
	return port &^ (p.block - 1)
}

// listen returns the port at which the endpoint of a block can be reached.
func (p ports) listen(base uint16) uint16 {
	if base == 0 {
		return p.wellKnown
	}
	return base
}

// firstLane returns the source port of lane 0 of the endpoint that listens on a port.
func (p ports) firstLane(port uint16) uint16 {
	if base := p.base(port); base != 0 {
		return base
	}
	return firstLane
}

// check refuses ports that an endpoint cannot have. 0 is one it will choose.
func (p ports) check(port uint16) error {
	switch {
	case port == 0 || port == p.wellKnown || p.one:
		return nil
	case port >= firstLane && port <= lastLane:
		return fmt.Errorf("udp: %w: port %d; %d to %d are the source ports of endpoints on port %d", ErrConfig, port, firstLane, lastLane, p.wellKnown)
	case port < p.block:
		return fmt.Errorf("udp: %w: port %d; expected %d or more", ErrConfig, port, p.block)
	}
	return nil
}

// An identity is what tells endpoints apart: the IP address, IPv4 mapped into IPv6, and the base of their ports.
type identity struct {
	ip   [16]byte
	base uint16
}

func (p ports) identity(a netip.Addr, port uint16) identity {
	return identity{a.As16(), p.base(port)}
}

// address returns the fabric address that stands for an endpoint. Every host works out the same one: for
// the well-known port over IPv4 the IP address itself, else a hash in 240.0.0.0/4, where nobody lives.
func (d *identity) address() core.Addr {
	a := netip.AddrFrom16(d.ip)
	if d.base == 0 && a.Is4In6() {
		return core.Addr(binary.BigEndian.Uint32(d.ip[12:]))
	}
	return core.Addr(0xF<<28 | d.hash()>>4)
}

func (d *identity) hash() uint32 {
	h := fnv.New32a()
	h.Write(d.ip[:])
	h.Write([]byte{byte(d.base >> 8), byte(d.base)})
	sum := h.Sum32() // FNV leaves related inputs close together
	sum ^= sum >> 16
	sum *= 0x85EBCA6B
	sum ^= sum >> 13
	sum *= 0xC2B2AE35
	return sum ^ sum>>16
}

// freeBlock returns the base of a block chosen by chance.
func (p ports) freeBlock() uint16 {
	blocks := (lastFree + 1 - firstFree) / int(p.block)
	return uint16(firstFree + rand.IntN(blocks)*int(p.block))
}
