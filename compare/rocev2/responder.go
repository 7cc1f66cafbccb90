package rocev2

import (
	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/core"
)

// onRequest takes a packet of a request: an RDMA WRITE, or any verb on a queue pair that Connect made.
func (h *Host) onRequest(now Time, i uint32, p *core.Packet) {
	q := &h.qps[i]
	if p.ECN == core.CE && h.cfg.CNPInterval != never {
		h.congestionSeen(now, i)
	}
	if q.rstate == refused {
		h.discard(p)
		return
	}
	if h.cfg.Placement == OutOfOrder {
		h.onWriteAnywhere(now, i, p)
		return
	}
	switch {
	case isDuplicate(h.in.PSN, q.expect):
		h.duplicate(p)
		if q.verbs != 0 && h.repeatReply(now, i) {
			return
		}
		h.acknowledge(i)
	case q.expect.Before(h.in.PSN):
		if q.rstate == expecting {
			h.gaps++
		}
		h.noteDisorder(h.in.PSN.Sub(q.expect))
		h.discard(p)
		h.nakOnce(now, i)
	case q.verbs != 0:
		h.acceptVerb(now, i, p)
	default:
		h.accept(now, i, p)
	}
}

// isDuplicate tells whether the packet was taken before.
func isDuplicate(number, expect psn) bool { return number.Before(expect) }

// nakOnce asks for the missing packet, once for each gap: until the packet has come, every further one
// behind it is dropped in silence (IBTA 9.7.5.2, as rdma_rxe does it).
func (h *Host) nakOnce(now Time, i uint32) {
	q := &h.qps[i]
	if q.rstate == nakSent {
		return
	}
	q.rstate = nakSent
	h.naks++
	h.answer(i, answer{kind: nakAnswer, syndrome: wire.NakSequence, psn: q.expect})
	h.notifyWithNAK(now, i)
}

// accept takes the expected packet.
func (h *Host) accept(now Time, i uint32, p *core.Packet) {
	q := &h.qps[i]
	if why := h.check(q, p.Payload.Length); why != wire.AckUnlimited {
		h.discard(p)
		h.refuseAccess(i, why)
		return
	}
	q.rstate = expecting
	h.place(p, q.key, q.va)
	h.taken(p)
	q.va += uint64(p.Payload.Length)
	q.left -= p.Payload.Length
	q.expect = q.expect.Add(1)
	q.since++
	if h.in.Opcode.Ends() {
		q.within = false
		h.finish(now, i, q.key, q.size, h.immediate())
	}
	if h.ackDue(q, h.in.AckReq) {
		h.acknowledge(i)
	}
}

// check compares the expected packet with the message under way, or begins one. The answer is a fatal NAK,
// or AckUnlimited if all is well.
func (h *Host) check(q *qp, payload uint32) wire.Syndrome {
	op := h.in.Opcode
	if op.Starts() == q.within {
		return wire.NakInvalidRequest
	}
	left := q.left
	if op.Starts() {
		left = h.in.RETH.Length
		if !h.admits(h.in.RETH.RKey, h.in.RETH.VA, left, RemoteWrite) {
			return wire.NakRemoteAccess
		}
	}
	if op.WholeMTU() && (int64(payload) != h.cfg.Path.MSS || payload >= left) || op.Ends() && payload != left {
		return wire.NakInvalidRequest
	}
	if op.Starts() {
		q.va, q.key, q.size, q.left = h.in.RETH.VA, h.in.RETH.RKey, left, left
		q.within = true
	}
	return wire.AckUnlimited
}

// ackDue tells whether the packet just taken is to be acknowledged: it asks for it, or enough have
// gathered. The last packet of every message asks, so that no sender waits for an acknowledgement in vain.
func (h *Host) ackDue(q *qp, asked bool) bool {
	return asked || h.cfg.AckEvery > 0 && int(q.since) >= h.cfg.AckEvery
}

// acknowledge answers that everything before the expected packet has arrived.
func (h *Host) acknowledge(i uint32) {
	q := &h.qps[i]
	q.since = 0
	h.answer(i, answer{kind: ackAnswer, syndrome: wire.AckUnlimited, psn: q.expect.Add(-1)})
}

// refuseAccess answers a request that cannot be served; the queue pair takes nothing any more.
func (h *Host) refuseAccess(i uint32, why wire.Syndrome) {
	q := &h.qps[i]
	q.rstate = refused
	h.answer(i, answer{kind: nakAnswer, syndrome: why, psn: q.expect})
}

// immediate returns the immediate data of the packet in h.in, 0 if it has none.
func (h *Host) immediate() uint32 {
	if h.in.Opcode.HasImmediate() {
		return h.in.Immediate
	}
	return 0
}

// stripes counts the parts of a striped message that arrived on any queue pair.
type stripes struct {
	arrived uint32
	bytes   uint64
}

// finish takes the end of an RDMA WRITE. Without immediate it is a whole message; with it, one part of
// several, and the immediate says which message (upper half) and how many parts it has (lower half).
func (h *Host) finish(now Time, i uint32, key, size, immediate uint32) {
	q := &h.qps[i]
	q.msn = (q.msn + 1) & 0xFFFFFF
	if immediate == 0 {
		h.deliver(now, q.to, key, uint64(size))
		return
	}
	if h.striped == nil {
		h.striped = make(map[uint64]stripes)
	}
	id := uint64(q.peer)<<16 | uint64(immediate>>16)
	s := h.striped[id]
	s.arrived++
	s.bytes += uint64(size)
	if s.arrived < immediate&0xFFFF {
		h.striped[id] = s
		return
	}
	delete(h.striped, id)
	h.deliver(now, q.to, key, s.bytes)
}

func (h *Host) deliver(now Time, from core.Addr, key uint32, length uint64) {
	h.count.MessagesGot++
	h.events.push(core.Event{Kind: core.Delivered, Peer: from, At: now, Length: length, RemoteKey: uint64(key)})
}

// taken counts a packet that was accepted.
func (h *Host) taken(p *core.Packet) {
	h.count.Delivered++
	h.count.DeliveredBytes += uint64(p.Payload.Length)
}

// discard counts a packet that is thrown away.
func (h *Host) discard(p *core.Packet) {
	h.count.Discarded++
	h.count.DiscardedBytes += uint64(p.Payload.Length)
}

// duplicate counts a packet that had arrived before. The wire does not tell a packet sent again from one
// that the network doubled, so all count as spurious.
func (h *Host) duplicate(p *core.Packet) {
	h.count.Duplicates++
	h.count.Spurious++
	h.count.DiscardedBytes += uint64(p.Payload.Length)
}

// noteDisorder counts a packet that arrived the given distance ahead of the first missing one.
func (h *Host) noteDisorder(ahead int) {
	h.count.OutOfOrder++
	h.count.OutOfOrderMax = max(h.count.OutOfOrderMax, uint64(ahead))
}
