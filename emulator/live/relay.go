package live

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// A Relay puts an emulated network between two programs that know nothing of it: clients send their datagrams to the
// relay instead of the server, and the server answers the relay. It needs no privilege.
//
//	client ──UDP──► Listen ═► host From ~~~ network ~~~ host To ═► a socket for each client ──UDP──► Target
//
// The DSCP that datagrams come to the relay with, which Linux tells, says in which class they cross the network. It is not
// passed on, and marks of ECN do not pass from the outer sockets to the network and back.
type Relay struct {
	fabric *Fabric
	cfg    RelayConfig
	outer  *net.UDPConn

	mu      sync.Mutex
	clients map[netip.AddrPort]*client
	ending  bool
	all     sync.WaitGroup
	lost    atomic.Uint64 // the kernel did not take them
}

// A RelayConfig says what a Relay connects.
type RelayConfig struct {
	Listen, Target string // UDP addresses, as 127.0.0.1:7000
	From, To       int    // hosts that clients and server are at
	// Idle is after how long without a datagram a client is forgotten. 0: one minute.
	Idle time.Duration
	// MaxClients bounds them; datagrams of more are dropped. 0: 1024.
	MaxClients int
}

// A client is one address that sends to the relay.
type client struct {
	addr         netip.AddrPort
	near, far    *Conn        // its sockets in the network
	server       *net.UDPConn // to the target
	lastDatagram atomic.Int64 // since the fabric began, nanoseconds
}

// NewRelay opens a relay over a fabric. Close ends it; the fabric goes on.
func NewRelay(f *Fabric, c RelayConfig) (*Relay, error) {
	if c.Idle == 0 {
		c.Idle = time.Minute
	}
	if c.MaxClients == 0 {
		c.MaxClients = 1024
	}
	for _, h := range []int{c.From, c.To} {
		if h < 0 || h >= len(f.gates) {
			return nil, fmt.Errorf("live: no host %d; expected 0 to %d", h, len(f.gates)-1)
		}
	}
	target, err := net.ResolveUDPAddr("udp", c.Target)
	if err != nil {
		return nil, fmt.Errorf("live: the target of a relay: %w", err)
	}
	if target.Port == 0 {
		return nil, fmt.Errorf("live: the target of a relay, %s, has no port", c.Target)
	}
	listen, err := net.ResolveUDPAddr("udp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("live: the address of a relay: %w", err)
	}
	outer, err := net.ListenUDP("udp", listen)
	if err != nil {
		return nil, fmt.Errorf("live: a relay cannot listen: %w", err)
	}
	r := &Relay{fabric: f, cfg: c, outer: outer, clients: make(map[netip.AddrPort]*client)}
	enlarge(outer)
	tellDSCP(outer)
	r.all.Add(1)
	go r.accept(target)
	return r, nil
}

// enlarge asks for large socket buffers, as far as the system allows: bursts of the network must not be lost outside of it.
func enlarge(c *net.UDPConn) {
	const want = 4 << 20
	_ = c.SetReadBuffer(want)
	_ = c.SetWriteBuffer(want)
}

// Addr is where clients send to.
func (r *Relay) Addr() *net.UDPAddr { return r.outer.LocalAddr().(*net.UDPAddr) }

// Lost returns how many datagrams were lost outside the network: the system did not take them.
func (r *Relay) Lost() uint64 { return r.lost.Load() }

// Run returns when ctx ends, and closes the relay.
func (r *Relay) Run(ctx context.Context) error {
	<-ctx.Done()
	return r.Close()
}

// Close ends the relay and forgets its clients.
func (r *Relay) Close() error {
	r.mu.Lock()
	r.ending = true
	all := make([]*client, 0, len(r.clients))
	for _, c := range r.clients {
		all = append(all, c)
	}
	r.mu.Unlock()
	err := r.outer.Close()
	for _, c := range all {
		c.close()
	}
	r.all.Wait()
	return err
}

func (c *client) close() {
	_ = c.near.Close() // closing twice is no harm
	_ = c.far.Close()
	_ = c.server.Close()
}

// accept carries what clients send into the network.
func (r *Relay) accept(target *net.UDPAddr) {
	defer r.all.Done()
	buf, oob := make([]byte, MaxDatagram+1), make([]byte, roomForDSCP)
	for {
		n, dscp, from, err := readDSCP(r.outer, buf, oob)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil || n > MaxDatagram {
			r.lost.Add(1)
			continue
		}
		c := r.clientOf(from, target)
		if c == nil {
			r.lost.Add(1)
			continue
		}
		c.lastDatagram.Store(int64(r.fabric.since()))
		if _, err := c.near.writeDSCP(buf[:n], c.far.LocalAddr(), dscp); err != nil {
			r.lost.Add(1)
		}
	}
}

// clientOf returns the client at an address, and makes it when it is new.
func (r *Relay) clientOf(from netip.AddrPort, target *net.UDPAddr) *client {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.clients[from]; c != nil || r.ending {
		return c
	}
	if len(r.clients) >= r.cfg.MaxClients && !r.forgetIdle() {
		return nil
	}
	near, err := r.fabric.ListenPacket(r.cfg.From, 0)
	if err != nil {
		return nil
	}
	far, err := r.fabric.ListenPacket(r.cfg.To, 0)
	if err != nil {
		_ = near.Close()
		return nil
	}
	server, err := net.DialUDP("udp", nil, target)
	if err != nil {
		_ = near.Close()
		_ = far.Close()
		return nil
	}
	enlarge(server)
	tellDSCP(server)
	c := &client{addr: from, near: near, far: far, server: server}
	r.clients[from] = c
	r.all.Add(3)
	read := func(from *Conn) func(b []byte) (int, uint8, error) {
		return func(b []byte) (int, uint8, error) { n, _, err := from.ReadFrom(b); return n, 0, err }
	}
	oob := make([]byte, roomForDSCP)
	answers := func(b []byte) (int, uint8, error) { n, dscp, _, err := readDSCP(server, b, oob); return n, dscp, err }
	go r.carry(c, read(far), func(b []byte, _ uint8) (int, error) { return server.Write(b) })
	go r.carry(c, answers, func(b []byte, dscp uint8) (int, error) { return far.writeDSCP(b, near.LocalAddr(), dscp) })
	go r.carry(c, read(near), func(b []byte, _ uint8) (int, error) { return r.outer.WriteToUDPAddrPort(b, from) })
	return c
}

// forgetIdle makes room for a client; false: all are busy. The caller holds mu.
func (r *Relay) forgetIdle() bool {
	for addr, c := range r.clients {
		if r.fabric.since()-time.Duration(c.lastDatagram.Load()) > r.cfg.Idle {
			delete(r.clients, addr)
			c.close()
			return true
		}
	}
	return false
}

// roomForDSCP is for what comes beside a datagram.
const roomForDSCP = 128

// carry moves datagrams until the reader is closed.
func (r *Relay) carry(c *client, read func([]byte) (int, uint8, error), write func([]byte, uint8) (int, error)) {
	defer r.all.Done()
	buf := make([]byte, MaxDatagram)
	for {
		n, dscp, err := read(buf)
		if errors.Is(err, net.ErrClosed) || errors.Is(err, ErrClosed) {
			return
		}
		if err != nil {
			continue // nobody listens at the other end, says an ICMP message: that passes
		}
		c.lastDatagram.Store(int64(r.fabric.since()))
		if _, err := write(buf[:n], dscp); err != nil {
			r.lost.Add(1)
		}
	}
}
