package dissect

import (
	"fmt"

	"github.com/weft-transport/weft/transport/wire"
)

// uetLayers returns the security, delivery and semantic headers of a UET packet.
func (p *Packet) uetLayers(at int) (all []layer) {
	u := &p.UET
	if u.Has&wire.HasTSS != 0 {
		return []layer{tssLayer(&u.TSS, at)}
	}
	if u.Has&wire.HasPDS != 0 {
		all = append(all, pdsLayer(u, at+u.PDS))
	}
	if u.Has&wire.HasSES != 0 {
		all = append(all, sesLayer(u, at+u.SES))
	}
	switch at += u.Ext; u.Extension {
	case wire.ExtensionAtomic, wire.ExtensionCompareSwap:
		l := layer{key: "atomic", title: u.Extension.String(), at: at, size: u.Extension.Size()}
		l.word("op", 0, 1, u.Swap.Op, uint64(u.Swap.Op))
		l.word("data_type", 1, 1, u.Swap.DataType, uint64(u.Swap.DataType))
		l.num("semantic", 2, 1, uint64(u.Swap.Semantic))
		if u.Extension == wire.ExtensionCompareSwap {
			l.add("compare", 4, 16, wide(u.Swap.CompareHigh, u.Swap.CompareLow), "")
			l.add("swap", 20, 16, wide(u.Swap.SwapHigh, u.Swap.SwapLow), "")
		}
		all = append(all, l)
	case wire.ExtensionRendezvous:
		m := &u.Rendezvous
		l := layer{key: "rendezvous", title: u.Extension.String(), at: at, size: wire.RendezvousSize}
		l.num("eager_length", 0, 4, uint64(m.EagerLength))
		l.num("generation", 4, 1, uint64(m.Generation))
		l.num("pid_on_fep", 5, 2, uint64(m.PIDOnFEP))
		l.num("resource_index", 6, 2, uint64(m.ResourceIndex))
		l.hex("read_offset", 8, 8, m.ReadOffset)
		l.hex("read_key", 16, 8, m.ReadKey)
		all = append(all, l)
	}
	return all
}

func tssLayer(t *wire.TSS, at int) layer {
	size := t.Size()
	l := layer{key: "tss", title: "TSS", at: at, size: size}
	l.num("sdi", 1, 3, uint64(t.Domain))
	l.add("an", 0, 1, t.Key, "")
	if t.HasSource {
		l.num("ssi", 4, 4, uint64(t.Source))
	}
	l.num("epoch", size-8, 2, uint64(t.Epoch))
	l.num("counter", size-6, 6, t.Counter)
	return l
}

func pdsLayer(u *wire.Packet, at int) layer {
	l := layer{key: "pds", title: "PDS", at: at, size: u.SES - u.PDS}
	l.word("type", 0, 1, u.Type, uint64(u.Type))
	switch {
	case u.Type.IsRequest():
		r := &u.Request
		l.word("next_header", 0, 2, r.Next, uint64(r.Next))
		l.flags("flags", 1, 1, r.Flags.String())
		l.add("clear_psn_offset", 2, 2, int64(r.ClearOffset), fmt.Sprintf("CLEAR_PSN %d", r.PSN+uint32(int32(r.ClearOffset))))
		l.num("psn", 4, 4, uint64(r.PSN))
		l.pdcids(r.SPDCID, r.DPDCID, r.Flags&wire.RequestSyn != 0, r.Info, r.PSNOffset)
		if r.Size() > wire.RequestSize {
			l.num("ccc_id", 12, 1, uint64(r.CCC))
			l.add("credit_target", 13, 3, uint64(r.CreditTarget), "in units of 256 bytes")
		}
	case isAck(u.Type):
		l.ack(&u.Ack, u.Type)
	case isNack(u.Type):
		n := &u.Nack
		l.flags("flags", 1, 1, n.Flags.String())
		l.word("nack_code", 2, 1, n.Code, uint64(n.Code))
		l.num("vendor_code", 3, 1, uint64(n.Vendor))
		l.num("nack_psn", 4, 4, uint64(n.PSN))
		l.pdcids(n.SPDCID, n.DPDCID, false, 0, 0)
		l.num("payload", 12, 4, uint64(n.Payload))
		if u.Type == wire.TypeNackCCX {
			l.num("cc_type", 16, 1, uint64(n.CCType))
			l.add("cc_state", 16, 16, fmt.Sprintf("0x%015x%016x", n.State[0], n.State[1]), "")
		}
	case u.Type == wire.TypeControl:
		c := &u.Control
		l.word("control_type", 0, 2, c.Control, uint64(c.Control))
		l.flags("flags", 1, 1, c.Flags.String())
		l.num("probe_opaque", 2, 2, uint64(c.Opaque))
		l.num("psn", 4, 4, uint64(c.PSN))
		l.pdcids(c.SPDCID, c.DPDCID, c.Flags&wire.ControlSyn != 0, c.Info, c.PSNOffset)
		l.num("payload", 12, 4, uint64(c.Payload))
		if c.Control == wire.ControlNegotiation {
			l.hex("features", 16, 4, uint64(c.Features))
		}
	case u.Type == wire.TypeRUDI, u.Type == wire.TypeRUDIResp:
		l.word("next_header", 0, 2, u.RUDI.Next, uint64(u.RUDI.Next))
		l.flags("flags", 1, 1, u.RUDI.Flags.String())
		l.num("packet_id", 4, 4, uint64(u.RUDI.PacketID))
	default:
		l.word("next_header", 0, 2, u.Next, uint64(u.Next))
	}
	return l
}

// pdcids adds the two PDCIDs, or what a SYN has in place of the second.
func (l *layer) pdcids(from, to uint16, syn bool, info uint8, offset uint16) {
	l.num("spdcid", 8, 2, uint64(from))
	if !syn {
		l.num("dpdcid", 10, 2, uint64(to))
		return
	}
	l.num("pdc_info", 10, 1, uint64(info))
	l.num("psn_offset", 10, 2, uint64(offset))
}

func (l *layer) ack(a *wire.AckCCX, t wire.Type) {
	l.word("next_header", 0, 2, a.Next, uint64(a.Next))
	l.flags("flags", 1, 1, a.Flags.String())
	if a.Flags&wire.AckProbe != 0 {
		l.num("probe_opaque", 2, 2, uint64(a.Opaque))
	} else {
		l.add("ack_psn_offset", 2, 2, int64(a.Offset), "")
		l.add("ack_psn", 2, 0, uint64(a.PSN()), "")
	}
	l.num("cack_psn", 4, 4, uint64(a.CumPSN))
	l.pdcids(a.SPDCID, a.DPDCID, false, 0, 0)
	if t == wire.TypeAck {
		return
	}
	l.word("cc_type", 12, 1, a.CCType, uint64(a.CCType))
	l.num("cc_flags", 12, 1, uint64(a.CCFlags))
	l.add("mpr", 13, 1, uint64(a.MPR), fmt.Sprintf("%d PSNs", int(a.MPR)*wire.MPRUnit))
	l.add("sack_psn_offset", 14, 2, int64(a.SackOffset), fmt.Sprintf("SACK base %d", a.CumPSN+uint32(int32(a.SackOffset))))
	l.hex("sack_bitmap", 16, 8, a.Sack)
	if t == wire.TypeAckCCX {
		l.add("cc_state", 24, 16, fmt.Sprintf("0x%016x%016x", a.State[0], a.State[1]), "")
		return
	}
	if a.CCType == wire.CCCredit {
		l.add("credit", 24, 3, uint64(a.Credit), "in units of 256 bytes")
	} else {
		l.add("service_time", 24, 2, uint64(a.ServiceTime), "in units of 128 ns")
		l.add("restore_cwnd", 26, 1, a.Restore, "")
		l.num("rcv_cwnd_pend", 26, 1, uint64(a.Penalty))
		l.add("rcvd_bytes", 27, 3, uint64(a.RcvdBytes), "in units of 256 bytes")
	}
	l.num("ooo_count", 30, 2, uint64(a.OOO))
}

func sesLayer(u *wire.Packet, at int) layer {
	l := layer{key: "ses", title: "SES " + u.Next.String(), at: at, size: u.Next.Size()}
	l.num("version", 1, 1, uint64(u.Version))
	switch u.Next {
	case wire.NextStandard:
		s := &u.Standard
		l.request(s.Opcode, s.Flags)
		l.num("message_id", 2, 2, uint64(s.MessageID))
		l.target(&s.Target)
		l.hex("buffer_offset", 12, 8, s.BufferOffset)
		l.num("initiator", 20, 4, uint64(s.Initiator))
		l.hex("key", 24, 8, s.Key)
		if s.Flags&wire.SESStart != 0 {
			l.hex("header_data", 32, 8, s.HeaderData)
		} else {
			l.num("payload_length", 34, 2, uint64(s.PayloadLength))
			l.num("message_offset", 36, 4, uint64(s.MessageOffset))
		}
		l.num("request_length", 40, 4, uint64(s.RequestLength))
	case wire.NextMedium:
		m := &u.Medium
		l.request(m.Opcode, m.Flags)
		l.num("request_length", 2, 2, uint64(m.RequestLength))
		l.target(&m.Target)
		if m.Flags&wire.SESHeaderData != 0 {
			l.hex("header_data", 12, 8, m.HeaderData)
		} else {
			l.hex("buffer_offset", 12, 8, m.BufferOffset)
		}
		l.num("initiator", 20, 4, uint64(m.Initiator))
		l.hex("key", 24, 8, m.Key)
	case wire.NextSmall:
		s := &u.Small
		l.request(s.Opcode, s.Flags)
		l.num("request_length", 2, 2, uint64(s.RequestLength))
		l.target(&s.Target)
		l.hex("buffer_offset", 12, 8, s.BufferOffset)
	case wire.NextResponse:
		r := &u.Response
		l.response(r.List, r.Op, r.Code)
		l.num("message_id", 2, 2, uint64(r.MessageID))
		l.num("generation", 4, 1, uint64(r.Generation))
		l.num("job_id", 5, 3, uint64(r.JobID))
		l.num("modified_length", 8, 4, uint64(r.ModifiedLength))
	case wire.NextResponseData:
		r := &u.ResponseData
		l.response(r.List, r.Op, r.Code)
		l.num("message_id", 2, 2, uint64(r.MessageID))
		l.num("job_id", 5, 3, uint64(r.JobID))
		l.num("read_message_id", 8, 2, uint64(r.ReadMessageID))
		l.num("payload_length", 10, 2, uint64(r.PayloadLength))
		l.num("modified_length", 12, 4, uint64(r.ModifiedLength))
		l.num("message_offset", 16, 4, uint64(r.MessageOffset))
	case wire.NextResponseDataSmall:
		r := &u.ResponseDataSmall
		l.response(r.List, r.Op, r.Code)
		l.num("payload_length", 2, 2, uint64(r.PayloadLength))
		l.num("job_id", 5, 3, uint64(r.JobID))
		l.num("request_psn", 8, 4, uint64(r.RequestPSN))
	}
	return l
}

func (l *layer) request(op wire.Opcode, f wire.SESFlags) {
	l.word("opcode", 0, 1, op, uint64(op))
	l.flags("flags", 1, 1, f.String())
}

func (l *layer) target(t *wire.Target) {
	l.num("generation", 4, 1, uint64(t.Generation))
	l.num("job_id", 5, 3, uint64(t.JobID))
	l.num("pid_on_fep", 8, 2, uint64(t.PIDOnFEP))
	l.num("resource_index", 10, 2, uint64(t.ResourceIndex))
}

func (l *layer) response(list wire.ResponseList, op wire.ResponseOp, code wire.ReturnCode) {
	l.word("list", 0, 1, list, uint64(list))
	l.word("opcode", 0, 1, op, uint64(op))
	l.word("return_code", 1, 1, code, uint64(code))
}
