package core_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/wire"
)

// provided are the target PDCIDs that the server of a capture gave, by the client's PDCID.
func (d *dialogue) provided() map[uint16]uint16 {
	ids := map[uint16]uint16{}
	for i := range d.packets {
		if s := &d.packets[i]; !s.byA && (s.p.Type == wire.TypeAck || s.p.Type == wire.TypeAckCC) {
			if _, known := ids[s.p.Ack.DPDCID]; !known {
				ids[s.p.Ack.DPDCID] = s.p.Ack.SPDCID
			}
		}
	}
	return ids
}

// lose marks what did not arrive, as the script says.
func (d *dialogue) lose(s script) {
	first, sent, server := uint32(0), map[uint32]int{}, 0
	for i := range d.packets {
		v := &d.packets[i]
		if !v.byA {
			v.lost = s.lostACK[server]
			server++
			continue
		}
		if !v.p.Type.IsRequest() {
			continue
		}
		if len(sent) == 0 {
			first = v.p.Request.PSN - uint32(v.p.Request.PSNOffset)
		}
		at := v.p.Request.PSN - first
		sent[at]++
		v.lost = sent[at] <= s.lost[at]
	}
}

// kindOf says what a packet is, without numbers, for the document.
func kindOf(p *wire.Packet) string {
	switch p.Type {
	case wire.TypeRUD, wire.TypeROD:
		if p.Next == wire.NextResponseData {
			return fmt.Sprintf("%v with data of a read [%v]", p.Type, p.Request.Flags)
		}
		return fmt.Sprintf("%v %v [%v]", p.Type, p.Standard.Opcode, p.Request.Flags)
	case wire.TypeAck, wire.TypeAckCC:
		switch p.Next {
		case wire.NextResponse:
			return fmt.Sprintf("%v %v %v", p.Type, p.Response.Op, p.Response.Code)
		case wire.NextNone:
			return fmt.Sprintf("%v without response", p.Type)
		}
		return fmt.Sprintf("%v %v", p.Type, p.Next)
	case wire.TypeNack:
		return fmt.Sprintf("NACK %v", p.Nack.Code)
	case wire.TypeControl:
		return fmt.Sprintf("%v [%v]", p.Control.Control, p.Control.Flags)
	}
	return p.Type.String()
}

// playTarget replaces the server.
func playTarget(t *testing.T, d *dialogue, l ledger) (equal, of int) {
	pl := newPlayer(t, d, 2, 0)
	for i := range d.packets { // the server opens a context of its own for a ready-to-restart
		if r := d.packets[i].p; !d.packets[i].byA && r.Type.IsRequest() && r.Request.Flags&wire.RequestSyn != 0 {
			pl = newPlayer(t, d, 2, r.Request.PSN)
			pl.ours[r.Request.SPDCID], pl.theirs[1] = 1, r.Request.SPDCID
			break
		}
	}
	d.lose(pl.s)
	pl.furnish()
	provided := d.provided()
	client := map[uint16]uint16{}
	for c, id := range provided {
		client[id] = c
	}
	requests := map[uint32]*spoken{}
	var theirs []spoken
	for i := range d.packets {
		s := &d.packets[i]
		pl.until(s.at)
		if pl.s.silent != 0 && s.at >= pl.s.silent {
			pl.post()
			pl.s.silent = 0
		}
		switch {
		case !s.byA:
			theirs = append(theirs, *s)
		case !s.lost && !pl.s.skip[i]:
			if s.p.Type.IsRequest() && requests[s.p.Request.PSN] == nil {
				requests[s.p.Request.PSN] = s
			}
			pl.hear(s, pl.renumbered(s))
		}
		for _, m := range pl.said { // our PDCIDs become known with the first ACK
			if m.p.Type == wire.TypeAck || m.p.Type == wire.TypeAckCC {
				if id, ok := provided[m.p.Ack.DPDCID]; ok && pl.theirs[m.p.Ack.SPDCID] == 0 {
					pl.ours[id], pl.theirs[m.p.Ack.SPDCID] = m.p.Ack.SPDCID, id
				}
			}
		}
	}
	pl.until(pl.now + 100*instant.Microsecond)
	for i := range pl.said {
		pl.inTheirTerms(&pl.said[i].p)
	}
	about := func(p *wire.Packet) string {
		what := kindOf(p)
		if p.Type == wire.TypeAck || p.Type == wire.TypeAckCC {
			if r := requests[p.Ack.PSN()]; r != nil && p.Next != wire.NextNone {
				what += fmt.Sprintf(" of a request [%v]", r.p.Request.Flags)
			}
		}
		return what
	}
	return l.settle(pl.said, theirs, about), len(theirs)
}

// inTheirTerms puts the provider's PDCIDs and PSNs into a packet of ours.
func (pl *player) inTheirTerms(p *wire.Packet) {
	swap := func(id *uint16) {
		if to, known := pl.theirs[*id]; known {
			*id = to
		}
	}
	switch p.Type {
	case wire.TypeRUD, wire.TypeROD:
		p.Request.PSN -= pl.shift[p.Request.SPDCID]
		swap(&p.Request.SPDCID)
	case wire.TypeAck, wire.TypeAckCC:
		p.Ack.CumPSN -= pl.shift[p.Ack.SPDCID]
		swap(&p.Ack.SPDCID)
	case wire.TypeNack:
		p.Nack.PSN -= pl.shift[p.Nack.SPDCID]
		swap(&p.Nack.SPDCID)
	case wire.TypeControl:
		shift := pl.shift[p.Control.SPDCID]
		switch p.Control.Control {
		case wire.ControlClear:
			p.Control.Payload -= shift
		default:
			p.Control.PSN -= shift
		}
		swap(&p.Control.SPDCID)
	}
}

// furnish gives the target what the server had: memory that holds what it answered with, and receives.
func (pl *player) furnish() {
	key := pl.s.key
	for i := range pl.d.packets {
		if s := &pl.d.packets[i]; s.byA && s.p.Has&wire.HasSES != 0 && s.p.Next == wire.NextStandard && s.p.Standard.Opcode <= wire.OpFetchingAtomic && key == 0 {
			key = s.p.Standard.Key
		}
	}
	if key != 0 {
		access := RemoteRead | RemoteWrite | RemoteAtomic
		if key&IdempotentKey != 0 {
			access |= Idempotent
		}
		memory := make([]byte, 1<<18)
		pl.remember(memory)
		_, _, err := pl.e.RegisterRegion(Region{Bytes: memory, Access: access, Key: key})
		require.NoError(pl.t, err)
	}
	if pl.s.silent == 0 {
		pl.post()
	}
}

// remember puts into memory what the server read from it.
func (pl *player) remember(memory []byte) {
	asked := map[uint16]*wire.Packet{}
	for i := range pl.d.packets {
		s := &pl.d.packets[i]
		switch {
		case s.byA && s.p.Has&wire.HasSES != 0 && s.p.Next == wire.NextStandard:
			if p := s.p; p.Standard.Opcode == wire.OpRead || p.Standard.Opcode == wire.OpFetchingAtomic {
				asked[p.Standard.MessageID] = &p
			}
		case !s.byA && s.p.Has&wire.HasSES != 0 && s.p.Next == wire.NextResponseData:
			r := s.p.ResponseData
			q := asked[r.ReadMessageID]
			if q == nil {
				continue
			}
			at := memory[q.Standard.BufferOffset+uint64(r.MessageOffset):]
			if q.Standard.Opcode == wire.OpFetchingAtomic {
				binary.LittleEndian.PutUint64(at, binary.BigEndian.Uint64(s.payload))
			} else {
				copy(at, s.payload)
			}
		}
	}
}

// post gives a receive for every send of the client.
func (pl *player) post() {
	known := map[string]bool{}
	for i := range pl.d.packets {
		s := &pl.d.packets[i]
		if !s.byA || s.p.Has&wire.HasSES == 0 || s.p.Next != wire.NextStandard {
			continue
		}
		h := s.p.Standard
		if what := fmt.Sprint(h.MessageID, h.Key, s.p.Request.SPDCID); h.Opcode >= wire.OpSend && h.Opcode <= wire.OpDeferrableTSend && !known[what] {
			known[what] = true
			tagged := h.Opcode == wire.OpTaggedSend || h.Opcode == wire.OpDeferrableTSend
			require.NoError(pl.t, pl.e.PostReceive(pl.now, Receive{Length: 1 << 20, Tagged: tagged, Tag: h.Key}))
		}
	}
	pl.drain()
}

// playInitiator replaces the client: it is asked for the same operations at the same times.
func playInitiator(t *testing.T, d *dialogue, l ledger) (equal, of int) {
	start, syn := uint32(0), false
	for i := range d.packets {
		if s := &d.packets[i]; s.byA && s.p.Type.IsRequest() && !syn {
			start, syn = s.p.Request.PSN-uint32(s.p.Request.PSNOffset), true
		}
	}
	pl := newPlayer(t, d, 1, start)
	d.lose(pl.s)
	asked := map[uint16]bool{}
	starts, order, opened := map[uint16]uint32{}, []uint16{}, map[uint16]bool{}
	var theirs []spoken
	closed := map[uint32]bool{}
	for i := range d.packets {
		s := &d.packets[i]
		pl.until(s.at)
		if s.byA {
			theirs = append(theirs, *s)
			if r := s.p.Request; s.p.Type.IsRequest() && r.Flags&wire.RequestSyn != 0 && s.p.Next == wire.NextStandard {
				if _, known := starts[r.SPDCID]; !known {
					starts[r.SPDCID] = r.PSN - uint32(r.PSNOffset)
					order = append(order, r.SPDCID)
				}
			}
			switch {
			case s.p.Type == wire.TypeControl && s.p.Control.Control == wire.ControlClose && !closed[s.p.Control.PSN]:
				closed[s.p.Control.PSN] = true
				pl.e.CloseContexts(pl.now)
				pl.drain()
			case s.p.Has&wire.HasSES != 0 && s.p.Next == wire.NextStandard && !asked[s.p.Standard.MessageID]:
				asked[s.p.Standard.MessageID] = true
				pl.ask(s)
			}
		}
		for _, m := range pl.said { // our n-th context is their n-th
			if r := m.p.Request; m.p.Type.IsRequest() && !opened[r.SPDCID] && len(opened) < len(order) {
				id := order[len(opened)]
				opened[r.SPDCID] = true
				pl.ours[id], pl.theirs[r.SPDCID], pl.shift[r.SPDCID] = r.SPDCID, id, start-starts[id]
			}
		}
		if !s.byA && !s.lost {
			pl.hear(s, pl.renumbered(s))
		}
	}
	pl.until(pl.now + 100*instant.Microsecond)
	for i := range d.packets { // our target PDCIDs are those that the client gave
		if s := &d.packets[i]; s.byA && s.p.Type == wire.TypeAck {
			pl.givenBack(&s.p)
		}
	}
	ids := map[[2]uint16]uint16{}
	for i := range pl.said {
		pl.inTheirTerms(&pl.said[i].p)
		pl.messageID(&pl.said[i].p, theirs, ids)
	}
	pl.concluded(l, len(asked))
	return l.settle(pl.said, theirs, kindOf), len(theirs)
}

// givenBack notes a PDCID that the client gave as a target, which our ACK to the same context has too.
func (pl *player) givenBack(theirs *wire.Packet) {
	for i := range pl.said {
		if p := &pl.said[i].p; p.Type == wire.TypeAck && p.Ack.DPDCID == theirs.Ack.DPDCID && pl.theirs[p.Ack.SPDCID] == 0 {
			pl.theirs[p.Ack.SPDCID] = theirs.Ack.SPDCID
		}
	}
}

// messageID puts the provider's message id into a request of ours: ours begin with 1.
func (pl *player) messageID(p *wire.Packet, theirs []spoken, ids map[[2]uint16]uint16) {
	if p.Has&wire.HasSES == 0 || p.Next != wire.NextStandard || !p.Type.IsRequest() {
		return
	}
	name := [2]uint16{p.Request.SPDCID, p.Standard.MessageID}
	if _, known := ids[name]; !known {
		for i := range theirs {
			if s := &theirs[i]; s.p.Type.IsRequest() && s.p.Request.PSN == p.Request.PSN && s.p.Next == wire.NextStandard {
				ids[name] = s.p.Standard.MessageID
				break
			}
		}
	}
	if id, known := ids[name]; known {
		p.Standard.MessageID = id
	}
}

// ask has the endpoint do what the client did, whose first packet this is.
func (pl *player) ask(s *spoken) {
	h := s.p.Standard
	m := Message{To: 2, Length: uint64(h.RequestLength), RemoteKey: h.Key, RemoteOffset: h.BufferOffset, Cookie: uint64(h.MessageID)}
	switch s.p.Type {
	case wire.TypeROD:
		m.Mode = ROD
	case wire.TypeRUDI:
		m.Mode = RUDI
	case wire.TypeUUD:
		m.Mode = UUD
	}
	switch h.Opcode {
	case wire.OpWrite:
	case wire.OpRead:
		m.Op = OpRead
	case wire.OpAtomic:
		m.Op = OpAtomic
	case wire.OpFetchingAtomic:
		m.Op = OpFetchAtomic
	case wire.OpSend:
		m.Op = OpSend
	case wire.OpTaggedSend:
		m.Op = OpTaggedSend
	case wire.OpDeferrableSend:
		m.Op, m.Flags, m.RemoteOffset = OpSend, Deferrable, 0
	default:
		return
	}
	if h.Flags&wire.SESHeaderData != 0 {
		m.Flags |= WithData
		m.Data = h.HeaderData
	}
	if s.p.Has&wire.HasExtension != 0 {
		m.Atomic, m.Type = s.p.Swap.Op, s.p.Swap.DataType
		m.Operand, m.Data = s.p.Swap.SwapLow, s.p.Swap.CompareLow
		if s.p.Extension == wire.ExtensionAtomic {
			m.Operand = binary.BigEndian.Uint64(s.payload)
		}
	}
	data := make([]byte, max(m.Length, 64))
	if m.Op != OpRead && m.Op != OpFetchAtomic && m.Op != OpAtomic {
		for i := range pl.d.packets {
			if v := &pl.d.packets[i]; v.byA && v.p.Has&wire.HasSES != 0 && v.p.Next == wire.NextStandard && v.p.Standard.MessageID == h.MessageID {
				copy(data[v.p.Standard.MessageOffset:], v.payload)
			}
		}
	}
	m.Buffer = pl.e.Register(data)
	require.NoError(pl.t, pl.e.Send(pl.now, m), "%+v", m)
	if pl.drain(); len(pl.said) > 0 && pl.said[len(pl.said)-1].p.Next == wire.NextStandard {
		pl.idOf[h.MessageID] = pl.said[len(pl.said)-1].p.Standard.MessageID
	}
}

// concluded notes how the messages of the client ended, where they did not complete.
func (pl *player) concluded(l ledger, messages int) {
	for _, v := range pl.events {
		switch v.Kind {
		case Completed:
			messages--
		case Failed:
			messages--
			if pl.s.failed--; pl.s.failed < 0 {
				l[fmt.Sprintf("event: failed, %v %v", v.Err, v.Remote)]++
			}
		}
	}
	if messages != 0 {
		l["event: none for a message when the capture ends"] += messages
	}
}
