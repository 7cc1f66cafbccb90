package live

import (
	"fmt"
	"runtime"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// Capacity measures how many datagrams of a size the loop of such a fabric can move in a second, from the first host
// to the last, with a processor to itself: it takes some milliseconds of processor time, counted for the calling thread
// alone, so that what else the machine does counts little. What the kernel's devices and sockets cost the process comes
// on top, on other processors. 0: it cannot be measured here.
func Capacity(c Config, bytes int) (perSecond float64, err error) {
	const packets, batch = 20_000, 32
	c.ReceiveBuffer = packets
	f, err := assemble(c)
	if err != nil {
		return 0, err
	}
	defer f.sleep.close()
	last := len(f.gates) - 1
	to, err := f.ListenPacket(last, 0)
	if err != nil {
		return 0, err
	}
	from, err := f.ListenPacket(0, 0)
	if err != nil {
		return 0, err
	}
	gap := emulator.Serialisation(int64(bytes+ipUDP)+f.cfg.Fabric.LinkOverhead, f.slowest()) // so that queues stay short
	at := Time(0)
	clock := func() Time { return at }
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begun := threadTime()
	for sent := 0; sent < packets; sent += batch {
		for range batch {
			p := f.newParcel(bytes)
			p.from, p.to, p.srcPort, p.dstPort, p.headers = 0, int32(last), from.port, to.port, ipUDP
			p.ecn, p.dscp, p.class = core.NotECT, 0, f.cfg.ClassOf[0]
			if err := f.hand(p); err != nil {
				return 0, err
			}
		}
		for range batch {
			if _, ok := f.turn(clock); !ok {
				return 0, f.failed
			}
			at += gap
		}
	}
	took := threadTime() - begun
	if took <= 0 {
		return 0, nil
	}
	return packets / took.Seconds(), nil
}

// slowest is the rate of the slowest link.
func (f *Fabric) slowest() int64 {
	rate := f.cfg.Network.Links[0].RateBps
	for i := range f.cfg.Network.Links {
		rate = min(rate, f.cfg.Network.Links[i].RateBps)
	}
	return rate
}

// Demand is how many datagrams of a size a second of the wall can bring when pairs of hosts send at the full rate of
// their links.
func (c Config) Demand(bytes, pairs int) float64 {
	c, err := c.withDefaults()
	if err != nil {
		return 0
	}
	fastest := int64(0)
	for i := range c.Network.Links {
		if l := &c.Network.Links[i]; int(l.From) < c.Network.Hosts {
			fastest = max(fastest, l.RateBps)
		}
	}
	one := emulator.Serialisation(int64(bytes+ipUDP)+c.Fabric.LinkOverhead, fastest)
	return float64(max(pairs, 1)) * float64(instant.Second) / float64(one) / c.Dilation
}

// CheckCapacity measures, and refuses what is more than the loop can move.
func (c Config) CheckCapacity(bytes, pairs int) error {
	can, err := Capacity(c, bytes)
	if err != nil || can == 0 {
		return err
	}
	if asked := c.Demand(bytes, pairs); asked > can {
		return fmt.Errorf("live: the links bring up to %.0f datagrams of %d bytes a second, and this machine moves %.0f; expected lower rates, larger packets, or a dilation of %.0f or more",
			asked, bytes, can, max(2, c.Dilation*asked/can+1))
	}
	return nil
}
