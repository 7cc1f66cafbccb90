package runner

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/splitmix"
)

// A cargo gives every message real bytes: random ones in a buffer of the source, and room for them in a
// buffer of the target, each with margins that nobody may touch. It holds the application's side of the
// bargain to the letter: what was delivered is read and overwritten at once, and what was acknowledged
// is overwritten too, so that a transport that writes or reads again gives itself away. A nil cargo is that
// of virtual messages.
type cargo struct {
	random  uint64
	parcels []parcel            // by message
	byKey   []map[uint64]uint64 // by host: message by registered buffer; only looked up
}

// A parcel is one message's bytes.
type parcel struct {
	source, target []byte // with their margins
	offset, length int
	digest         [sha256.Size]byte
	arrived        bool
}

// A registrar is a host that takes buffers.
type registrar interface{ Register([]byte) uint32 }

const (
	untouched = 0x00 // room that nothing was written to
	read      = 0xA5 // bytes that the target has taken
	reused    = 0x5A // bytes that the source has given up
	maxMargin = 96
)

func newCargo(seed uint64, hosts int) *cargo {
	c := &cargo{random: seed, byKey: make([]map[uint64]uint64, hosts)}
	for h := range c.byKey {
		c.byKey[h] = make(map[uint64]uint64)
	}
	return c
}

// next is splitmix64.
func (c *cargo) next() uint64 {
	return splitmix.Next(&c.random)
}

// load gives message m, whose cookie is its number, its bytes.
func (c *cargo) load(m *core.Message, source, target core.Host) error {
	from, okFrom := source.(registrar)
	to, okTo := target.(registrar)
	if !okFrom || !okTo {
		return fmt.Errorf("this protocol takes no buffers; it runs with virtual bytes only")
	}
	p := parcel{length: int(m.Length), offset: int(c.next() % maxMargin)}
	size := p.length + p.offset + int(c.next()%maxMargin)
	p.source, p.target = make([]byte, size), make([]byte, size)
	for i := 0; i < size; i += 8 {
		word := c.next()
		for k := i; k < min(i+8, size); k++ {
			p.source[k] = byte(word >> (8 * (k - i)))
		}
	}
	p.digest = sha256.Sum256(p.body(p.source))
	m.Buffer, m.Offset = from.Register(p.source), uint64(p.offset)
	m.RemoteKey, m.RemoteOffset = uint64(to.Register(p.target)), uint64(p.offset)
	c.byKey[m.To][m.RemoteKey] = m.Cookie
	c.parcels = append(c.parcels, p)
	return nil
}

func (p *parcel) body(b []byte) []byte { return b[p.offset : p.offset+p.length] }

// idOf returns the message that a buffer of a host belongs to; the largest number if it is none's.
func (c *cargo) idOf(host int, key uint64) uint64 {
	if id, ok := c.byKey[host][key]; ok {
		return id
	}
	return ^uint64(0)
}

// arrived reads a message that was delivered.
func (c *cargo) arrived(id uint64) error {
	if c == nil {
		return nil
	}
	p := &c.parcels[id]
	p.arrived = true
	if sha256.Sum256(p.body(p.target)) != p.digest {
		return fmt.Errorf("the bytes that arrived are not those that were sent")
	}
	fill(p.body(p.target), read)
	return nil
}

// acknowledged reuses the memory of a message that the source has done with.
func (c *cargo) acknowledged(id uint64) error {
	if c != nil {
		fill(c.parcels[id].body(c.parcels[id].source), reused)
	}
	return nil
}

func fill(b []byte, value byte) {
	for i := range b {
		b[i] = value
	}
}

// audit checks that nothing was written after it was read, and nothing beside its place.
func (c *cargo) audit(messages []Message) error {
	if c == nil {
		return nil
	}
	for id := range c.parcels {
		p := &c.parcels[id]
		end := p.offset + p.length
		switch {
		case !all(p.target[:p.offset], untouched) || !all(p.target[end:], untouched):
			return fmt.Errorf("flow %d: bytes were written beside the target's buffer", messages[id].Flow)
		case p.arrived && !all(p.body(p.target), read):
			return fmt.Errorf("flow %d: bytes were written again after they were delivered", messages[id].Flow)
		}
	}
	return nil
}

func all(b []byte, value byte) bool {
	return len(b) == bytes.Count(b, []byte{value})
}
