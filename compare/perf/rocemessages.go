package perf

import (
	"slices"

	"github.com/weft-transport/weft/compare/rocev2"
	"github.com/weft-transport/weft/transport/core"
)

// Hosts with selective retransmission place packets out of order, for which every packet must say where it goes. They have no verbs on
// queue pairs of the application's, but messages between hosts, as in the fabric. A message is an RDMA WRITE that the target
// hears of; so a ping-pong needs no immediate data.

// sendMessages begins n messages of a flow.
func (e *roceEnd) sendMessages(flow, n int) error {
	m := core.Message{To: e.peer, Buffer: e.buffers[flow], Length: uint64(e.t.Size), RemoteKey: e.keys[flow], Cookie: uint64(flow)}
	return e.do(func(now core.Time) error {
		for range n {
			if err := e.host.Send(now, m); err != nil {
				return err
			}
		}
		return nil
	})
}

// notifyMessages sorts events. It runs where the host is driven.
func (e *roceEnd) notifyMessages() {
	var buf [32]core.Event
	for n := e.host.Events(buf[:]); n > 0; n = e.host.Events(buf[:]) {
		for i := range buf[:n] {
			v := &buf[i]
			switch v.Kind {
			case core.Delivered:
				if flow := slices.Index(e.buffers, uint32(v.RemoteKey)); flow >= 0 {
					e.flows[flow].receives.add(rocev2.Success)
				}
			case core.Completed:
				e.flows[v.Cookie].requests.add(rocev2.Success)
			default:
				e.flows[v.Cookie].requests.add(rocev2.RetryExceeded)
			}
		}
	}
}
