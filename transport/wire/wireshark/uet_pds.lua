-- Packet delivery headers. Layouts: the comments of package transport/wire.

return function(K)
  local f, e, codes, diff = K.f, K.e, K.codes, K.diff
  local MOD = 4294967296
  local M = {}

  -- PSNs in the Info column count from the start of the PDC, where it is known.
  local function show(c, h, psn)
    local start = h.note and h.note.stream and h.note.stream.start
    local from = start and diff(psn, start)
    if c.relative and from and from > -65536 then return string.format("%d", from) end
    return string.format("%d", psn)
  end

  local function word(names, code) return names[code] or string.format("reserved %d", code) end

  local function interval(seconds)
    local whole = math.floor(seconds)
    return NSTime.new(whole, math.floor((seconds - whole) * 1e9 + 0.5))
  end

  local function computed(tree, field, range, value)
    return tree:add(field, range, value):set_generated()
  end

  -- Which flag bits a type has; the others are reserved.
  local flags_of = {
    request = { "retx", "ar", "syn" }, ack = { "m", "retx", "p", "req" }, nack = { "m", "retx", "nt" }, cp = { "isrod", "retx", "ar", "syn" },
    rudi = { "retx" }, rudi_resp = { "m", "retx" }, uud = {},
  }
  local bits = { m = 0x20, isrod = 0x20, retx = 0x10, ar = 0x08, p = 0x08, nt = 0x08, syn = 0x04, req = 0x06 }
  local kinds = { [2] = "request", [3] = "request", [13] = "request", [14] = "request", [4] = "rudi", [5] = "rudi_resp", [6] = "uud",
    [7] = "ack", [8] = "ack", [9] = "ack", [10] = "nack", [12] = "nack", [11] = "cp" }

  -- Which next headers a type may carry.
  local nexts = {
    request = { [1] = true, [2] = true, [3] = true, [5] = true, [6] = true }, ack = { [0] = true, [4] = true, [5] = true, [6] = true },
    rudi = { [1] = true, [2] = true, [3] = true }, rudi_resp = { [4] = true, [5] = true, [6] = true }, uud = { [1] = true, [2] = true, [3] = true },
  }

  local function prologue(c, tree, at, h)
    local range = c.tvb(at, 2)
    tree:add(f["pds.type"], range)
    tree:add(f[h.kind == "cp" and "pds.ctl_type" or "pds.next"], range)
    local item = tree:add(f["pds.flags"], range)
    local set, reserved, words = {}, h.flags, {}
    for _, flag in ipairs(flags_of[h.kind]) do
      local value = bit.band(h.flags, bits[flag])
      item:add(f["pds.flags." .. flag], range)
      set[flag] = value ~= 0
      if flag == "req" then
        if value == 2 then words[#words + 1] = "clear" elseif value == 4 then words[#words + 1] = "close" end
      elseif set[flag] then
        words[#words + 1] = flag
      end
      reserved = bit.band(reserved, bit.bnot(bits[flag]))
    end
    if h.kind == "ack" and h.expected then reserved = bit.band(reserved, bit.bnot(0x40)) end
    if reserved ~= 0 then
      computed(item, f["pds.flags.reserved"], range, reserved):add_proto_expert_info(e.reserved, string.format("Reserved flag bits set: 0x%02x", reserved))
    end
    h.set = set
    h.words = table.concat(words, "+")
    if #words > 0 then item:append_text(" (" .. h.words .. ")") end
  end

  -- pdcids shows the two contexts, or the 4+12 bits that stand for the second one while syn is set.
  local function pdcids(c, tree, at, h)
    h.spdcid = c.tvb(at, 2):uint()
    tree:add(f["pds.spdcid"], c.tvb(at, 2))
    if not h.set.syn then
      h.dpdcid = c.tvb(at + 2, 2):uint()
      tree:add(f["pds.dpdcid"], c.tvb(at + 2, 2))
      return
    end
    tree:add(f["pds.pdc_info"], c.tvb(at + 2, 2))
    tree:add(f["pds.psn_offset"], c.tvb(at + 2, 2))
    h.start = (h.psn - c.tvb(at + 2, 2):uint() % 4096) % MOD
    computed(tree, f["pds.start_psn"], c.tvb(at + 2, 2), h.start)
  end

  local function request(c, tree, at, h)
    h.psn = c.tvb(at + 4, 4):uint()
    tree:add(f["pds.clear_psn_offset"], c.tvb(at + 2, 2))
    computed(tree, f["pds.clear_psn"], c.tvb(at + 2, 2), (h.psn + c.tvb(at + 2, 2):int()) % MOD)
    tree:add(f["pds.psn"], c.tvb(at + 4, 4))
    pdcids(c, tree, at + 8, h)
    h.near = h.psn
    if h.type >= 13 and not h.cut then
      tree:add(f["pds.ccc_id"], c.tvb(at + 12, 1))
      tree:add(f["pds.credit_target"], c.tvb(at + 13, 3))
    end
  end

  local function congestion(c, tree, at, h)
    local cc = math.floor(c.tvb(at + 12, 1):uint() / 16)
    tree:add(f["pds.cc_type"], c.tvb(at + 12, 1))
    tree:add(f["pds.cc_flags"], c.tvb(at + 12, 1))
    tree:add(f["pds.mpr"], c.tvb(at + 13, 1)):append_text(string.format(" = %d PSNs", c.tvb(at + 13, 1):uint() * 128))
    tree:add(f["pds.sack_psn_offset"], c.tvb(at + 14, 2))
    local base = (h.cack + c.tvb(at + 14, 2):int()) % MOD
    computed(tree, f["pds.sack_base"], c.tvb(at + 14, 2), base)
    local high, low = c.tvb(at + 16, 4):uint(), c.tvb(at + 20, 4):uint()
    h.sack = {}
    for i = 0, 63 do
      local half = i < 32 and low or high
      if math.floor(half / 2 ^ (i % 32)) % 2 == 1 then h.sack[#h.sack + 1] = (base + i) % MOD end
    end
    tree:add(f["pds.sack_bitmap"], c.tvb(at + 16, 8)):append_text(string.format(" (%d received)", #h.sack))
    h.signature = h.signature .. string.format(" %d %d %d", base, high, low)
    h.map = function()
      if #h.sack == 0 then return "" end
      return " SACK=" .. show(c, h, base) .. "+0x" .. (high > 0 and string.format("%x%08x", high, low) or string.format("%x", low))
    end
    if h.type == 9 then
      tree:add(f["pds.cc_state"], c.tvb(at + 24, 16))
    elseif cc == 0 then
      local service = c.tvb(at + 24, 2):uint()
      local item = tree:add(f["pds.nscc.service_time"], c.tvb(at + 24, 2))
      if service > 0 and service < 0xFFFF then item:append_text(string.format(" = %.3f us", service * 0.128)) end
      tree:add(f["pds.nscc.restore_cwnd"], c.tvb(at + 26, 1))
      tree:add(f["pds.nscc.rcv_cwnd_pend"], c.tvb(at + 26, 1))
      tree:add(f["pds.nscc.rcvd_bytes"], c.tvb(at + 27, 3)):append_text(string.format(" = %d B", c.tvb(at + 27, 3):uint() * 256))
      tree:add(f["pds.ooo_count"], c.tvb(at + 30, 2))
    elseif cc == 1 then
      tree:add(f["pds.credit.credit"], c.tvb(at + 24, 3)):append_text(string.format(" = %d B", c.tvb(at + 24, 3):uint() * 256))
      tree:add(f["pds.credit.reserved"], c.tvb(at + 27, 3))
      tree:add(f["pds.ooo_count"], c.tvb(at + 30, 2))
    else
      tree:add(f["pds.cc_state"], c.tvb(at + 24, 8))
    end
  end

  local function ack(c, tree, at, h)
    h.cack = c.tvb(at + 4, 4):uint()
    if h.set.p then
      h.probe = c.tvb(at + 2, 2):uint()
      tree:add(f["pds.probe_opaque"], c.tvb(at + 2, 2))
    else
      h.ack_psn = (h.cack + c.tvb(at + 2, 2):int()) % MOD
      tree:add(f["pds.ack_psn_offset"], c.tvb(at + 2, 2))
      computed(tree, f["pds.ack_psn"], c.tvb(at + 2, 2), h.ack_psn)
    end
    tree:add(f["pds.cack_psn"], c.tvb(at + 4, 4))
    pdcids(c, tree, at + 8, h)
    h.near = h.cack
    h.signature = string.format("%d %d %d %d", h.type, h.next, h.cack, h.ack_psn or -1)
    if h.type ~= 7 and not h.cut then congestion(c, tree, at, h) end
    if h.expected then tree:add(f["pds.expected_psn"], c.tvb(at + h.size - 4, 4)) end
  end

  local function nack(c, tree, at, h)
    h.code = c.tvb(at + 2, 1):uint()
    h.psn = c.tvb(at + 4, 4):uint()
    tree:add(f["pds.nack.code"], c.tvb(at + 2, 1))
    tree:add(f["pds.nack.vendor_code"], c.tvb(at + 3, 1))
    tree:add(f[h.set.nt and "pds.pkt_id" or "pds.nack.psn"], c.tvb(at + 4, 4))
    pdcids(c, tree, at + 8, h)
    tree:add(f["pds.nack.payload"], c.tvb(at + 12, 4))
    h.near = h.psn
    if h.code == 0x17 then h.new_start = c.tvb(at + 12, 4):uint() end
    h.pkt_id = h.set.nt and h.psn or nil
    if h.type == 12 and not h.cut then
      tree:add(f["pds.nack.ccx_type"], c.tvb(at + 16, 1))
      tree:add(f["pds.cc_state"], c.tvb(at + 16, 16))
    end
  end

  -- NOOP, CLOSE_CMD, CLOSE_REQ and NEGOTIATION have a PSN of their own.
  local own_psn = { [0] = true, [4] = true, [5] = true, [9] = true }

  local function control(c, tree, at, h)
    h.psn = c.tvb(at + 4, 4):uint()
    tree:add(f[h.next == 6 and "pds.probe_opaque" or "pds.reserved"], c.tvb(at + 2, 2))
    tree:add(f["pds.psn"], c.tvb(at + 4, 4))
    pdcids(c, tree, at + 8, h)
    local value = c.tvb(at + 12, 4):uint()
    local item
    if h.next == 9 and not h.bare then
      tree:add(f["pds.negotiation.type"], c.tvb(at + 12, 1))
      tree:add(f["pds.negotiation.length"], c.tvb(at + 13, 1))
      tree:add(f["pds.reserved"], c.tvb(at + 14, 2))
      tree:add(f["pds.negotiation.features"], c.tvb(at + 16, 4))
    else
      item = tree:add(f["pds.ctl_payload"], c.tvb(at + 12, 4))
    end
    h.payload = value
    if own_psn[h.next] then
      h.near, h.kind = h.psn, "request"
    elseif h.next == 1 then
      h.near = h.psn
    elseif h.next == 2 or h.next == 3 then
      h.near = value
      item:append_text(" (clear PSN)")
    elseif h.next == 6 then
      h.probe, h.near = c.tvb(at + 2, 2):uint(), value
      item:append_text(" (base wanted for the SACK map)")
    elseif h.next == 7 or h.next == 8 then
      item:append_text(string.format(" (%s: %d B)", h.next == 7 and "credit" or "credit target", value % 16777216 * 256))
    end
    if not own_psn[h.next] then h.start = nil end
  end

  local readers = { request = request, ack = ack, nack = nack, cp = control,
    rudi = function(c, tree, at, h)
      tree:add(f["pds.reserved"], c.tvb(at + 2, 2))
      tree:add(f["pds.pkt_id"], c.tvb(at + 4, 4))
      h.pkt_id = c.tvb(at + 4, 4):uint()
    end,
    uud = function(c, tree, at) tree:add(f["pds.reserved"], c.tvb(at + 2, 2)) end,
  }
  readers.rudi_resp = readers.rudi

  -- read shows the header at byte `at` and returns what it says, or nil and what is wrong.
  function M.read(c, root, at)
    if c.n - at < 2 then return nil, "too short for a PDS header" end
    local first = c.tvb(at, 2):uint()
    local h = { type = math.floor(first / 2048), next = math.floor(first / 128) % 16, flags = first % 128, src = c.src, dst = c.dst }
    h.kind, h.size = kinds[h.type], codes.pds_size[h.type]
    local tree = root:add(f["pds"], c.tvb(at, math.min(h.size or 2, c.n - at)))
    tree:append_text(": " .. word(codes.type, h.type))
    c.info[1] = word(codes.type, h.type)
    if not h.kind then
      tree:add(f["pds.type"], c.tvb(at, 2))
      return nil, string.format("packet type %d is reserved", h.type)
    end
    h.bare = h.kind == "cp" and h.next == 9 and c.n - at < 20 -- before 1.0.3
    if h.kind == "cp" and h.next == 9 and not h.bare then h.size = 20 end
    h.expected = h.kind == "ack" and h.next == 0 and first % 128 >= 0x40 and c.n - at == h.size + 4
    if h.expected then h.size = h.size + 4 end
    local least = { request = 12, ack = 12, nack = 16 } -- what long headers begin with
    if c.n - at < h.size and (c.snapped or c.trimmed) and least[h.kind] and c.n - at >= least[h.kind] then
      h.size, h.cut = least[h.kind], true
    end
    if c.n - at < h.size then
      tree:add(f["pds.type"], c.tvb(at, 2))
      return nil, string.format("%s header needs %d bytes, %d are left", word(codes.type, h.type), h.size, c.n - at)
    end
    tree:set_len(h.size)
    local what = h.kind
    prologue(c, tree, at, h)
    h.retx = h.set.retx
    readers[what](c, tree, at, h)
    -- What tells a packet from another with the same PSN: the first bytes of SES, which trimmed ones mostly keep.
    if h.type == 11 then
      h.content = "control " .. h.next
    elseif c.n - at - h.size >= 4 then
      h.content = string.format("%d %d %s", h.type, h.next, tostring(c.tvb(at + h.size, 4):bytes()))
    end
    h.tree, h.at = tree, at
    local wrong
    h.lost = h.cut
    if h.cut then
      wrong = "the end of the header is cut off"
    elseif nexts[what] and not nexts[what][h.next] then
      h.lost = true -- what follows cannot be read
      wrong = string.format("next header %d does not go with %s", h.next, word(codes.type, h.type))
    elseif what == "cp" and not codes.control[h.next] then
      wrong = string.format("control type %d is reserved", h.next)
    elseif h.spdcid == 0 and what ~= "nack" or what == "ack" and h.dpdcid == 0 then
      wrong = "PDCID 0 where a PDC must be named"
    end
    return h, wrong
  end

  -- describe writes the packet into the Info column.
  function M.describe(c, h)
    local info = c.info
    local function say(...) info[#info + 1] = string.format(...) end
    if h.type == 11 then say("%s", word(codes.control, h.next)) end
    if h.spdcid then say("%d→%s", h.spdcid, h.dpdcid and string.format("%d", h.dpdcid) or "?") end
    if h.words ~= "" then say("[%s]", h.words) end
    if h.type == 11 then
      if h.kind == "request" or h.next == 1 then say("PSN=%s", show(c, h, h.psn))
      elseif h.next == 2 or h.next == 3 then say("Clear=%s", show(c, h, h.payload))
      elseif h.next == 6 then say("Opaque=0x%04x Base=%s", h.probe, show(c, h, h.payload))
      elseif h.next == 7 or h.next == 8 then say("Credit=%dB", h.payload % 16777216 * 256) end
    elseif h.kind == "request" then
      say("PSN=%s", show(c, h, h.psn))
    elseif h.kind == "ack" then
      say("CACK=%s", show(c, h, h.cack))
      if h.probe then say("Opaque=0x%04x", h.probe) else say("ACK=%s", show(c, h, h.ack_psn)) end
      if h.map then info[#info] = info[#info] .. h.map() end
    elseif h.kind == "nack" then
      say("%s", word(codes.nack, h.code))
      if h.set.nt then say("Pkt=0x%x", h.psn) else say("PSN=%s", show(c, h, h.psn)) end
      if h.code == 0x0D then say("Expected=%s", show(c, h, c.tvb(h.at + 12, 4):uint())) end
      if h.new_start then say("Start=%d", h.new_start) end
    elseif h.pkt_id then
      say("Pkt=0x%x", h.pkt_id)
    end
  end

  -- analyse asks the flow what the packet means and shows it.
  function M.analyse(c, h, flow)
    local note = flow.frames[c.at.frame]
    if not note and c.first then
      if h.spdcid and not h.pkt_id then note = flow:pdc(h, c.at)
      elseif h.pkt_id then note = flow:connectionless(h, c.at) end
    end
    if not note then return end
    h.note = note
    local range, tree = c.tvb(h.at, h.size), h.tree
    local function link(key, frame)
      if frame and frame ~= c.at.frame then return computed(tree, f["analysis." .. key], range, frame) end
    end
    if note.stream then
      computed(c.root, f["stream"], c.tvb(0, 0), note.stream.index)
      if note.stream.start and h.kind == "request" then computed(tree, f["pds.psn_rel"], range, (h.psn - note.stream.start) % MOD) end
    end
    if note.rto then
      link("retransmission_of", note.retransmission_of)
      local what, mark = "Retransmission", "[Retransmission of %d]"
      if note.reused then what, mark = "PSN used again for another packet", "[PSN of %d again]"
      elseif note.doubled and h.type ~= 4 then what, mark = "The same packet again, without the retransmission flag", "[Duplicate of %d]" end
      computed(tree, f["analysis.rto"], range, interval(note.rto)):add_proto_expert_info(e.retransmission, what)
      c.mark(string.format(mark, note.retransmission_of))
    elseif note.retransmission_of then
      link("retransmission_of", note.retransmission_of):add_proto_expert_info(e.retransmission, "Retransmission of a packet that was not seen on this interface")
      c.mark(string.format("[Retransmission of %d]", note.retransmission_of))
    elseif note.unseen then
      tree:add_proto_expert_info(e.retransmission, "Retransmission of a packet that was not captured")
      c.mark("[Retransmission]")
    end
    link("copy_of", note.copy_of)
    if note.missing then
      computed(tree, f["analysis.missing"], range, note.missing):add_proto_expert_info(e.gap, "PSNs before this one not seen yet")
      c.mark(string.format("[%d missing]", note.missing))
    elseif note.late then
      tree:add_proto_expert_info(e.out_of_order, "A later PSN came first")
      c.mark("[Out of order]")
    end
    link("request_in", note.request_in)
    if note.rtt then computed(tree, f["analysis.rtt"], range, interval(note.rtt)) end
    if note.newly then computed(tree, f["analysis.newly_acked"], range, note.newly) end
    if note.duplicate then
      link("duplicate_ack_of", note.duplicate_of)
      computed(tree, f["analysis.duplicate_ack_number"], range, note.duplicate):add_proto_expert_info(e.duplicate_ack, "Duplicate ACK")
      c.mark(string.format("[Dup ACK %d#%d]", note.duplicate_of, note.duplicate))
    end
    if note.record then
      for _, what in ipairs({ "answered", "acked", "nacked" }) do
        local frames = note.record[what]
        link(what .. "_in", frames[c.at.iface] or frames.any)
      end
    end
    if note.opens then tree:add_proto_expert_info(e.opened, "PDC opened") end
  end

  -- judge adds what the packet says by itself.
  function M.judge(h)
    if h.kind == "nack" then
      local name = word(codes.nack, h.code)
      h.tree:add_proto_expert_info(codes.fatal_nack[h.code] and e.nack_fatal or e.nack, "NACK " .. name)
    end
    if h.type == 11 and h.next == 4 then h.tree:add_proto_expert_info(e.closed, "PDC closes") end
    if h.set.m then h.tree:add_proto_expert_info(e.marked, "The packet answered had a CE mark") end
  end

  return M
end
