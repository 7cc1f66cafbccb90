package carrier

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/weft-transport/weft/compare/perf"
	"github.com/weft-transport/weft/compare/workload"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// A quicFleet has a connection of quic-go for each pair of hosts that have a flow.
type quicFleet struct {
	pipes
	ctx        context.Context // of all connections; close ends it
	cancel     context.CancelFunc
	sockets    []net.PacketConn
	transports map[int32]*quic.Transport // by host
	conns      map[[2]int32]*quic.Conn   // by source and destination: the source's end
	served     []*quic.Conn              // the destinations' ends
	before     core.Counters
}

const quicPort = 4433

// mostQUIC is the longest packet that quic-go sends, with the headers of IP and UDP around it.
const mostQUIC = 1452 + 28

// openQUIC opens all connections; listen opens a socket of a host, on quicPort.
func openQUIC(ctx context.Context, p *player, address func(host int) netip.Addr, listen func(host int) (net.PacketConn, error)) (_ *quicFleet, err error) {
	q := &quicFleet{pipes: pipes{player: p}, transports: map[int32]*quic.Transport{}, conns: map[[2]int32]*quic.Conn{}}
	q.ctx, q.cancel = context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			_ = q.close()
		}
	}()
	server, client, err := perf.Credentials()
	if err != nil {
		return nil, err
	}
	const window = 16 << 20
	config := &quic.Config{
		MaxIdleTimeout: time.Hour, HandshakeIdleTimeout: time.Minute, MaxIncomingStreams: 1 << 16,
		InitialStreamReceiveWindow: window, MaxStreamReceiveWindow: window, InitialConnectionReceiveWindow: window, MaxConnectionReceiveWindow: window,
	}
	listeners := map[int32]*quic.Listener{}
	for i := range p.plan.Flows {
		f := &p.plan.Flows[i]
		for _, host := range []int32{f.Src, f.Dst} {
			if q.transports[host] != nil {
				continue
			}
			socket, err := listen(int(host))
			if err != nil {
				return nil, err
			}
			q.sockets = append(q.sockets, socket)
			q.transports[host] = &quic.Transport{Conn: socket}
		}
		if listeners[f.Dst] == nil {
			if listeners[f.Dst], err = q.transports[f.Dst].Listen(server, config); err != nil {
				return nil, err
			}
		}
		pair := [2]int32{f.Src, f.Dst}
		if q.conns[pair] != nil {
			continue
		}
		to := net.UDPAddrFromAddrPort(netip.AddrPortFrom(address(int(f.Dst)), quicPort))
		if q.conns[pair], err = q.transports[f.Src].Dial(ctx, to, client, config); err != nil {
			return nil, fmt.Errorf("connection %d->%d: %w", f.Src, f.Dst, err)
		}
		conn, err := listeners[f.Dst].Accept(ctx)
		if err != nil {
			return nil, fmt.Errorf("connection %d->%d: %w", f.Src, f.Dst, err)
		}
		q.served = append(q.served, conn)
		q.all.Go(func() { q.accept(conn) })
	}
	q.before, err = q.counters()
	return q, err
}

// accept serves the streams of a connection.
func (q *quicFleet) accept(conn *quic.Conn) {
	for {
		s, err := conn.AcceptStream(q.ctx)
		if err != nil {
			return // its end shows at the sender
		}
		q.all.Go(func() {
			_ = q.serve(s)
			s.Close()
		})
	}
}

func (q *quicFleet) send(id int, _ int32, f *workload.Flow) (instant.Time, error) {
	conn := q.conns[[2]int32{f.Src, f.Dst}]
	at := q.player.clock()
	q.all.Go(func() {
		s, err := conn.OpenStreamSync(q.ctx)
		if err == nil {
			err = q.put(s, id, f.Bytes)
		}
		if err == nil {
			s.Close() // nothing more is sent
			_, err = q.answered(s)
		}
		if err != nil {
			q.failed(id)
			return
		}
		_, _ = io.Copy(io.Discard, s) // the end of the stream
	})
	return at, nil
}

// counters are quic-go's. Packets that it holds lost are those whose contents it sends again.
func (q *quicFleet) counters() (core.Counters, error) {
	c := q.totals()
	for _, conn := range q.conns {
		s := conn.ConnectionStats()
		c.Sent, c.SentData, c.Received, c.Retransmits = c.Sent+s.PacketsSent, c.SentData+s.PacketsSent, c.Received+s.PacketsReceived, c.Retransmits+s.PacketsLost
	}
	for _, conn := range q.served {
		s := conn.ConnectionStats()
		c.Sent, c.Received, c.Delivered = c.Sent+s.PacketsSent, c.Received+s.PacketsReceived, c.Delivered+s.PacketsReceived
	}
	since(&c, &q.before)
	return c, nil
}

// since takes off what hosts had counted when the play began.
func since(c, before *core.Counters) {
	c.Sent, c.SentData, c.Received, c.Delivered = c.Sent-before.Sent, c.SentData-before.SentData, c.Received-before.Received, c.Delivered-before.Delivered
	c.Retransmits, c.Timeouts = c.Retransmits-before.Retransmits, c.Timeouts-before.Timeouts
	c.SentControl = c.Sent - c.SentData
}

func (q *quicFleet) close() error {
	q.closing.Store(true)
	q.cancel()
	for _, conn := range q.conns {
		if conn != nil {
			conn.CloseWithError(0, "")
		}
	}
	for _, conn := range q.served {
		conn.CloseWithError(0, "")
	}
	for _, t := range q.transports {
		t.Close()
	}
	for _, s := range q.sockets {
		s.Close()
	}
	q.all.Wait()
	return nil
}
