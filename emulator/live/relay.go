package live

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A Relay puts an emulated network between two programs that know nothing of it: clients send their datagrams to the
// relay instead of the server, and the server answers the relay. It needs no privilege. On Linux the loop of the fabric reads and
// writes the sockets itself, several datagrams a call; elsewhere goroutines do, one at a time.
//
//	client ──UDP──► Listen ═► host From ~~~ network ~~~ host To ═► a socket for each client ──UDP──► Target
//
// The DSCP that datagrams come to the relay with, which Linux tells, says in which class they cross the network. It is not
// passed on, and marks of ECN do not pass from the outer sockets to the network and back.
type Relay struct {
	fabric *Fabric
	cfg    RelayConfig
	target *net.UDPAddr
	outer  *socket
	exit   *outlet // to clients
	in     *lookout

	mu      sync.Mutex
	clients map[peer]*client
	ending  bool
	refuses time.Duration // new clients until then, since the fabric began
	missed  uint64        // overflows of clients' sockets that are closed
	all     sync.WaitGroup
	lost    atomic.Uint64
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
	near, far    *Conn        // its sockets in the network
	server       *socket      // to the target
	in           *inlet       // of that
	exit         *outlet      // of that
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
	r := &Relay{fabric: f, cfg: c, target: target, clients: make(map[peer]*client)}
	enlarge(outer)
	if r.outer, err = newSocket(outer); err != nil {
		return nil, fmt.Errorf("live: the socket of a relay: %w", err)
	}
	r.exit = r.outlet(r.outer)
	if err := f.enter(r); err != nil {
		return nil, errors.Join(fmt.Errorf("live: a relay cannot read: %w", err), r.Close())
	}
	return r, nil
}

// enlarge asks for large socket buffers, as far as the system allows: bursts of the network must not be lost outside of it.
func enlarge(c *net.UDPConn) {
	const want = 4 << 20
	_ = c.SetReadBuffer(want)
	_ = c.SetWriteBuffer(want)
}

// Addr is where clients send to.
func (r *Relay) Addr() *net.UDPAddr { return r.outer.addr.(*net.UDPAddr) }

// Lost returns how many datagrams were lost outside the network, beside those of Overflow: the system did not take them, or they
// were too large or too many clients'.
func (r *Relay) Lost() uint64 { return r.lost.Load() }

// Overflow returns how many datagrams the system dropped in front of the network: the relay, which waits while there is no room
// for the link, had not read others yet. It is known on Linux only.
func (r *Relay) Overflow() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.missed + r.outer.overflow()
	for _, c := range r.clients {
		n += c.server.overflow()
	}
	return n
}

// Run returns when ctx ends, and closes the relay.
func (r *Relay) Run(ctx context.Context) error {
	<-ctx.Done()
	return r.Close()
}

// Close ends the relay and forgets its clients.
func (r *Relay) Close() error {
	r.mu.Lock()
	r.ending = true
	for from, c := range r.clients {
		r.forget(from, c)
	}
	r.mu.Unlock()
	r.exit.close()
	err := r.outer.close()
	r.fabric.leave(r)
	r.all.Wait()
	return err
}

// forget ends a client. The caller holds mu.
func (r *Relay) forget(from peer, c *client) {
	delete(r.clients, from)
	_ = c.near.Close() // closing twice is no harm
	_ = c.far.Close()
	c.exit.close()
	_ = c.server.close()
	r.missed += c.server.overflow()
	r.in.remove(c.in)
}

func (r *Relay) outlet(s *socket) *outlet {
	return &outlet{fabric: r.fabric, sink: s, refused: r.lose, all: &r.all}
}

func (r *Relay) lose(n int) { r.lost.Add(uint64(n)) }

// fromClient is the route of a client's datagram.
func (r *Relay) fromClient(from *peer) (src, dst *Conn) {
	c := r.clientOf(*from)
	if c == nil {
		return nil, nil
	}
	c.seen(r.fabric)
	return c.near, c.far
}

// fromServer is the route back.
func (c *client) fromServer(*peer) (src, dst *Conn) {
	c.seen(c.near.gate.fabric)
	return c.far, c.near
}

func (c *client) seen(f *Fabric) { c.lastDatagram.Store(int64(f.since())) }

// clientOf returns the client at an address, and makes it when it is new; nil: it cannot.
func (r *Relay) clientOf(from peer) *client {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.clients[from]; c != nil || r.ending {
		return c
	}
	now := r.fabric.since()
	if now < r.refuses {
		return nil
	}
	if len(r.clients) < r.cfg.MaxClients || r.forgetIdle(now) {
		if c, err := r.newClient(from); err == nil {
			r.clients[from] = c
			return c
		}
	}
	const pause = 10 * time.Millisecond // looking for room for each of their datagrams would take the loop's time
	r.refuses = now + pause
	return nil
}

func (r *Relay) newClient(from peer) (*client, error) {
	server, err := net.DialUDP("udp", nil, r.target)
	if err != nil {
		return nil, err
	}
	enlarge(server)
	c := new(client)
	c.seen(r.fabric)
	if c.server, err = newSocket(server); err != nil {
		return nil, err
	}
	c.exit = r.outlet(c.server)
	c.in = &inlet{fabric: r.fabric, socket: c.server, route: c.fromServer, lost: r.lose}
	if c.near, err = r.fabric.listen(r.cfg.From, 0, r.exit, &from); err == nil {
		if c.far, err = r.fabric.listen(r.cfg.To, 0, c.exit, nil); err == nil {
			if err = r.in.add(c.in); err == nil {
				return c, nil
			}
			_ = c.far.Close()
		}
		_ = c.near.Close()
	}
	return nil, errors.Join(err, c.server.close())
}

// forgetIdle makes room for a client; false: all are busy. The caller holds mu.
func (r *Relay) forgetIdle(now time.Duration) bool {
	for from, c := range r.clients {
		if now-time.Duration(c.lastDatagram.Load()) > r.cfg.Idle {
			r.forget(from, c)
			return true
		}
	}
	return false
}
