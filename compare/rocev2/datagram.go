package rocev2

import (
	"fmt"

	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/core"
)

// Unreliable datagrams (UD): one packet each, to any queue pair whose Q_Key it brings, answered by nobody. A work request is
// complete when its packet has left. What finds no receive, or not enough room, is dropped in silence.

// OpenDatagrams makes a queue pair that sends and receives datagrams. Work requests on it say to whom (To, RemoteOffset,
// RemoteKey); receives are posted by PostReceive, and hold the payload without the 40 bytes of a global route header.
func (h *Host) OpenDatagrams(qpn, qkey uint32, first wire.PSN) (QueuePair, error) {
	switch {
	case qpn < firstQPN || qpn >= 1<<24 || first >= 1<<24:
		return 0, fmt.Errorf("rocev2: host %d opens queue pair %d with PSN %d; expected a number from 2 to 2^24-1, and 24 bits", h.self, qpn, first)
	case h.byQPN[qpn] != 0:
		return 0, fmt.Errorf("rocev2: host %d: queue pair number %d is taken", h.self, qpn)
	}
	on := h.addQueuePair(Connection{Peer: h.self, QPN: qpn, SendPSN: first}) // to nobody: no connected peer has our address
	v := &h.verbs[h.qps[on].verbs]
	v.datagrams, v.qkey = true, qkey
	return on, nil
}

// addressDatagram completes the header in h.out for m.
func (h *Host) addressDatagram(q *qp, m *message) {
	h.out.DestQP = uint32(m.remoteOffset)
	h.out.AckReq = false
	h.out.DETH = wire.DETH{QKey: uint32(m.remoteKey), SourceQP: h.verbs[q.verbs].number}
}

// sentDatagram finishes the datagram that has just left.
func (h *Host) sentDatagram(now Time, q *qp) {
	h.settle(now, q, q.next)
	q.timer, q.timedAt, q.asked = never, never, q.una.Add(-1)
}

// onDatagram takes the datagram in h.in.
func (h *Host) onDatagram(now Time, p *core.Packet) {
	i := h.byQPN[h.in.DestQP]
	if i == 0 || !h.verbs[h.qps[i].verbs].datagrams {
		h.count.Malformed++
		return
	}
	v := &h.verbs[h.qps[i].verbs]
	if h.in.DETH.QKey != v.qkey || v.first == 0 || uint64(p.Payload.Length) > h.receives[v.first].Length {
		h.discard(p)
		return
	}
	r := h.takeReceive(v)
	h.placeIn(p, r.Handle, r.Offset, uint64(h.in.DestQP)) // a virtual payload was meant for the queue pair
	h.taken(p)
	h.count.MessagesGot++
	c := Completion{QP: QueuePair(i), Verb: Receive, At: now, Length: uint64(p.Payload.Length), Cookie: r.Cookie, Opcode: h.in.Opcode,
		Solicited: h.in.Solicited, From: p.From, FromQPN: h.in.DETH.SourceQP}
	if h.in.Opcode.HasImmediate() {
		c.Immediate = h.in.Immediate
	}
	h.complete(c)
}
