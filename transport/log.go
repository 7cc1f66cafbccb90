package transport

import (
	"context"
	"log/slog"

	"github.com/weft-transport/weft/transport/udp"
)

// report writes what an endpoint is, and what became of it, to Config.Logger: when it opens and when it closes. Nothing is
// written where packets and operations are.
func (e *Endpoint) report(what string) {
	l := e.cfg.Logger
	if l == nil || !l.Enabled(context.Background(), slog.LevelInfo) {
		return
	}
	s, err := e.Stats()
	if err != nil {
		return // closed before
	}
	attrs := []slog.Attr{slog.String("endpoint", e.Name()), slog.Int("payload_mtu", e.cfg.Core.PayloadMTU)}
	if s.Sent+s.Received > 0 {
		attrs = append(attrs, slog.Uint64("sent", s.Sent), slog.Uint64("received", s.Received), slog.Uint64("retransmits", s.Retransmits),
			slog.Uint64("timeouts", s.Timeouts), slog.Uint64("messages_failed", s.MessagesFailed), slog.Int("pending", s.Pending))
	}
	if c, ok := e.driver.(*udp.Carrier); ok {
		if s, err := c.Stats(); err == nil {
			attrs = append(attrs, slog.Bool("gso", s.GSO), slog.Bool("gro", s.GRO), slog.Bool("batch", s.Batch), slog.Bool("ecn", s.ECN),
				slog.Int("lanes", s.Lanes), slog.Int("socket_buffer", s.SocketBuffer), slog.Uint64("overflow", s.Overflow))
			for d, n := range s.Drops {
				if n > 0 {
					attrs = append(attrs, slog.Uint64("dropped: "+udp.Drop(d).String(), n))
				}
			}
		}
	}
	l.LogAttrs(context.Background(), slog.LevelInfo, "transport: "+what, attrs...)
}
