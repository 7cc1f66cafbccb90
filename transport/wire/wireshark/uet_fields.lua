-- What can be filtered: all fields and expert notes, under one name.

local yesno = { "set", "not set" }

-- with returns names with the reserved codes filled in, so that no code is without a word.
local function with(names, last)
  local all = {}
  for code = 0, last do
    all[code] = names[code] or "reserved"
  end
  return all
end

return function(name, codes)
  local f, list, e = {}, {}, {}

  local function add(key, make, label, ...)
    local field = make(name .. "." .. key, label, ...)
    f[key] = field
    list[#list + 1] = field
  end
  local u8, u16, u24, u32, u64 = ProtoField.uint8, ProtoField.uint16, ProtoField.uint24, ProtoField.uint32, ProtoField.uint64
  local DEC, HEX = base.DEC, base.HEX

  -- The packet as a whole.
  add("stream", u32, "Stream index", DEC, nil, nil, "Number of the PDC in the order of first packets; RUDI, UUD and TSS packets have none")
  add("entropy", u16, "Entropy value", DEC, nil, nil, "UDP source port, or first field of the entropy header")
  add("entropy.reserved", u16, "Reserved", HEX)
  add("trimmed", ProtoField.bool, "Trimmed", nil, nil, nil, "Cut to its headers by a switch")
  add("payload", ProtoField.bytes, "Payload")
  add("payload.length", u32, "Payload length", DEC, nil, nil, "Bytes behind the headers, without the trailer")
  add("crc", u32, "CRC-32C", HEX)
  add("crc.status", u8, "CRC status", DEC, { [0] = "bad", [1] = "good", [2] = "not checked", [3] = "no trailer" })
  add("crc.calculated", u32, "Calculated CRC-32C", HEX)
  add("crc.order", u8, "CRC byte order", DEC, { [0] = "most significant byte first", [1] = "least significant byte first" })

  -- TSS.
  add("tss", ProtoField.none, "Transport security (TSS)")
  add("tss.type", u8, "Type", DEC, codes.type, 0xF8)
  add("tss.sp", ProtoField.bool, "Source id present", 8, yesno, 0x04)
  add("tss.an", ProtoField.bool, "Association number", 8, { "1", "0" }, 0x01)
  add("tss.sdi", u24, "Secure domain id", DEC)
  add("tss.ssi", u32, "Secure source id", DEC)
  add("tss.epoch", u16, "Epoch", DEC)
  add("tss.counter", u64, "Counter", DEC)
  add("tss.encrypted", ProtoField.bytes, "Encrypted PDS, SES and payload")
  add("tss.icv", ProtoField.bytes, "Integrity check value")

  -- PDS.
  add("pds", ProtoField.none, "Packet delivery (PDS)")
  add("pds.type", u16, "Type", DEC, with(codes.type, 31), 0xF800)
  add("pds.next", u16, "Next header", DEC, with(codes.next, 15), 0x0780)
  add("pds.ctl_type", u16, "Control type", DEC, with(codes.control, 15), 0x0780)
  add("pds.flags", u16, "Flags", HEX, nil, 0x007F)
  for _, flag in ipairs({
    { "m", "CE seen (m)", 0x20 }, { "isrod", "Ordered PDC (isrod)", 0x20 }, { "retx", "Retransmission (retx)", 0x10 }, { "ar", "ACK request (ar)", 0x08 },
    { "p", "Answer to a probe (p)", 0x08 }, { "nt", "RUDI (nt)", 0x08 }, { "syn", "PDC not established (syn)", 0x04 },
  }) do
    add("pds.flags." .. flag[1], ProtoField.bool, flag[2], 16, yesno, flag[3])
  end
  add("pds.flags.req", u16, "Request (req)", DEC, { [0] = "none", "clear", "close", "reserved" }, 0x0006)
  add("pds.flags.reserved", u16, "Reserved flags", HEX)
  add("pds.reserved", u16, "Reserved", HEX)
  add("pds.clear_psn_offset", ProtoField.int16, "Clear PSN offset", DEC)
  add("pds.clear_psn", u32, "Clear PSN", DEC)
  add("pds.psn", u32, "PSN", DEC)
  add("pds.psn_rel", u32, "PSN from the start of the PDC", DEC)
  add("pds.spdcid", u16, "Source PDCID", DEC)
  add("pds.dpdcid", u16, "Destination PDCID", DEC)
  add("pds.pdc_info", u16, "PDC info", HEX, nil, 0xF000)
  add("pds.psn_offset", u16, "PSN offset", DEC, nil, 0x0FFF)
  add("pds.start_psn", u32, "Start PSN", DEC)
  add("pds.ccc_id", u8, "Congestion control context", DEC)
  add("pds.credit_target", u24, "Credit target (256 B)", DEC)
  add("pds.ack_psn_offset", ProtoField.int16, "ACK PSN offset", DEC)
  add("pds.ack_psn", u32, "ACK PSN", DEC)
  add("pds.probe_opaque", u16, "Probe opaque", HEX)
  add("pds.cack_psn", u32, "Cumulative ACK PSN", DEC)
  add("pds.cc_type", u8, "CC type", DEC, with(codes.cc, 15), 0xF0)
  add("pds.cc_flags", u8, "CC flags", HEX, nil, 0x0F)
  add("pds.mpr", u8, "Maximum PSN range (128 PSNs)", DEC)
  add("pds.sack_psn_offset", ProtoField.int16, "SACK PSN offset", DEC)
  add("pds.sack_base", u32, "SACK base PSN", DEC)
  add("pds.sack_bitmap", u64, "SACK bitmap", HEX)
  add("pds.nscc.service_time", u16, "Service time (128 ns)", DEC, { [0] = "not valid", [0xFFFF] = "overflow" })
  add("pds.nscc.restore_cwnd", ProtoField.bool, "Restore window", 8, yesno, 0x80)
  add("pds.nscc.rcv_cwnd_pend", u8, "Receiver window penalty", DEC, nil, 0x7F)
  add("pds.nscc.rcvd_bytes", u24, "Received bytes (256 B)", DEC)
  add("pds.credit.credit", u24, "Credit (256 B)", DEC)
  add("pds.credit.reserved", u24, "Reserved", HEX)
  add("pds.ooo_count", u16, "Out-of-order count", DEC, { [0xFFFF] = "not valid" })
  add("pds.cc_state", ProtoField.bytes, "Congestion control state")
  add("pds.expected_psn", u32, "Expected PSN", DEC, nil, nil, "Extension of the reference provider, ACK flag 0x40")
  add("pds.nack.code", u8, "NACK code", HEX, with(codes.nack, 255))
  add("pds.nack.vendor_code", u8, "Vendor code", HEX)
  add("pds.nack.psn", u32, "Refused PSN", DEC)
  add("pds.nack.payload", u32, "NACK payload", DEC)
  add("pds.nack.ccx_type", u8, "NACK CCX type", DEC, nil, 0xF0)
  add("pds.ctl_payload", u32, "Control payload", DEC)
  add("pds.negotiation.type", u8, "Body type", DEC)
  add("pds.negotiation.length", u8, "Body length (words)", DEC)
  add("pds.negotiation.features", u32, "Feature mask", HEX)
  add("pds.pkt_id", u32, "Packet id", HEX)

  -- SES requests.
  add("ses", ProtoField.none, "Semantics (SES)")
  add("ses.opcode", u8, "Opcode", HEX, with(codes.opcode, 63), 0x3F)
  add("ses.version", u8, "Version", DEC, nil, 0xC0)
  add("ses.flags", u8, "Flags", HEX, nil, 0x3F)
  for _, flag in ipairs({
    { "dc", "Delivery complete (dc)", 0x20 }, { "ie", "Initiator error (ie)", 0x10 }, { "rel", "Relative addressing (rel)", 0x08 },
    { "hd", "Header data present (hd)", 0x04 }, { "eom", "End of message (eom)", 0x02 }, { "som", "Start of message (som)", 0x01 },
  }) do
    add("ses.flags." .. flag[1], ProtoField.bool, flag[2], 8, yesno, flag[3])
  end
  add("ses.message_id", u16, "Message id", DEC)
  add("ses.ri_generation", u8, "Index generation", DEC)
  add("ses.job_id", u24, "Job id", DEC)
  add("ses.pid_on_fep", u16, "PIDonFEP", DEC, nil, 0x0FFF)
  add("ses.resource_index", u16, "Resource index", DEC, nil, 0x0FFF)
  add("ses.buffer_offset", u64, "Buffer offset", HEX)
  add("ses.restart_token.initiator", u32, "Initiator restart token", HEX)
  add("ses.restart_token.target", u32, "Target restart token", HEX)
  add("ses.initiator", u32, "Initiator", DEC)
  add("ses.memory_key", u64, "Memory key", HEX)
  add("ses.match_bits", u64, "Match bits", HEX)
  add("ses.header_data", u64, "Header data", HEX)
  add("ses.payload_length", u32, "Payload length", DEC, nil, 0x3FFF)
  add("ses.message_offset", u32, "Message offset", DEC)
  add("ses.request_length", u32, "Request length", DEC)
  add("ses.reserved", ProtoField.bytes, "Reserved")

  -- SES extensions.
  add("ses.rendezvous", ProtoField.none, "Rendezvous extension")
  add("ses.rendezvous.eager_length", u32, "Eager length", DEC)
  add("ses.rendezvous.ri_generation", u8, "Index generation", DEC)
  add("ses.rendezvous.pid_on_fep", u24, "PIDonFEP", DEC, nil, 0xFFF000)
  add("ses.rendezvous.resource_index", u24, "Resource index", DEC, nil, 0x000FFF)
  add("ses.rendezvous.read_offset", u64, "Read offset", HEX)
  add("ses.rendezvous.read_key", u64, "Read key", HEX)
  add("ses.atomic", ProtoField.none, "Atomic extension")
  add("ses.atomic.opcode", u8, "Atomic opcode", HEX, with(codes.atomic, 255))
  add("ses.atomic.datatype", u8, "Data type", HEX, with(codes.datatype, 255))
  add("ses.atomic.semantic_control", u8, "Semantic control", HEX)
  add("ses.atomic.reserved", u8, "Reserved", HEX)
  add("ses.atomic.compare", ProtoField.bytes, "Compare value")
  add("ses.atomic.swap", ProtoField.bytes, "Swap value")

  -- SES responses.
  add("ses.rsp.list", u8, "List", DEC, with(codes.list, 3), 0xC0)
  add("ses.rsp.opcode", u8, "Response opcode", HEX, with(codes.response, 63), 0x3F)
  add("ses.rsp.return_code", u8, "Return code", HEX, with(codes.code, 63), 0x3F)
  add("ses.rsp.modified_length", u32, "Modified length", DEC)
  add("ses.rsp.read_message_id", u16, "Message id of the read", DEC)
  add("ses.rsp.payload_length", u16, "Payload length", DEC, nil, 0x3FFF)
  add("ses.rsp.message_offset", u32, "Message offset", DEC)
  add("ses.rsp.request_psn", u32, "PSN of the request", DEC)

  -- What follows from the packets before and after.
  local function link(key, label, kind) add("analysis." .. key, ProtoField.framenum, label, base.NONE, kind) end
  link("request_in", "This answers the packet in frame", frametype.REQUEST)
  link("answered_in", "Answered in frame", frametype.RESPONSE)
  link("acked_in", "Acknowledged in frame", frametype.ACK)
  link("nacked_in", "Refused in frame", frametype.RESPONSE)
  link("retransmission_of", "First sent in frame", frametype.RETRANS_PREV)
  link("copy_of", "The same packet elsewhere in frame", frametype.NONE)
  link("duplicate_ack_of", "First such ACK in frame", frametype.DUP_ACK)
  link("read_in", "The data was asked for in frame", frametype.REQUEST)
  add("analysis.duplicate_ack_number", u32, "Duplicate ACK number", DEC)
  add("analysis.rtt", ProtoField.relative_time, "Time since that packet")
  add("analysis.rto", ProtoField.relative_time, "Time since it was last sent")
  add("analysis.newly_acked", u32, "Packets acknowledged for the first time", DEC)
  add("analysis.missing", u32, "PSNs before this one not seen yet", DEC)

  local function note(key, text, group, severity)
    e[key] = ProtoExpert.new(name .. ".expert." .. key, text, group, severity)
  end
  note("malformed", "Malformed packet", expert.group.MALFORMED, expert.severity.ERROR)
  note("crc", "Bad CRC-32C", expert.group.CHECKSUM, expert.severity.ERROR)
  note("trimmed", "Trimmed by a switch", expert.group.SEQUENCE, expert.severity.WARN)
  note("length", "Lengths do not agree", expert.group.PROTOCOL, expert.severity.WARN)
  note("reserved", "Reserved bits set", expert.group.PROTOCOL, expert.severity.NOTE)
  note("retransmission", "Retransmission", expert.group.SEQUENCE, expert.severity.NOTE)
  note("gap", "PSNs missing", expert.group.SEQUENCE, expert.severity.NOTE)
  note("out_of_order", "Out of order", expert.group.SEQUENCE, expert.severity.CHAT)
  note("duplicate_ack", "Duplicate ACK", expert.group.SEQUENCE, expert.severity.NOTE)
  note("nack", "NACK", expert.group.RESPONSE_CODE, expert.severity.WARN)
  note("nack_fatal", "NACK that ends the PDC", expert.group.RESPONSE_CODE, expert.severity.ERROR)
  note("return_code", "Request failed", expert.group.RESPONSE_CODE, expert.severity.WARN)
  note("marked", "CE mark echoed", expert.group.SEQUENCE, expert.severity.CHAT)
  note("opened", "PDC opened", expert.group.SEQUENCE, expert.severity.CHAT)
  note("closed", "PDC closes", expert.group.SEQUENCE, expert.severity.CHAT)

  local notes = {}
  for _, n in pairs(e) do notes[#notes + 1] = n end
  return { f = f, list = list, e = e, experts = notes }
end
