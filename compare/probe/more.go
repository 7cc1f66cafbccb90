package probe

import (
	"fmt"

	"github.com/weft-transport/weft/transport/wire"
)

// taken is said of answers that are all a success, up to the last PSN of every context that the probe had.
const taken = "all taken"

// moreProbes are those of capture 64.
var moreProbes = []Probe{
	{Number: "x1", What: "two SENDs of two packets in turns, all with SYN", Want: taken, count: true, play: func(c *prober) {
		c.open(0x90, startPSN)
		for i := range 4 {
			c.piece(i&1, i>>1, syn(uint16(i)))
		}
	}},
	{Number: "x2", What: "the same message id on two contexts at once, the last packet first", Want: taken, count: true, play: func(c *prober) {
		other := prober{line: c.line}
		other.open(0x92, startPSN+1)
		c.open(0x91, startPSN+1)
		for _, half := range []int{1, 0} {
			for _, p := range []*prober{c, &other} {
				p.next = startPSN + uint32(half)
				p.piece(0, half, syn(uint16(half)))
				p.last = startPSN + 1
			}
		}
		c.beside = &other
	}},
	{Number: "x3", What: "four WRITEs of one packet, AR on the last", Want: done(64), play: func(c *prober) {
		c.opened(0x93)
		for i := range 4 {
			c.send(64, func(p *wire.Packet) {
				p.Standard.Opcode, p.Standard.Key = wire.OpWrite, 0x11
				p.Standard.BufferOffset = uint64(2048 + 64*i)
				if i < 3 {
					p.Request.Flags = 0
				}
			})
		}
	}},
	{Number: "x4", What: "a message id again right after its message", Want: done(64), play: func(c *prober) {
		c.id--
		c.send(64, nil)
	}},
	{Number: "x5", What: "the second packet overlaps the first by 24 B", Want: taken,
		Here: "ACK nh 4 fl=0x2 cack=psn-1 off=1 rsp op=1 list=0 rc=0x18 msg=own job=1 ml=0", Why: "pieces have their places, so that bytes are counted once", count: true, play: func(c *prober) {
			c.opened(0x94)
			c.piece(0, 0, nil)
			c.piece(0, 1, func(p *wire.Packet) { p.Standard.MessageOffset = 1000 })
		}},
	{Number: "x6", What: "PSN CACK + 127", Want: inGap(127), play: func(c *prober) { c.opened(0x95); c.ahead(127) }},
	{Number: "x7", What: "PSN CACK + 128", Want: inGap(128), play: func(c *prober) { c.ahead(128) }},
	{Number: "x8", What: "PSN CACK + 129", Want: nack(wire.NackOORWindow, "psn", ""), play: func(c *prober) { c.ahead(129) }},
	{Number: "x9", What: "WRITE past the end of the region", Want: refused(wire.RCUnsupportedSize, 1), Here: refused(wire.RCBadAddr, 1), Why: "it is the place that is wrong, not the size", play: func(c *prober) {
		c.opened(0x96)
		c.send(64, func(p *wire.Packet) {
			p.Standard.Opcode, p.Standard.Key, p.Standard.BufferOffset = wire.OpWrite, 0x11, 4096-32
		})
	}},
}

func inGap(distance int) string {
	return fmt.Sprintf("ACK nh 4 fl=0x0 cack=psn-%d off=%d rsp op=0 list=0 rc=0x1 msg=own job=1 ml=64", distance, distance)
}

// piece sends the first or second half of a message of 1024 and 100 bytes. Message 0 and 1 are two of them.
func (c *prober) piece(message, half int, change func(p *wire.Packet)) {
	c.send([]int{1024, 100}[half], func(p *wire.Packet) {
		p.Standard.MessageID, p.Standard.RequestLength = uint16(600+message), 1124
		p.Request.Flags = 0
		if half == 0 {
			p.Standard.Flags &^= wire.SESEnd
		} else {
			p.Standard.Flags &^= wire.SESStart
			p.Standard.PayloadLength, p.Standard.MessageOffset = 100, 1024
			p.Request.Flags = wire.RequestAR
		}
		if change != nil {
			change(p)
		}
	})
	c.last = c.psn
}

// ahead sends a PSN that far beyond the last one in order.
func (c *prober) ahead(distance uint32) {
	c.stray(64, How{}, func(p *wire.Packet) { p.Request.PSN = startPSN + distance })
}

// tally sums up what a probe of several packets got.
func (c *prober) tally(heard [][]byte) string {
	at := map[uint16]uint32{}
	for _, b := range heard {
		p, _ := wire.ParsePacket(b, wire.CRCOff)
		if p.Type != wire.TypeAck && p.Type != wire.TypeAckCC || p.Next != wire.NextResponse || !p.Response.Code.Success() {
			return say(b, c.psn, c.id, c.pdcid, c.theirs)
		}
		if highest, known := at[p.Ack.DPDCID]; !known || int32(p.Ack.CumPSN-highest) > 0 {
			at[p.Ack.DPDCID] = p.Ack.CumPSN
		}
	}
	for p := c; p != nil; p = p.beside {
		if at[p.pdcid] != p.last {
			return fmt.Sprintf("context %#x is taken up to %s", p.pdcid, relative(at[p.pdcid], p.last))
		}
	}
	return taken
}
