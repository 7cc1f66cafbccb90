-- What follows from the packets before: which PDC a packet belongs to, whether its PSN was seen, what it answers.
-- All is worked out when Wireshark reads a file for the first time, in order, and kept by frame number;
-- answers that come later are found through the record of the PSN, which frames share.
--
-- One packet may have been captured at several places of one file (an interface for each host or link).
-- So a PDC is one stream for all interfaces, but retransmissions, gaps and duplicates are told by interface.

local M = {}
M.__index = M

local MOD, HALF = 4294967296, 2147483648
local NEAR = 32768 -- PSNs: a PDCID used again starts at least twice as far away
local OUT_OF_WINDOW = 0x0B -- NACK code

-- diff is a - b of sequence numbers, signed.
local function diff(a, b) return (a - b + HALF) % MOD - HALF end
M.diff = diff

function M.new()
  return setmetatable({ count = 0, ends = {}, rudi = {}, frames = {}, hosts = {}, names = {} }, M)
end

-- host returns a number for an address. Its text will not do: it changes when Wireshark learns the name.
function M:host(address)
  local text = tostring(address)
  local known = self.names[text]
  if known and known.address == address then return known.number end
  for _, h in ipairs(self.hosts) do
    if h.address == address then known = h end
  end
  if not known or known.address ~= address then
    known = { address = address, number = #self.hosts + 1 }
    self.hosts[known.number] = known
  end
  self.names[text] = known
  return known.number
end

local function end_key(owner, peer, id) return owner .. " " .. peer .. " " .. id end

-- bind remembers the PDCID that one side of a stream uses.
function M:bind(stream, side, id)
  if id == 0 or stream.id[side] == id then return end
  stream.id[side] = id
  local key = end_key(stream.address[side], stream.address[3 - side], id)
  self.ends[key] = self.ends[key] or {}
  table.insert(self.ends[key], 1, { stream = stream, side = side })
end

function M:open(h, start)
  local stream = { index = self.count, start = start, id = {}, address = { h.src, h.dst }, directions = {} }
  for side = 1, 2 do
    stream.directions[side] = { sent = {}, points = {}, probes = {}, reads = {}, last = start, first = start }
  end
  self.count = self.count + 1
  return stream
end

-- find returns the stream of a packet and the side that sent it, 1 for the one that opened the PDC.
function M:find(h)
  local best, side
  local function look(owner, peer, id, sender)
    for _, entry in ipairs(id ~= 0 and self.ends[end_key(owner, peer, id)] or {}) do
      local s = entry.stream
      local fits
      if h.start then
        fits = sender and entry.side == 1 and (s.start == h.start or not s.start)
      elseif h.near then
        for _, d in ipairs(s.directions) do
          fits = fits or (d.last and math.abs(diff(h.near, d.last)) < NEAR)
        end
      end
      if fits or (not best and not h.start) then
        best, side = s, sender and entry.side or 3 - entry.side
        if fits then return true end
      end
    end
  end
  if look(h.src, h.dst, h.spdcid, true) or h.start then
    -- found, or about to be opened
  else
    look(h.dst, h.src, h.dpdcid or 0, false)
  end
  if not best then
    best, side = self:open(h, h.start), 1
  end
  if h.start then best.start = h.start end
  self:bind(best, side, h.spdcid)
  self:bind(best, 3 - side, h.dpdcid or 0)
  return best, side
end

-- point is what one interface has seen of one direction.
local function point(direction, iface, psn)
  local p = direction.points[iface]
  if not p then
    p = { expected = direction.first or psn, unacked = direction.first or psn, acks = {} }
    direction.points[iface] = p
  end
  return p
end

-- mark keeps the first frame that did something to a packet: on each interface, and on any.
local function mark(marks, at)
  local new = not marks[at.iface]
  if new then marks[at.iface] = at.frame end
  marks.any = marks.any or at.frame
  return new
end

local function new_record(at, content)
  return { seen = {}, frame = at.frame, content = content, answered = {}, acked = {}, nacked = {} }
end

-- sent notes a packet with a PSN of its own.
local function sent(note, stream, side, h, at)
  local direction = stream.directions[side]
  direction.first = direction.first or h.psn
  direction.last = h.psn
  local p = point(direction, at.iface, h.psn)
  local record = direction.sent[h.psn]
  if not record then
    record = new_record(at, h.content)
    direction.sent[h.psn] = record
  end
  note.record = record
  local here = record.seen[at.iface]
  if here then
    note.retransmission_of, note.rto = here.first, at.time - here.time
    note.reused = record.content and h.content and record.content ~= h.content
    note.doubled = not h.retx
  else
    if record.frame ~= at.frame then note[h.retx and "retransmission_of" or "copy_of"] = record.frame end
    here = { first = at.frame, before = p.expected }
    record.seen[at.iface] = here
    note.unseen = h.retx
    local ahead = diff(h.psn, p.expected)
    if at.partial then -- gaps say nothing
    elseif ahead > 0 then
      note.missing = ahead
    elseif ahead < 0 and not note.unseen then
      note.late = true
    end
  end
  here.last, here.time = at.frame, at.time
  if diff(h.psn, p.expected) >= 0 then p.expected = (h.psn + 1) % MOD end
end

-- answers links a packet to the one whose PSN it names, as it was last seen on the same interface.
local function answers(note, record, at)
  if not record then return end
  local seen = record.seen[at.iface]
  if seen then
    note.request_in, note.rtt = seen.last, at.time - seen.time
  else
    note.request_in = record.frame
  end
  mark(record.answered, at)
  return record
end

local function acknowledged(note, h, stream, side, at)
  local forward = stream.directions[3 - side]
  if h.probe then answers(note, forward.probes[h.probe], at)
  else answers(note, forward.sent[h.ack_psn], at) end
  local newly = 0
  local function done(psn)
    local record = forward.sent[psn]
    if record and mark(record.acked, at) then newly = newly + 1 end
  end
  if forward.first then
    local p = point(forward, at.iface, h.cack)
    local ahead = diff(h.cack, p.unacked)
    for i = 0, ahead < NEAR and ahead or -1 do done((p.unacked + i) % MOD) end
    if ahead >= 0 then p.unacked = (h.cack + 1) % MOD end
  end
  for _, psn in ipairs(h.sack or {}) do done(psn) end
  if not h.probe then done(h.ack_psn) end
  note.newly = newly
  forward.last = forward.last or h.cack

  if h.probe then return end
  local p = point(stream.directions[side], at.iface, h.cack)
  local before = p.acks[h.signature]
  if before then
    before.count = before.count + 1
    note.duplicate_of, note.duplicate = before.frame, before.count
  else
    p.acks[h.signature] = { frame = at.frame, count = 0 }
  end
end

-- pdc takes in a packet of a PDC and returns its note. at is {frame, iface, time}.
function M:pdc(h, at)
  local stream, side = self:find(h)
  local note = { stream = stream, side = side }
  self.frames[at.frame] = note
  if h.kind == "request" then
    note.opens = h.start and not stream.seen
    sent(note, stream, side, h, at)
  elseif h.kind == "ack" then
    acknowledged(note, h, stream, side, at)
  elseif h.kind == "nack" then
    local forward = stream.directions[3 - side]
    local record = answers(note, forward.sent[h.psn], at)
    if record then mark(record.nacked, at) end
    if record and h.code == OUT_OF_WINDOW then -- it will come again: what follows is not late
      for iface, p in pairs(forward.points) do
        local here = record.seen[iface]
        if here and p.expected == (h.psn + 1) % MOD then p.expected = here.before end
      end
    end
    if h.new_start then
      stream.start = h.new_start
      for _, d in ipairs(stream.directions) do d.first, d.last, d.points = h.new_start, h.new_start, {} end
    end
  elseif h.probe then
    local record = stream.directions[side].probes[h.probe] or new_record(at)
    record.seen[at.iface] = { first = at.frame, last = at.frame, time = at.time }
    stream.directions[side].probes[h.probe], note.record = record, record
  end
  stream.seen = true
  return note
end

-- connectionless takes in a packet of RUDI, which belongs to no PDC.
function M:connectionless(h, at)
  local note = {}
  self.frames[at.frame] = note
  if h.kind == "rudi" then
    local key = end_key(h.src, h.dst, h.pkt_id)
    local record = self.rudi[key] or new_record(at)
    self.rudi[key], note.record = record, record
    local here = record.seen[at.iface]
    if here then
      note.retransmission_of, note.rto = here.first, at.time - here.time
    else
      if record.frame ~= at.frame then note[h.retx and "retransmission_of" or "copy_of"] = record.frame end
      here = { first = at.frame }
      record.seen[at.iface] = here
      note.unseen = h.retx
    end
    here.last, here.time = at.frame, at.time
  else
    local record = self.rudi[end_key(h.dst, h.src, h.pkt_id)]
    answers(note, record, at)
    if record and h.kind == "nack" then mark(record.nacked, at) end
  end
  return note
end

-- The data of a READ comes in requests of the other direction: these two link it to the READ.
function M.read_asked(note, message, frame)
  local reads = note.stream.directions[note.side].reads
  reads[message] = reads[message] or frame
end

function M.read_answered(note, message)
  note.read_in = note.stream.directions[3 - note.side].reads[message]
end

return M
