package udp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// A Carrier drives one Stack over sockets. Listen makes it, Start sets it going, Close ends it. It
// implements core.Driver; its methods are safe for concurrent use.
type Carrier struct {
	cfg   Config
	ports ports
	self  identity
	addr  core.Addr
	start time.Time
	sys   system
	mail  mailbox
	wheel wheel         // of Config.Inline
	done  chan struct{} // closed when the loop has ended

	// Everything below belongs to the loop once it runs.
	stack   core.Stack
	memory  core.Memory // of the Stack, where payloads to send are read; nil: they are zeros
	notify  func(core.Time)
	now     time.Duration // of the clock when it was last read
	wall    int64         // the same instant in Unix nanoseconds
	told    core.Time     // what the Stack was told last; it never goes back
	heard   time.Duration // when there was work last
	looked  time.Duration // when sockets were looked at last, whether or not something was known of them
	crowd   crowd
	untold  bool        // work was done, and notify not called since
	parting parting     // with Config.Inline
	woke    atomic.Bool // somebody who waits
	peers   peers
	stats   Stats
	class   [64]core.Class // by DSCP
	rx      core.Packet
	tx      core.Packet
	ends    Ends // of the message that arrived last
	out     outbox
	in      window
	held    held
}

var _ core.Driver = (*Carrier)(nil)

// A system is the sockets of an operating system, and the sleep of the loop. Only wake may be called from
// other goroutines.
type system interface {
	// open binds the ports of all rails; it sets c.cfg.Local's port, c.out.lanes and c.stats.
	open(c *Carrier, port uint16) error
	// receive reads into c.in, and returns what came; valid until the next call. With poll it looks at
	// sockets that nothing is known of, too.
	receive(c *Carrier, poll bool) []arrival
	// send sends bursts and returns how many are dealt with; fewer than all if a socket is busy.
	send(c *Carrier, bursts []burst) int
	// wait sleeps until there is something to receive, room to send, a wake, or d has passed; d below 0 is for ever.
	wait(d time.Duration)
	wake()
	close()
}

// Listen binds the ports. Packets that arrive before Start wait in the receive buffers.
func Listen(c Config) (*Carrier, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	if c.MaxDatagram, err = c.datagram(); err != nil {
		return nil, err
	}
	k := &Carrier{cfg: c, ports: c.ports(), start: time.Now(), done: make(chan struct{}), peers: newPeers(c.MaxPeers)}
	k.mail.reply.New = func() any { return make(chan struct{}, 1) }
	k.wheel.call = make(chan struct{}, 1)
	for i := len(c.DSCP) - 1; i >= 0; i-- {
		k.class[c.DSCP[i]] = core.Class(i)
	}
	if err := k.bind(); err != nil {
		return nil, err
	}
	own := k.cfg.Local[0]
	k.self = k.ports.identity(own.Addr(), own.Port())
	k.addr = k.self.address()
	k.peers.self = k.addr
	k.out.init(&k.cfg)
	return k, nil
}

// bind opens the sockets. With port 0 it tries blocks until one is free.
func (c *Carrier) bind() (err error) {
	tries := 1
	if c.cfg.Local[0].Port() == 0 {
		tries = 200
	}
	for range tries {
		port := c.cfg.Local[0].Port()
		if port == 0 {
			port = c.ports.freeBlock()
		}
		if c.sys, err = newSystem(&c.cfg); err != nil {
			return err
		}
		if err = c.sys.open(c, port); err == nil {
			for r, l := range c.cfg.Local {
				c.cfg.Local[r] = netip.AddrPortFrom(l.Addr(), port)
			}
			return nil
		}
		c.sys.close()
		if !errors.Is(err, ErrInUse) {
			break // another block would meet the same
		}
	}
	return err
}

// datagram returns the most bytes behind the UDP header that all rails take.
func (c *Config) datagram() (int, error) {
	least := 9216
	for _, l := range c.Local {
		mtu, err := mtuOf(l.Addr())
		if err != nil {
			return 0, err
		}
		header := 28
		if l.Addr().Is6() {
			header = 48
		}
		least = min(least, mtu-header)
		if c.MaxDatagram > mtu-header && c.MaxDatagram > 0 {
			return 0, fmt.Errorf("udp: MaxDatagram is %d: %w: the interface of %v takes %d", c.MaxDatagram, ErrMTU, l.Addr(), mtu-header)
		}
	}
	if c.MaxDatagram > 0 {
		least = c.MaxDatagram
	}
	if least < minDatagram {
		return 0, fmt.Errorf("udp: %w: datagrams of %d bytes; expected %d or more", ErrMTU, least, minDatagram)
	}
	return least, nil
}

// mtuOf returns the MTU of the interface that has an address.
func mtuOf(a netip.Addr) (int, error) {
	all, err := net.Interfaces()
	if err != nil {
		return 0, fmt.Errorf("udp: interfaces: %w", err)
	}
	for _, i := range all {
		addrs, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, n := range addrs {
			if p, err := netip.ParsePrefix(n.String()); err == nil && (p.Addr() == a.WithZone("") || a.IsLoopback() && p.Addr().IsLoopback() && p.Contains(a)) {
				return i.MTU, nil
			}
		}
	}
	return 0, fmt.Errorf("udp: local address %v: %w", a, ErrWildcard)
}

// zoneOf returns the interface number of a link-local address; 0: none.
func zoneOf(a netip.Addr) uint32 {
	if a.Zone() == "" {
		return 0
	}
	if n, err := strconv.ParseUint(a.Zone(), 10, 32); err == nil {
		return uint32(n)
	}
	if i, err := net.InterfaceByName(a.Zone()); err == nil {
		return uint32(i.Index)
	}
	return 0
}

// Start begins to drive a Stack. Its Memory, if it has one, is where payloads to send are read; its Config
// should name Remote of this carrier as the memory of its peers.
func (c *Carrier) Start(h core.Stack, notify func(core.Time)) error {
	if h == nil {
		return fmt.Errorf("udp: %w: no Stack", ErrConfig)
	}
	if err := c.mail.open(); err != nil {
		return err
	}
	c.stack, c.notify = h, notify
	c.memory, _ = h.(core.Memory)
	if c.cfg.Inline {
		go c.relief()
	} else {
		go c.loop()
	}
	return nil
}

// Close stops the loop, waits for it, and closes the sockets. Do and Stats fail afterwards. What was accepted
// and not sent is not sent. Further calls do nothing. It must not be called where the Stack is driven.
func (c *Carrier) Close() error {
	running, first := c.mail.close(c.sys.wake)
	if running {
		<-c.done
	}
	if first {
		c.sys.close()
	}
	return nil
}

// Self returns the fabric address of this endpoint.
func (c *Carrier) Self() core.Addr { return c.addr }

// Local returns the addresses bound, one a rail, with the port that was chosen.
func (c *Carrier) Local() []netip.AddrPort { return append([]netip.AddrPort(nil), c.cfg.Local...) }

// MTU returns the most that core.Packet.Bytes may be: header and payload.
func (c *Carrier) MTU() int {
	return c.cfg.MaxDatagram - c.cfg.Format.Trailer(1) - c.cfg.encapsulation()
}

// Remote returns the memory where payloads of arriving packets are read: the receive buffer, whoever sent them.
func (c *Carrier) Remote(core.Addr) core.Memory { return &c.in }

// Now returns the carrier's clock: the time since Listen.
func (c *Carrier) Now() core.Time { return instant.FromDuration(time.Since(c.start)) }

// Do runs f where the Stack is driven, with the present instant, and returns when it is done.
func (c *Carrier) Do(f func(core.Time)) error {
	if c.cfg.Inline {
		return c.doInline(f)
	}
	return c.mail.do(f, c.sys.wake)
}

// Stats returns the totals so far.
func (c *Carrier) Stats() (s Stats, err error) {
	err = c.Do(func(core.Time) {
		s = c.stats
		s.Peers = c.peers.count()
	})
	return s, err
}

// Resolve makes the endpoint at "address" or "address:port" known and returns its fabric address. Several
// addresses of one peer, one for each of our rails, are separated by commas. Host names are not looked up. Like
// all that goes through Do, it must not be called where the Stack is driven.
func (c *Carrier) Resolve(name string) (core.Addr, error) {
	addrs, err := parseAddrs(name)
	if err != nil {
		return 0, err
	}
	return c.AddPeer(0, addrs...)
}

// AddPeer makes an endpoint known by the addresses of its rails, and by a fabric address; 0: the one that
// follows from addrs[0], which is the same on every host. Port 0 is the well-known one.
func (c *Carrier) AddPeer(a core.Addr, addrs ...netip.AddrPort) (known core.Addr, err error) {
	addrs = append([]netip.AddrPort(nil), addrs...)
	if closed := c.Do(func(core.Time) { known, err = c.addPeer(a, addrs) }); closed != nil {
		return 0, closed
	}
	return known, err
}

// Name returns "address:port" of a peer or of this endpoint, and a number for others.
func (c *Carrier) Name(a core.Addr) string {
	if a == c.addr {
		return c.cfg.Local[0].String()
	}
	name := "unknown endpoint " + strconv.FormatUint(uint64(a), 10)
	c.Do(func(core.Time) {
		if i := c.peers.of(a); i != 0 {
			for _, p := range c.peers.slab[i].paths {
				if p.port != 0 {
					name = netip.AddrPortFrom(netip.AddrFrom16(p.ip).Unmap(), p.port).String()
					return
				}
			}
		}
	})
	return name
}

// zoneName is the inverse of zoneOf.
func zoneName(number uint32) string {
	if i, err := net.InterfaceByIndex(int(number)); err == nil {
		return i.Name
	}
	return strconv.FormatUint(uint64(number), 10)
}
