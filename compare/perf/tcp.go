package perf

import (
	"context"
	"net"
	"net/netip"

	"github.com/weft-transport/weft/transport/param"
)

func init() {
	Protocols.Register(param.Entry[*protocol]{
		Name: "tcp", Doc: "TCP of the kernel, by package net", Source: "RFC 9293",
		Params: []param.Param{
			{Name: "congestion", Kind: param.Word, Default: "", Doc: "congestion control of the kernel (TCP_CONGESTION, Linux); absent: the system's default"},
		},
		New: func(v param.Values) (*protocol, error) {
			cc := v.Word("congestion")
			return &protocol{operations: []string{Stream}, differs: "not encrypted; in the kernel; congestion control " + tcpDefault(cc) + "; segments of up to 64 KiB (TSO, GRO)",
				open: func(ctx context.Context, p place, t *Test) (end, error) { return openTCP(ctx, cc, p, t) }}, nil
		},
	})
}

func openTCP(ctx context.Context, cc string, p place, t *Test) (end, error) {
	e := newPipes(t, p)
	e.totals = func() (c Counters) {
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, flows := range e.all {
			for _, p := range flows {
				if conn, ok := p.(*net.TCPConn); ok {
					tcpCounters(conn, &c)
				}
			}
		}
		return c
	}
	e.shut = func() error { return nil }
	if !p.server {
		e.dial = func(ctx context.Context, o offer) (pipe, error) {
			d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(p.local, 0)), Control: TCPControl(cc)}
			conn, err := d.DialContext(ctx, "tcp", o.Address)
			if err != nil {
				return nil, err
			}
			return conn.(*net.TCPConn), nil
		}
		return e, nil
	}
	config := net.ListenConfig{Control: TCPControl(cc)}
	l, err := config.Listen(ctx, "tcp", netip.AddrPortFrom(p.local, p.port(t)).String())
	if err != nil {
		return nil, plain(err)
	}
	e.mine.Address = l.Addr().String()
	e.shut = l.Close
	e.accept(func() (pipe, error) {
		conn, err := l.Accept()
		if err != nil {
			return nil, err
		}
		return conn.(*net.TCPConn), nil
	})
	return e, nil
}
