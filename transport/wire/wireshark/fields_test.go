package wireshark_test

import (
	"encoding/hex"
	"fmt"

	"github.com/weft-transport/weft/transport/wire"
	"github.com/weft-transport/weft/transport/wire/encap"
)

// A seen is one packet as packages encap and wire read it.
type seen struct {
	ip    encap.Header
	d     []byte // from the IP header on
	p     wire.Packet
	bad   wire.Reason
	crcOK bool
}

func (s *seen) pds() bool                    { return s.p.Has&wire.HasPDS != 0 }
func (s *seen) kind(types ...wire.Type) bool { return s.pds() && among(s.p.Type, types) }
func (s *seen) ses(nexts ...wire.Next) bool {
	return s.p.Has&wire.HasSES != 0 && among(s.p.Next, nexts)
}
func (s *seen) request() bool {
	return s.kind(wire.TypeRUD, wire.TypeROD, wire.TypeRUDCC, wire.TypeRODCC)
}
func (s *seen) ack() bool      { return s.kind(wire.TypeAck, wire.TypeAckCC, wire.TypeAckCCX) }
func (s *seen) nack() bool     { return s.kind(wire.TypeNack, wire.TypeNackCCX) }
func (s *seen) control() bool  { return s.kind(wire.TypeControl) }
func (s *seen) semantic() bool { return s.ses(wire.NextSmall, wire.NextMedium, wire.NextStandard) }
func (s *seen) response() bool {
	return s.ses(wire.NextResponse, wire.NextResponseData, wire.NextResponseDataSmall)
}
func (s *seen) cc(t wire.CCType) bool { return s.kind(wire.TypeAckCC) && s.p.Ack.CCType == t }
func (s *seen) extension(x ...wire.Extension) bool {
	return s.p.Has&wire.HasExtension != 0 && among(s.p.Extension, x)
}

func among[T comparable](v T, all []T) bool {
	for _, x := range all {
		if v == x {
			return true
		}
	}
	return false
}

type integer interface {
	~int | ~int16 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// given is the number as tshark prints it, or nothing where the packet has no such field.
func given[T integer](has bool, v T) string {
	if !has {
		return ""
	}
	return fmt.Sprintf("%d", v)
}

func bit(has, set bool) string {
	if !has {
		return ""
	}
	if set {
		return "1"
	}
	return "0"
}

// first returns the value whose condition holds.
func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// A column is a field of the dissector and what package wire says that it holds.
type column struct {
	field string
	want  func(s *seen) string
}

func columnsOf(groups ...[]column) (all []column, names []string) {
	for _, g := range groups {
		all = append(all, g...)
	}
	for _, c := range all {
		names = append(names, c.field)
	}
	return all, names
}

var wholeColumns = []column{
	{"uet.entropy", func(s *seen) string { return given(true, s.ip.Entropy) }},
	{"uet.tss.sp", func(s *seen) string { return bit(s.p.Has&wire.HasTSS != 0, s.p.TSS.HasSource) }},
	{"uet.tss.an", func(s *seen) string { return bit(s.p.Has&wire.HasTSS != 0, s.p.TSS.Key) }},
	{"uet.tss.sdi", func(s *seen) string { return given(s.p.Has&wire.HasTSS != 0, s.p.TSS.Domain) }},
	{"uet.tss.ssi", func(s *seen) string { return given(s.p.TSS.HasSource, s.p.TSS.Source) }},
	{"uet.tss.epoch", func(s *seen) string { return given(s.p.Has&wire.HasTSS != 0, s.p.TSS.Epoch) }},
	{"uet.tss.counter", func(s *seen) string { return given(s.p.Has&wire.HasTSS != 0, s.p.TSS.Counter) }},
	{"uet.tss.icv", func(s *seen) string {
		if s.p.Has&wire.HasTSS == 0 {
			return ""
		}
		return hex.EncodeToString(s.p.ICV[:])
	}},
	{"uet.payload.length", func(s *seen) string {
		return given(s.pds() && s.bad != wire.BadNext && s.p.Trailer > s.p.Payload, s.p.Trailer-s.p.Payload)
	}},
	{"uet.payload", func(s *seen) string {
		if !s.pds() || s.bad == wire.BadNext {
			return ""
		}
		return hex.EncodeToString(s.d[s.ip.Payload+s.p.Payload : s.ip.Payload+s.p.Trailer])
	}},
	{"uet.crc", func(s *seen) string { return given(s.p.Has&wire.HasTSS == 0 && s.p.Order != wire.CRCOff, s.p.CRC) }},
	{"uet.crc.order", func(s *seen) string {
		return bit(s.p.Has&wire.HasTSS == 0 && s.p.Order != wire.CRCOff, s.p.Order == wire.LeastFirst)
	}},
}

var pdsColumns = []column{
	{"uet.pds.type", func(s *seen) string {
		return given(s.p.Has&wire.HasTSS == 0 && s.p.Trailer >= wire.PrologueSize, s.p.Type)
	}},
	{"uet.pds.next", func(s *seen) string { return given(s.pds() && !s.control(), s.p.Next) }},
	{"uet.pds.ctl_type", func(s *seen) string { return given(s.control(), s.p.Control.Control) }},
	{"uet.pds.flags.retx", func(s *seen) string {
		return first(bit(s.request(), s.p.Request.Flags&wire.RequestRetx != 0), bit(s.ack(), s.p.Ack.Flags&wire.AckRetx != 0),
			bit(s.nack(), s.p.Nack.Flags&wire.NackRetx != 0), bit(s.control(), s.p.Control.Flags&wire.ControlRetx != 0),
			bit(s.kind(wire.TypeRUDI, wire.TypeRUDIResp), s.p.RUDI.Flags&wire.RUDIRetx != 0))
	}},
	{"uet.pds.flags.ar", func(s *seen) string {
		return first(bit(s.request(), s.p.Request.Flags&wire.RequestAR != 0), bit(s.control(), s.p.Control.Flags&wire.ControlAR != 0))
	}},
	{"uet.pds.flags.syn", func(s *seen) string {
		return first(bit(s.request(), s.p.Request.Flags&wire.RequestSyn != 0), bit(s.control(), s.p.Control.Flags&wire.ControlSyn != 0))
	}},
	{"uet.pds.flags.isrod", func(s *seen) string { return bit(s.control(), s.p.Control.Flags&wire.ControlROD != 0) }},
	{"uet.pds.flags.m", func(s *seen) string {
		return first(bit(s.ack(), s.p.Ack.Flags&wire.AckMarked != 0), bit(s.nack(), s.p.Nack.Flags&wire.NackMarked != 0),
			bit(s.kind(wire.TypeRUDIResp), s.p.RUDI.Flags&wire.RUDIMarked != 0))
	}},
	{"uet.pds.flags.p", func(s *seen) string { return bit(s.ack(), s.p.Ack.Flags&wire.AckProbe != 0) }},
	{"uet.pds.flags.nt", func(s *seen) string { return bit(s.nack(), s.p.Nack.Flags&wire.NackRUDI != 0) }},
	{"uet.pds.flags.req", func(s *seen) string { return given(s.ack(), s.p.Ack.Flags&(wire.AckClear|wire.AckClose)>>1) }},
	{"uet.pds.clear_psn_offset", func(s *seen) string { return given(s.request(), s.p.Request.ClearOffset) }},
	{"uet.pds.clear_psn", func(s *seen) string {
		return given(s.request(), s.p.Request.PSN+uint32(int32(s.p.Request.ClearOffset)))
	}},
	{"uet.pds.psn", func(s *seen) string {
		return first(given(s.request(), s.p.Request.PSN), given(s.control(), s.p.Control.PSN))
	}},
	{"uet.pds.spdcid", func(s *seen) string {
		return first(given(s.request(), s.p.Request.SPDCID), given(s.ack(), s.p.Ack.SPDCID), given(s.nack(), s.p.Nack.SPDCID), given(s.control(), s.p.Control.SPDCID))
	}},
	{"uet.pds.dpdcid", func(s *seen) string {
		return first(given(s.request() && s.p.Request.Flags&wire.RequestSyn == 0, s.p.Request.DPDCID), given(s.ack(), s.p.Ack.DPDCID),
			given(s.nack(), s.p.Nack.DPDCID), given(s.control() && s.p.Control.Flags&wire.ControlSyn == 0, s.p.Control.DPDCID))
	}},
	{"uet.pds.pdc_info", func(s *seen) string {
		return first(given(s.request() && s.p.Request.Flags&wire.RequestSyn != 0, s.p.Request.Info), given(s.control() && s.p.Control.Flags&wire.ControlSyn != 0, s.p.Control.Info))
	}},
	{"uet.pds.psn_offset", func(s *seen) string {
		return first(given(s.request() && s.p.Request.Flags&wire.RequestSyn != 0, s.p.Request.PSNOffset), given(s.control() && s.p.Control.Flags&wire.ControlSyn != 0, s.p.Control.PSNOffset))
	}},
	{"uet.pds.ccc_id", func(s *seen) string { return given(s.kind(wire.TypeRUDCC, wire.TypeRODCC), s.p.Request.CCC) }},
	{"uet.pds.credit_target", func(s *seen) string { return given(s.kind(wire.TypeRUDCC, wire.TypeRODCC), s.p.Request.CreditTarget) }},
	{"uet.pds.cack_psn", func(s *seen) string { return given(s.ack(), s.p.Ack.CumPSN) }},
	{"uet.pds.ack_psn_offset", func(s *seen) string { return given(s.ack() && s.p.Ack.Flags&wire.AckProbe == 0, s.p.Ack.Offset) }},
	{"uet.pds.ack_psn", func(s *seen) string { return given(s.ack() && s.p.Ack.Flags&wire.AckProbe == 0, s.p.Ack.PSN()) }},
	{"uet.pds.probe_opaque", func(s *seen) string {
		return first(given(s.ack() && s.p.Ack.Flags&wire.AckProbe != 0, s.p.Ack.Opaque), given(s.control() && s.p.Control.Control == wire.ControlProbe, s.p.Control.Opaque))
	}},
	{"uet.pds.cc_type", func(s *seen) string { return given(s.kind(wire.TypeAckCC, wire.TypeAckCCX), s.p.Ack.CCType) }},
	{"uet.pds.cc_flags", func(s *seen) string { return given(s.kind(wire.TypeAckCC, wire.TypeAckCCX), s.p.Ack.CCFlags) }},
	{"uet.pds.mpr", func(s *seen) string { return given(s.kind(wire.TypeAckCC, wire.TypeAckCCX), s.p.Ack.MPR) }},
	{"uet.pds.sack_psn_offset", func(s *seen) string { return given(s.kind(wire.TypeAckCC, wire.TypeAckCCX), s.p.Ack.SackOffset) }},
	{"uet.pds.sack_base", func(s *seen) string {
		return given(s.kind(wire.TypeAckCC, wire.TypeAckCCX), s.p.Ack.CumPSN+uint32(int32(s.p.Ack.SackOffset)))
	}},
	{"uet.pds.sack_bitmap", func(s *seen) string { return given(s.kind(wire.TypeAckCC, wire.TypeAckCCX), s.p.Ack.Sack) }},
	{"uet.pds.nscc.service_time", func(s *seen) string { return given(s.cc(wire.CCNSCC), s.p.Ack.ServiceTime) }},
	{"uet.pds.nscc.restore_cwnd", func(s *seen) string { return bit(s.cc(wire.CCNSCC), s.p.Ack.Restore) }},
	{"uet.pds.nscc.rcv_cwnd_pend", func(s *seen) string { return given(s.cc(wire.CCNSCC), s.p.Ack.Penalty) }},
	{"uet.pds.nscc.rcvd_bytes", func(s *seen) string { return given(s.cc(wire.CCNSCC), s.p.Ack.RcvdBytes) }},
	{"uet.pds.credit.credit", func(s *seen) string { return given(s.cc(wire.CCCredit), s.p.Ack.Credit) }},
	{"uet.pds.ooo_count", func(s *seen) string { return given(s.cc(wire.CCNSCC) || s.cc(wire.CCCredit), s.p.Ack.OOO) }},
	{"uet.pds.cc_state", func(s *seen) string {
		switch {
		case s.kind(wire.TypeAckCCX):
			return fmt.Sprintf("%016x%016x", s.p.Ack.State[0], s.p.Ack.State[1])
		case s.kind(wire.TypeAckCC) && s.p.Ack.CCType > wire.CCCredit: // not known: shown as it is
			return hex.EncodeToString(s.d[s.ip.Payload+24 : s.ip.Payload+wire.AckCCSize])
		case s.kind(wire.TypeNackCCX):
			return fmt.Sprintf("%016x%016x", uint64(s.p.Nack.CCType)<<60|s.p.Nack.State[0], s.p.Nack.State[1])
		}
		return ""
	}},
	{"uet.pds.nack.code", func(s *seen) string { return given(s.nack(), s.p.Nack.Code) }},
	{"uet.pds.nack.vendor_code", func(s *seen) string { return given(s.nack(), s.p.Nack.Vendor) }},
	{"uet.pds.nack.psn", func(s *seen) string { return given(s.nack() && s.p.Nack.Flags&wire.NackRUDI == 0, s.p.Nack.PSN) }},
	{"uet.pds.nack.payload", func(s *seen) string { return given(s.nack(), s.p.Nack.Payload) }},
	{"uet.pds.nack.ccx_type", func(s *seen) string { return given(s.kind(wire.TypeNackCCX), s.p.Nack.CCType) }},
	{"uet.pds.ctl_payload", func(s *seen) string {
		return given(s.control() && (s.p.Control.Control != wire.ControlNegotiation || s.p.Control.Bare), s.p.Control.Payload)
	}},
	{"uet.pds.negotiation.features", func(s *seen) string {
		return given(s.control() && s.p.Control.Control == wire.ControlNegotiation && !s.p.Control.Bare, s.p.Control.Features)
	}},
	{"uet.pds.pkt_id", func(s *seen) string {
		return first(given(s.kind(wire.TypeRUDI, wire.TypeRUDIResp), s.p.RUDI.PacketID), given(s.nack() && s.p.Nack.Flags&wire.NackRUDI != 0, s.p.Nack.PSN))
	}},
}

// target returns addressing, opcode and flags of a request of any size.
func (s *seen) target() (wire.Target, wire.Opcode, wire.SESFlags) {
	switch s.p.Next {
	case wire.NextSmall:
		return s.p.Small.Target, s.p.Small.Opcode, s.p.Small.Flags
	case wire.NextMedium:
		return s.p.Medium.Target, s.p.Medium.Opcode, s.p.Medium.Flags
	}
	return s.p.Standard.Target, s.p.Standard.Opcode, s.p.Standard.Flags
}

func sesFlag(name string, flag wire.SESFlags) column {
	return column{"uet.ses.flags." + name, func(s *seen) string { _, _, f := s.target(); return bit(s.semantic(), f&flag != 0) }}
}

// key returns the memory key or match bits, by whether the operation has a key.
func (s *seen) key(memory bool) string {
	_, op, _ := s.target()
	isMemory := op == wire.OpWrite || op == wire.OpRead || op == wire.OpAtomic || op == wire.OpFetchingAtomic
	return first(given(s.ses(wire.NextStandard) && isMemory == memory, s.p.Standard.Key), given(s.ses(wire.NextMedium) && isMemory == memory, s.p.Medium.Key))
}

var sesColumns = []column{
	{"uet.ses.opcode", func(s *seen) string { _, op, _ := s.target(); return given(s.semantic(), op) }},
	{"uet.ses.version", func(s *seen) string { return given(s.p.Has&wire.HasSES != 0, s.p.Version) }},
	sesFlag("dc", wire.SESDeliveryComplete), sesFlag("ie", wire.SESInitiatorError), sesFlag("rel", wire.SESRelative),
	sesFlag("hd", wire.SESHeaderData), sesFlag("eom", wire.SESEnd), sesFlag("som", wire.SESStart),
	{"uet.ses.message_id", func(s *seen) string {
		return first(given(s.ses(wire.NextStandard), s.p.Standard.MessageID), given(s.ses(wire.NextResponse), s.p.Response.MessageID), given(s.ses(wire.NextResponseData), s.p.ResponseData.MessageID))
	}},
	{"uet.ses.ri_generation", func(s *seen) string {
		to, _, _ := s.target()
		return first(given(s.semantic(), to.Generation), given(s.ses(wire.NextResponse), s.p.Response.Generation))
	}},
	{"uet.ses.job_id", func(s *seen) string {
		to, _, _ := s.target()
		return first(given(s.semantic(), to.JobID), given(s.ses(wire.NextResponse), s.p.Response.JobID), given(s.ses(wire.NextResponseData), s.p.ResponseData.JobID),
			given(s.ses(wire.NextResponseDataSmall), s.p.ResponseDataSmall.JobID))
	}},
	{"uet.ses.pid_on_fep", func(s *seen) string { to, _, _ := s.target(); return given(s.semantic(), to.PIDOnFEP) }},
	{"uet.ses.resource_index", func(s *seen) string { to, _, _ := s.target(); return given(s.semantic(), to.ResourceIndex) }},
	{"uet.ses.buffer_offset", func(s *seen) string {
		return first(given(s.ses(wire.NextStandard), s.p.Standard.BufferOffset), given(s.ses(wire.NextSmall), s.p.Small.BufferOffset),
			given(s.ses(wire.NextMedium) && s.p.Medium.Flags&wire.SESHeaderData == 0, s.p.Medium.BufferOffset))
	}},
	{"uet.ses.initiator", func(s *seen) string {
		return first(given(s.ses(wire.NextStandard), s.p.Standard.Initiator), given(s.ses(wire.NextMedium), s.p.Medium.Initiator))
	}},
	{"uet.ses.memory_key", func(s *seen) string { return s.key(true) }},
	{"uet.ses.match_bits", func(s *seen) string { return s.key(false) }},
	{"uet.ses.header_data", func(s *seen) string {
		return first(given(s.ses(wire.NextStandard) && s.p.Standard.Flags&wire.SESStart != 0, s.p.Standard.HeaderData),
			given(s.ses(wire.NextMedium) && s.p.Medium.Flags&wire.SESHeaderData != 0, s.p.Medium.HeaderData))
	}},
	{"uet.ses.payload_length", func(s *seen) string {
		return given(s.ses(wire.NextStandard) && s.p.Standard.Flags&wire.SESStart == 0, s.p.Standard.PayloadLength)
	}},
	{"uet.ses.message_offset", func(s *seen) string {
		return given(s.ses(wire.NextStandard) && s.p.Standard.Flags&wire.SESStart == 0, s.p.Standard.MessageOffset)
	}},
	{"uet.ses.request_length", func(s *seen) string {
		return first(given(s.ses(wire.NextStandard), s.p.Standard.RequestLength), given(s.ses(wire.NextMedium), s.p.Medium.RequestLength), given(s.ses(wire.NextSmall), s.p.Small.RequestLength))
	}},
	{"uet.ses.atomic.opcode", func(s *seen) string {
		return given(s.extension(wire.ExtensionAtomic, wire.ExtensionCompareSwap), s.p.Swap.Op)
	}},
	{"uet.ses.atomic.datatype", func(s *seen) string {
		return given(s.extension(wire.ExtensionAtomic, wire.ExtensionCompareSwap), s.p.Swap.DataType)
	}},
	{"uet.ses.atomic.semantic_control", func(s *seen) string {
		return given(s.extension(wire.ExtensionAtomic, wire.ExtensionCompareSwap), s.p.Swap.Semantic)
	}},
	{"uet.ses.atomic.compare", func(s *seen) string {
		return wide(s.extension(wire.ExtensionCompareSwap), s.p.Swap.CompareHigh, s.p.Swap.CompareLow)
	}},
	{"uet.ses.atomic.swap", func(s *seen) string {
		return wide(s.extension(wire.ExtensionCompareSwap), s.p.Swap.SwapHigh, s.p.Swap.SwapLow)
	}},
	{"uet.ses.rendezvous.eager_length", func(s *seen) string { return given(s.extension(wire.ExtensionRendezvous), s.p.Rendezvous.EagerLength) }},
	{"uet.ses.rendezvous.ri_generation", func(s *seen) string { return given(s.extension(wire.ExtensionRendezvous), s.p.Rendezvous.Generation) }},
	{"uet.ses.rendezvous.pid_on_fep", func(s *seen) string { return given(s.extension(wire.ExtensionRendezvous), s.p.Rendezvous.PIDOnFEP) }},
	{"uet.ses.rendezvous.resource_index", func(s *seen) string {
		return given(s.extension(wire.ExtensionRendezvous), s.p.Rendezvous.ResourceIndex)
	}},
	{"uet.ses.rendezvous.read_offset", func(s *seen) string { return given(s.extension(wire.ExtensionRendezvous), s.p.Rendezvous.ReadOffset) }},
	{"uet.ses.rendezvous.read_key", func(s *seen) string { return given(s.extension(wire.ExtensionRendezvous), s.p.Rendezvous.ReadKey) }},
	{"uet.ses.rsp.list", func(s *seen) string { l, _, _ := s.answer(); return given(s.response(), l) }},
	{"uet.ses.rsp.opcode", func(s *seen) string { _, op, _ := s.answer(); return given(s.response(), op) }},
	{"uet.ses.rsp.return_code", func(s *seen) string { _, _, c := s.answer(); return given(s.response(), c) }},
	{"uet.ses.rsp.modified_length", func(s *seen) string {
		return first(given(s.ses(wire.NextResponse), s.p.Response.ModifiedLength), given(s.ses(wire.NextResponseData), s.p.ResponseData.ModifiedLength))
	}},
	{"uet.ses.rsp.read_message_id", func(s *seen) string { return given(s.ses(wire.NextResponseData), s.p.ResponseData.ReadMessageID) }},
	{"uet.ses.rsp.payload_length", func(s *seen) string {
		return first(given(s.ses(wire.NextResponseData), s.p.ResponseData.PayloadLength), given(s.ses(wire.NextResponseDataSmall), s.p.ResponseDataSmall.PayloadLength))
	}},
	{"uet.ses.rsp.message_offset", func(s *seen) string { return given(s.ses(wire.NextResponseData), s.p.ResponseData.MessageOffset) }},
	{"uet.ses.rsp.request_psn", func(s *seen) string {
		return given(s.ses(wire.NextResponseDataSmall), s.p.ResponseDataSmall.RequestPSN)
	}},
}

// answer returns what all forms of response start with.
func (s *seen) answer() (wire.ResponseList, wire.ResponseOp, wire.ReturnCode) {
	switch s.p.Next {
	case wire.NextResponseData:
		return s.p.ResponseData.List, s.p.ResponseData.Op, s.p.ResponseData.Code
	case wire.NextResponseDataSmall:
		return s.p.ResponseDataSmall.List, s.p.ResponseDataSmall.Op, s.p.ResponseDataSmall.Code
	}
	return s.p.Response.List, s.p.Response.Op, s.p.Response.Code
}

func wide(has bool, high, low uint64) string {
	if !has {
		return ""
	}
	return fmt.Sprintf("%016x%016x", high, low)
}
