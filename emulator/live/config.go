package live

import (
	"errors"
	"fmt"
	"time"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/core"
)

// A Config describes a network and how faithfully it is played.
type Config struct {
	Network *emulator.Network
	// Fabric completes it. Without classes there is one, first in first out, with QueueBytes of room and marks from
	// ECNBytes on. LinkOverhead 0: DefaultOverhead.
	Fabric     emulator.Config
	QueueBytes int64 // of a port; 0: DefaultQueue
	ECNBytes   int64 // a longer queue marks what can be marked; 0: none
	// ClassOf says by DSCP which of the classes packets of TUNs and Conns travel in. nil: DefaultTable, 46 (EF) in class 1
	// if there is one, and all others in class 0. Packets of Drivers name their class themselves.
	ClassOf *ClassTable
	// Proto is what the packets of Drivers are. 0: core.ProtoUET.
	Proto core.Proto
	// Dilation is how many seconds of the wall a second of the network takes: with 10, links are ten times as slow and
	// delays ten times as long as they say, so that a machine can play a network that is too fast for it. Programs must
	// know it: their own timers do not. 0: 1.
	Dilation float64
	// Poll is how long before something is due the loop stops sleeping. 0: DefaultPoll; negative: it never polls, which
	// spares a core and costs some tens of microseconds of lateness.
	Poll time.Duration
	// SendBuffer is how many bytes of each class a host holds for its link before a writer must wait. 0: DefaultSendBuffer.
	SendBuffer int
	// ReceiveBuffer is how many datagrams a conn holds for its reader; more are lost, and counted. 0: DefaultReceiveBuffer.
	ReceiveBuffer int
	Limits        Limits // of validity; zero fields have the defaults that Limits names
}

// Defaults.
const (
	DefaultOverhead      = 38 // Ethernet with preamble and gap
	DefaultQueue         = 1 << 20
	DefaultPoll          = 60 * time.Microsecond // what a sleep on an idle Linux machine is late by, at most times
	DefaultSendBuffer    = 256 << 10
	DefaultReceiveBuffer = 4096
)

// MaxDatagram is the largest datagram that a fabric carries.
const MaxDatagram = 65_000

func (c Config) withDefaults() (Config, error) {
	if c.Network == nil {
		return c, errors.New("live: Config.Network is missing")
	}
	if c.Dilation == 0 {
		c.Dilation = 1
	}
	if c.Dilation < 0.001 || c.Dilation > 1e6 {
		return c, fmt.Errorf("live: Config.Dilation is %v; expected 0.001 to 1000000 seconds of the wall for a second of the network", c.Dilation)
	}
	def := func(p *int, value int) {
		if *p == 0 {
			*p = value
		}
	}
	def(&c.SendBuffer, DefaultSendBuffer)
	def(&c.ReceiveBuffer, DefaultReceiveBuffer)
	if c.Poll == 0 {
		c.Poll = DefaultPoll
	}
	if c.Proto == 0 {
		c.Proto = core.ProtoUET
	}
	if c.QueueBytes == 0 {
		c.QueueBytes = DefaultQueue
	}
	f := &c.Fabric
	if f.LinkOverhead == 0 {
		f.LinkOverhead = DefaultOverhead
	}
	if f.MaxWireBytes == 0 {
		f.MaxWireBytes = MaxDatagram + f.LinkOverhead
	}
	if f.MinWireBytes == 0 {
		f.MinWireBytes = 84
	}
	if len(f.Classes) == 0 {
		f.Classes = []emulator.Class{{Name: "data", QueueBytes: c.QueueBytes, ECNMin: c.ECNBytes, ECNMax: c.ECNBytes}}
	}
	if c.ClassOf == nil {
		c.ClassOf = new(DefaultTable(len(f.Classes)))
	}
	if err := c.ClassOf.check(f.Classes); err != nil {
		return c, err
	}
	if f.BufferBytes == 0 {
		f.BufferBytes = roomForAll(f.Classes, int64(len(c.Network.Links)), f.MaxWireBytes)
	}
	c.Limits = c.Limits.withDefaults(c.Dilation)
	return c, nil
}

// roomForAll is a buffer in which all queues fit; 0: some have no limit of their own, and share what switches have.
func roomForAll(classes []emulator.Class, links, packet int64) int64 {
	sum := int64(0)
	for _, c := range classes {
		if c.QueueBytes == 0 {
			return 0
		}
		sum += max(c.QueueBytes, c.LastHopQ) + packet
	}
	return sum * links
}
