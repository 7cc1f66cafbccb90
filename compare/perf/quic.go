package perf

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/weft-transport/weft/transport/param"
)

func init() {
	Protocols.Register(param.Entry[*protocol]{
		Name: "quic", Doc: "QUIC, by quic-go", Source: "RFC 9000",
		Params: []param.Param{
			{Name: "window", Kind: param.Bytes, Default: "64MiB", Min: 1 << 16, Max: 1 << 32, Doc: "receive window of a stream and of its connection (ours: a BDP of 100 Gbit/s and 5 ms); not scaled"},
		},
		New: func(v param.Values) (*protocol, error) {
			window := uint64(v.Bytes("window", 0))
			return &protocol{operations: []string{Stream}, impairs: true,
				differs: "encrypted (TLS 1.3, AES-GCM), which it cannot do without; congestion control of quic-go (Cubic); packets of at most 1452 bytes; GSO where the kernel has it, but not with impairment",
				open:    func(ctx context.Context, p place, t *Test) (end, error) { return openQUIC(ctx, window, p, t) }}, nil
		},
	})
}

// A quicPipe is a stream with the connection that is its own.
type quicPipe struct {
	*quic.Stream
	conn *quic.Conn
}

func (p quicPipe) Close() error { return p.conn.CloseWithError(0, "") }

const quicName = "weft-perf"

func openQUIC(ctx context.Context, window uint64, p place, t *Test) (end, error) {
	e := newPipes(t, p)
	socket, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(p.local, p.port(t))))
	if err != nil {
		return nil, plain(err)
	}
	socket.SetReadBuffer(7 << 20) // what quic-go asks for; the system may grant less
	socket.SetWriteBuffer(7 << 20)
	var packets net.PacketConn = socket
	bad := newBadConn(socket, t.Impairment, p.stream())
	if t.Impairment.On() {
		packets = bad
	}
	carrier := &quic.Transport{Conn: packets}
	config := &quic.Config{MaxIdleTimeout: time.Minute, InitialStreamReceiveWindow: window, MaxStreamReceiveWindow: window,
		InitialConnectionReceiveWindow: window, MaxConnectionReceiveWindow: window}
	var conns connections
	e.totals = func() Counters {
		c := conns.counters()
		c.InjectedDrops = bad.drops.Load()
		return c
	}
	e.shut = func() error {
		conns.close()
		err := carrier.Close()
		packets.Close()
		return err
	}
	if !p.server {
		e.dial = func(ctx context.Context, o offer) (pipe, error) { return dialQUIC(ctx, carrier, config, o, &conns) }
		return e, nil
	}
	certificate, der, err := selfSigned()
	if err != nil {
		e.shut()
		return nil, err
	}
	l, err := carrier.Listen(serverTLS(certificate), config)
	if err != nil {
		e.shut()
		return nil, err
	}
	e.mine = offer{Address: socket.LocalAddr().String(), Secret: der}
	e.accept(func() (pipe, error) {
		conn, err := l.Accept(ctx)
		if err != nil {
			return nil, err
		}
		conns.add(conn)
		accepted, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		s, err := conn.AcceptStream(accepted)
		if err != nil {
			return nil, err
		}
		return quicPipe{s, conn}, nil
	})
	return e, nil
}

func dialQUIC(ctx context.Context, t *quic.Transport, config *quic.Config, o offer, conns *connections) (pipe, error) {
	to, err := netip.ParseAddrPort(o.Address)
	if err != nil {
		return nil, err
	}
	trusting, err := clientTLS(o.Secret)
	if err != nil {
		return nil, err
	}
	conn, err := t.Dial(ctx, net.UDPAddrFromAddrPort(to), trusting, config)
	if err != nil {
		return nil, err
	}
	conns.add(conn)
	s, err := conn.OpenStreamSync(ctx)
	if err != nil {
		return nil, err
	}
	return quicPipe{s, conn}, nil
}

// connections are those of an end, for their statistics and their end.
type connections struct {
	mu  sync.Mutex
	all []*quic.Conn
}

func (c *connections) add(conn *quic.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, conn)
}

func (c *connections) counters() (n Counters) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.all {
		s := conn.ConnectionStats()
		n.PacketsSent += s.PacketsSent
		n.PacketsReceived += s.PacketsReceived
		n.Retransmitted += s.PacketsLost
	}
	return n
}

func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.all {
		conn.CloseWithError(0, "")
	}
}

func serverTLS(c tls.Certificate) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{c}, NextProtos: []string{quicName}, MinVersion: tls.VersionTLS13}
}

// clientTLS trusts the holder of a certificate, and nobody else.
func clientTLS(der []byte) (*tls.Config, error) {
	trusted, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("certificate of the other end: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(trusted)
	return &tls.Config{RootCAs: roots, ServerName: quicName, NextProtos: []string{quicName}, MinVersion: tls.VersionTLS13}, nil
}

// Credentials are those of servers, and of clients that trust them, in one process.
func Credentials() (server, client *tls.Config, err error) {
	certificate, der, err := selfSigned()
	if err != nil {
		return nil, nil, err
	}
	client, err = clientTLS(der)
	return serverTLS(certificate), client, err
}

// selfSigned makes a certificate for one test; the client gets it over the control connection.
func selfSigned() (c tls.Certificate, der []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return c, nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{quicName}, NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if der, err = x509.CreateCertificate(rand.Reader, template, template, key.Public(), key); err != nil {
		return c, nil, errors.Join(errors.New("certificate"), err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, der, nil
}
