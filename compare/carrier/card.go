package carrier

import (
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/core"
)

// A card is a Host behind sockets that is asked for packets at the rate of its link, as a network card asks: sockets take whatever their
// buffers hold at once, and a window that waits there is under way already for its sender, whose timers run. The clock of its Host is the
// network's, that of its Driver the wall's.
type card struct {
	core.Host
	memory   core.Memory // of the Host; nil: it has none
	dilation float64
	rateBps  int64
	overhead int64     // bytes of a packet on the wire beside its own
	ahead    core.Time // how far packets may be handed over before their turn, so that the link is busy while a program is woken
	free     core.Time // when the link has sent all
	waiting  bool      // a packet was not asked for
}

// clock is the network's time at an instant of the wall.
func (c *card) clock(wall core.Time) core.Time { return core.Time(float64(wall) / c.dilation) }

// HandlePacket implements core.Stack.
func (c *card) HandlePacket(wall core.Time, p *core.Packet) { c.Host.HandlePacket(c.clock(wall), p) }

// Transmit implements core.Stack.
func (c *card) Transmit(wall core.Time, pull core.Pull, p *core.Packet) bool {
	now := c.clock(wall)
	if c.waiting = c.free > now+c.ahead; c.waiting || !c.Host.Transmit(now, pull, p) {
		return false
	}
	c.free = max(c.free, now) + emulator.Serialisation(p.Bytes()+c.overhead, c.rateBps)
	return true
}

// Deadline implements core.Stack.
func (c *card) Deadline() core.Time {
	next := c.Host.Deadline()
	if c.waiting {
		next = min(next, c.free-c.ahead)
	}
	if next > core.Time(float64(core.Never)/max(1, c.dilation)/2) {
		return core.Never
	}
	return core.Time(float64(next)*c.dilation) + 1
}

// HandleTimeout implements core.Stack.
func (c *card) HandleTimeout(wall core.Time) {
	now := c.clock(wall)
	c.waiting = c.waiting && c.free > now+c.ahead
	if c.Host.Deadline() <= now {
		c.Host.HandleTimeout(now)
	}
}

// Send implements core.Host.
func (c *card) Send(wall core.Time, m core.Message) error { return c.Host.Send(c.clock(wall), m) }

// ReadAt implements core.Memory.
func (c *card) ReadAt(buffer uint32, offset uint64, dst []byte) {
	if c.memory != nil {
		c.memory.ReadAt(buffer, offset, dst)
	}
}
