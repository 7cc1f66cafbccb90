-- Semantic headers. Layouts: the comments of package transport/wire.

return function(K)
  local f, e, codes, flow = K.f, K.e, K.codes, K.flow
  local M = {}

  local READ, ATOMIC, FETCHING_ATOMIC, MSG_ERROR, RTR = 0x02, 0x03, 0x04, 0x0F, 0x0C
  local keyed = { [0x01] = true, [READ] = true, [ATOMIC] = true, [FETCHING_ATOMIC] = true } -- a memory key; the others match
  local atomic = { [ATOMIC] = true, [FETCHING_ATOMIC] = true, [0x0D] = true, [0x0E] = true }
  local rendezvous = { [0x06] = true, [0x0A] = true }
  local deferrable = { [0x08] = true, [0x0B] = true }

  local function opcode_name(code)
    return codes.opcode[code] or string.format("reserved 0x%02x", code)
  end

  -- common shows the twelve bytes that all requests start with.
  local function common(c, tree, at, r, with_id)
    tree:add(f["ses.opcode"], c.tvb(at, 1))
    tree:add(f["ses.version"], c.tvb(at + 1, 1))
    local item = tree:add(f["ses.flags"], c.tvb(at + 1, 1))
    local words = {}
    for _, flag in ipairs({ { "dc", 0x20 }, { "ie", 0x10 }, { "rel", 0x08 }, { "hd", 0x04 }, { "eom", 0x02 }, { "som", 0x01 } }) do
      item:add(f["ses.flags." .. flag[1]], c.tvb(at + 1, 1))
      r[flag[1]] = bit.band(r.flags, flag[2]) ~= 0
      if r[flag[1]] then words[#words + 1] = flag[1] end
    end
    if #words > 0 then item:append_text(" (" .. table.concat(words, "+") .. ")") end
    if with_id then
      r.id = c.tvb(at + 2, 2):uint()
      tree:add(f["ses.message_id"], c.tvb(at + 2, 2))
    else
      r.length = c.tvb(at + 2, 2):uint() % 16384
      tree:add(f["ses.request_length"], c.tvb(at + 2, 2), r.length)
    end
    tree:add(f["ses.ri_generation"], c.tvb(at + 4, 1))
    tree:add(f["ses.job_id"], c.tvb(at + 5, 3))
    tree:add(f["ses.pid_on_fep"], c.tvb(at + 8, 2))
    tree:add(f["ses.resource_index"], c.tvb(at + 10, 2))
  end

  local function key(c, tree, at, r)
    local item = tree:add(f[keyed[r.opcode] and "ses.memory_key" or "ses.match_bits"], c.tvb(at, 8))
    if r.opcode == RTR then
      item:add(f["ses.restart_token.target"], c.tvb(at, 4))
      item:add(f["ses.restart_token.initiator"], c.tvb(at + 4, 4))
    end
  end

  local function standard(c, tree, at, r)
    common(c, tree, at, r, true)
    local offset = tree:add(f["ses.buffer_offset"], c.tvb(at + 12, 8))
    if deferrable[r.opcode] then
      offset:add(f["ses.restart_token.initiator"], c.tvb(at + 12, 4))
      offset:add(f["ses.restart_token.target"], c.tvb(at + 16, 4))
    end
    tree:add(f["ses.initiator"], c.tvb(at + 20, 4))
    key(c, tree, at + 24, r)
    r.length = c.tvb(at + 40, 4):uint()
    if r.som then
      tree:add(f["ses.header_data"], c.tvb(at + 32, 8))
    else
      r.piece, r.offset = c.tvb(at + 32, 4):uint() % 16384, c.tvb(at + 36, 4):uint()
      tree:add(f["ses.payload_length"], c.tvb(at + 32, 4))
      tree:add(f["ses.message_offset"], c.tvb(at + 36, 4))
    end
    tree:add(f["ses.request_length"], c.tvb(at + 40, 4))
  end

  local function medium(c, tree, at, r)
    common(c, tree, at, r, false)
    tree:add(f[r.hd and "ses.header_data" or "ses.buffer_offset"], c.tvb(at + 12, 8))
    tree:add(f["ses.initiator"], c.tvb(at + 20, 4))
    key(c, tree, at + 24, r)
  end

  local function small(c, tree, at, r)
    common(c, tree, at, r, false)
    tree:add(f["ses.buffer_offset"], c.tvb(at + 12, 8))
  end

  -- extension shows what follows the header of some operations and returns its size.
  local function extension(c, root, at, r)
    if rendezvous[r.opcode] then
      if c.n - at < 24 then return nil, "rendezvous extension needs 24 bytes" end
      local tree = root:add(f["ses.rendezvous"], c.tvb(at, 24))
      r.eager = c.tvb(at, 4):uint()
      tree:add(f["ses.rendezvous.eager_length"], c.tvb(at, 4))
      tree:add(f["ses.rendezvous.ri_generation"], c.tvb(at + 4, 1))
      tree:add(f["ses.rendezvous.pid_on_fep"], c.tvb(at + 5, 3))
      tree:add(f["ses.rendezvous.resource_index"], c.tvb(at + 5, 3))
      tree:add(f["ses.rendezvous.read_offset"], c.tvb(at + 8, 8))
      tree:add(f["ses.rendezvous.read_key"], c.tvb(at + 16, 8))
      return 24
    elseif atomic[r.opcode] then
      if c.n - at < 4 then return nil, "atomic extension needs 4 bytes" end
      local op = c.tvb(at, 1):uint()
      local swaps = op >= 0x0D and op <= 0x13
      local size = swaps and 36 or 4
      if c.n - at < size then return nil, string.format("atomic extension needs %d bytes", size) end
      local tree = root:add(f["ses.atomic"], c.tvb(at, size))
      tree:add(f["ses.atomic.opcode"], c.tvb(at, 1))
      tree:add(f["ses.atomic.datatype"], c.tvb(at + 1, 1))
      tree:add(f["ses.atomic.semantic_control"], c.tvb(at + 2, 1))
      tree:add(f["ses.atomic.reserved"], c.tvb(at + 3, 1))
      r.says = string.format(" %s %s", codes.atomic[op] or string.format("0x%02x", op),
        codes.datatype[c.tvb(at + 1, 1):uint()] or string.format("type 0x%02x", c.tvb(at + 1, 1):uint()))
      tree:append_text(":" .. r.says)
      if swaps then
        r.swaps = true
        tree:add(f["ses.atomic.compare"], c.tvb(at + 4, 16))
        tree:add(f["ses.atomic.swap"], c.tvb(at + 20, 16))
      end
      return size
    end
    return 0
  end

  -- expected returns how many bytes of payload a request announces, or nil if it does not say.
  local function expected(r)
    if r.opcode == READ or r.opcode == RTR or r.opcode == 0 or r.swaps then return 0 end
    if r.piece then return r.piece end
    if r.eager then return r.eom and r.eager or nil end
    if r.eom then return r.length end
  end

  local function request(c, root, at, h, size)
    local r = { opcode = c.tvb(at, 1):uint() % 64, flags = c.tvb(at + 1, 1):uint() % 64, next = h.next }
    local tree = root:add(f["ses"], c.tvb(at, size))
    tree:append_text(": " .. opcode_name(r.opcode));
    ({ small, medium, standard })[h.next](c, tree, at, r)
    local more, wrong = extension(c, tree, at + size, r)
    if not more then return at + size, nil, wrong end
    tree:set_len(size + more)

    local info = c.info
    info[#info + 1] = opcode_name(r.opcode) .. (r.says or "")
    if r.id then info[#info + 1] = string.format("Msg=%d", r.id) end
    if not r.som or not r.eom then
      info[#info + 1] = string.format("Off=%d/%d", r.offset or 0, r.length)
    elseif expected(r) ~= r.length then
      info[#info + 1] = string.format("Total=%d", r.length)
    end
    if r.offset and r.offset + r.piece > r.length then
      tree:add_proto_expert_info(e.length, string.format("Offset %d and payload length %d exceed the request length %d", r.offset, r.piece, r.length))
    end
    if c.first and h.note and h.note.stream and r.id and (r.opcode == READ or r.opcode == FETCHING_ATOMIC) then
      flow.read_asked(h.note, r.id, c.at.frame)
    end
    return at + size + more, expected(r), c.tvb(at + 1, 1):uint() >= 64 and "SES version is not 0" or nil
  end

  local function response_head(c, tree, at, r)
    tree:add(f["ses.rsp.list"], c.tvb(at, 1))
    tree:add(f["ses.rsp.opcode"], c.tvb(at, 1))
    tree:add(f["ses.version"], c.tvb(at + 1, 1))
    local item = tree:add(f["ses.rsp.return_code"], c.tvb(at + 1, 1))
    r.op, r.list, r.code = c.tvb(at, 1):uint() % 64, math.floor(c.tvb(at, 1):uint() / 64), c.tvb(at + 1, 1):uint() % 64
    r.code_name = codes.code[r.code] or string.format("code 0x%02x", r.code)
    if r.code > 1 then item:add_proto_expert_info(e.return_code, "Request failed: " .. r.code_name) end
  end

  local function response(c, root, at, h, size)
    local r = {}
    local tree = root:add(f["ses"], c.tvb(at, size))
    local info, want = c.info, 0
    response_head(c, tree, at, r)
    local name = codes.response[r.op] or string.format("response 0x%02x", r.op)
    tree:append_text(": " .. name .. " " .. r.code_name)
    info[#info + 1] = name
    info[#info + 1] = r.code_name
    if r.list ~= 0 then info[#info + 1] = "list=" .. (codes.list[r.list] or string.format("%d", r.list)) end
    if h.next == 6 then
      want = c.tvb(at + 2, 2):uint() % 16384
      tree:add(f["ses.rsp.payload_length"], c.tvb(at + 2, 2))
      tree:add(f["ses.reserved"], c.tvb(at + 4, 1))
      tree:add(f["ses.job_id"], c.tvb(at + 5, 3))
      tree:add(f["ses.rsp.request_psn"], c.tvb(at + 8, 4))
    else
      tree:add(f["ses.message_id"], c.tvb(at + 2, 2))
      tree:add(f[h.next == 4 and "ses.ri_generation" or "ses.reserved"], c.tvb(at + 4, 1))
      tree:add(f["ses.job_id"], c.tvb(at + 5, 3))
      info[#info + 1] = string.format("Msg=%d", c.tvb(at + 2, 2):uint())
    end
    if h.next == 4 then
      tree:add(f["ses.rsp.modified_length"], c.tvb(at + 8, 4))
      info[#info + 1] = string.format("Accepted=%d", c.tvb(at + 8, 4):uint())
    elseif h.next == 5 then
      local read = c.tvb(at + 8, 2):uint()
      want = c.tvb(at + 10, 2):uint() % 16384
      tree:add(f["ses.rsp.read_message_id"], c.tvb(at + 8, 2))
      tree:add(f["ses.rsp.payload_length"], c.tvb(at + 10, 2))
      tree:add(f["ses.rsp.modified_length"], c.tvb(at + 12, 4))
      tree:add(f["ses.rsp.message_offset"], c.tvb(at + 16, 4))
      info[#info + 1] = string.format("Read=%d Off=%d", read, c.tvb(at + 16, 4):uint())
      if h.kind == "request" and h.note and h.note.stream then
        if c.first then flow.read_answered(h.note, read) end
        if h.note.read_in then tree:add(f["analysis.read_in"], c.tvb(at + 8, 2), h.note.read_in):set_generated() end
      end
    end
    return at + size, want, c.tvb(at + 1, 1):uint() >= 64 and "SES version is not 0" or nil
  end

  -- read shows the header at byte `at` and returns where it ends, how much payload it announces, and what is wrong.
  function M.read(c, root, at, h)
    local size = h.type ~= 11 and h.type ~= 10 and h.type ~= 12 and codes.ses_size[h.next]
    if not size then return at, 0 end
    local have = c.n - at
    if have >= size then
      return (h.next <= 3 and request or response)(c, root, at, h, size)
    end
    if not c.trimmed then
      return at, nil, string.format("%s header needs %d bytes, %d are left", codes.next[h.next], size, have)
    end
    if have >= 4 and h.next <= 3 then -- what a trimmed packet keeps
      local opcode = c.tvb(at, 1):uint() % 64
      local tree = root:add(f["ses"], c.tvb(at, have))
      tree:append_text(": " .. opcode_name(opcode) .. ", cut")
      tree:add(f["ses.opcode"], c.tvb(at, 1))
      tree:add(f["ses.version"], c.tvb(at + 1, 1))
      tree:add(f["ses.flags"], c.tvb(at + 1, 1))
      c.info[#c.info + 1] = opcode_name(opcode)
      if h.next == 3 then
        tree:add(f["ses.message_id"], c.tvb(at + 2, 2))
        c.info[#c.info + 1] = string.format("Msg=%d", c.tvb(at + 2, 2):uint())
      end
    end
    return c.n, nil
  end

  return M
end
