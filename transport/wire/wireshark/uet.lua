-- Wireshark dissector for Ultra Ethernet Transport (UE Specification 1.0.x): UDP port 4793, or native IP with an entropy header.
-- Copy this file and the uet_*.lua beside it into Wireshark's folder of personal Lua plugins; README.md says more.
--
--   uet.lua         encapsulation, trailer, trimming, TSS, preferences
--   uet_pds.lua     packet delivery headers          uet_codes.lua    names of code points, from package transport/wire
--   uet_ses.lua     semantic headers                 uet_fields.lua   what can be filtered
--   uet_flow.lua    what follows from earlier packets uet_crc.lua     CRC-32C

local own_file = __FILE__ or debug.getinfo(1, "S").source:gsub("^@", "")
local folder = own_file:match("^(.*[/\\])") or ""
local function part(name) return assert(loadfile(folder .. name))() end

-- Wireshark brings a dissector of its own from 5.0 on (4.7 while in development). Ours then leaves it the name and the ports.
local alone = not pcall(Dissector.get, "uet") or not Dissector.get("uet")
local name = alone and "uet" or "weft_uet"

local codes, crc, Flow = part("uet_codes.lua"), part("uet_crc.lua"), part("uet_flow.lua")
local fields = part("uet_fields.lua")(name, codes)
local f, e = fields.f, fields.e
local pds = part("uet_pds.lua")({ f = f, e = e, codes = codes, diff = Flow.diff })
local ses = part("uet_ses.lua")({ f = f, e = e, codes = codes, flow = Flow })

local uet = Proto(name, "Ultra Ethernet Transport")
local native = Proto(name .. "_ip", "Ultra Ethernet Transport, entropy header")
uet.fields, uet.experts = fields.list, fields.experts

local AUTO, MOST_FIRST, LEAST_FIRST, NO_TRAILER = 0, 1, 2, 3
uet.prefs.ports = Pref.range("UDP ports", alone and "4793" or "", "Destination ports of UET over UDP", 65535)
uet.prefs.protocol = Pref.uint("IP protocol number", alone and 253 or 0, "Protocol number of UET over native IP; 0 for none")
uet.prefs.crc = Pref.enum("CRC-32C trailer", AUTO, "Whether packets end with a CRC-32C, and in which order its bytes are sent", {
  { 1, "Either order, or none", AUTO }, { 2, "Most significant byte first", MOST_FIRST },
  { 3, "Least significant byte first", LEAST_FIRST }, { 4, "No trailer", NO_TRAILER },
}, false)
uet.prefs.check = Pref.bool("Check the CRC-32C", true, "Without, large files open faster")
uet.prefs.first = Pref.bool("Before the owner of the source port", true, "Set the UDP preference to try heuristic dissectors first, because entropy values look like ports of other protocols")
uet.prefs.trimmed = Pref.string("DSCP of trimmed packets", "", "Code points that switches give to packets they trimmed, as 16,18; a UDP length beyond the packet says it without")
uet.prefs.relative = Pref.bool("Relative PSNs in the Info column", true, "Count PSNs from the start of the PDC where it is known")

local flow, verdicts = Flow.new(), {}
local trimmed_dscp = {}

-- Fields of the layers around, which the checksum covers or which say more about the packet.
local ip, ip6 = Field.new("ip"), Field.new("ipv6")
local ip_dscp, ip6_dscp = Field.new("ip.dsfield.dscp"), Field.new("ipv6.tclass.dscp")
local udp_src, udp_dst, udp_length = Field.new("udp.srcport"), Field.new("udp.dstport"), Field.new("udp.length")
local frame_number, interface, port = Field.new("frame.number"), Field.new("frame.interface_id"), Field.new("frame.interface_name")
local about = Field.new("frame.interface_description")
local icmp, icmp6 = Field.new("icmp"), Field.new("icmpv6")

-- inner returns the field of the innermost layer that has it.
local function inner(field)
  local all = { field() }
  return all[#all]
end

-- later returns the one that lies further back in the frame: of IPv4 and IPv6 the inner one.
local function later(a, b)
  if a and b then return a.offset > b.offset and a or b end
  return a or b
end

local function raw(info) return info and info.range:raw() or "" end

-- check compares the trailer once for a frame. It returns status, order, calculated value.
local BAD, GOOD, UNCHECKED, NONE = 0, 1, 2, 3
local function check(c, carrier)
  local n = c.n
  if uet.prefs.crc == NO_TRAILER then return { status = NONE } end
  if c.trimmed then return { status = NONE } end
  if c.blind or c.snapped or not uet.prefs.check or n < 4 then return { status = UNCHECKED } end
  local header = later(inner(ip), inner(ip6))
  if not header then return { status = UNCHECKED } end
  local from = header.name == "ip" and 12 or 8 -- the source address
  local value = crc.of({ header.range(from):raw(), carrier, c.tvb(0, n - 4):raw() })
  local verdict = { status = BAD, value = value }
  if uet.prefs.crc ~= LEAST_FIRST and c.tvb(n - 4, 4):uint() == value then
    verdict.status, verdict.order = GOOD, 0
  elseif uet.prefs.crc ~= MOST_FIRST and c.tvb(n - 4, 4):le_uint() == value then
    verdict.status, verdict.order = GOOD, 1
  end
  return verdict
end

local function trailer(c, verdict)
  local status = verdict.status
  if not c.snapped and status ~= NONE and c.full - c.n == 4 then
    local range = c.tvb(c.n, 4)
    local item = c.root:add(f["crc"], range, verdict.order == 1 and range:le_uint() or range:uint())
    if verdict.order then c.root:add(f["crc.order"], range, verdict.order):set_generated() end
    if status == BAD then
      c.root:add(f["crc.calculated"], range, verdict.value):set_generated()
      item:add_proto_expert_info(e.crc, string.format("Bad CRC-32C, calculated 0x%08x", verdict.value))
      c.mark("[Bad CRC]")
    end
  end
  c.root:add(f["crc.status"], c.tvb(0, 0), status):set_generated()
end

-- secured shows the TSS header; what it protects stays opaque.
local function secured(c)
  local size = bit.band(c.tvb(0, 1):uint(), 0x04) ~= 0 and 16 or 12
  local least = c.snapped and size or size + 16
  if c.n < least then return "TSS header and integrity check value need " .. size + 16 .. " bytes" end
  local tree = c.root:add(f["tss"], c.tvb(0, size))
  tree:add(f["tss.type"], c.tvb(0, 1))
  tree:add(f["tss.sp"], c.tvb(0, 1))
  tree:add(f["tss.an"], c.tvb(0, 1))
  tree:add(f["tss.sdi"], c.tvb(1, 3))
  if size == 16 then tree:add(f["tss.ssi"], c.tvb(4, 4)) end
  tree:add(f["tss.epoch"], c.tvb(size - 8, 2))
  tree:add(f["tss.counter"], c.tvb(size - 6, 6))
  local closed = c.n - least
  if closed > 0 then c.root:add(f["tss.encrypted"], c.tvb(size, closed)) end
  if not c.snapped then c.root:add(f["tss.icv"], c.tvb(c.n - 16, 16)) end
  c.info[1] = string.format("TSS SDI=%d", c.tvb(1, 3):uint())
  if size == 16 then c.info[2] = string.format("SSI=%d", c.tvb(4, 4):uint()) end
  c.info[#c.info + 1] = string.format("Epoch=%d Counter=%s Len=%d", c.tvb(size - 8, 2):uint(), tostring(c.tvb(size - 6, 6):uint64()), c.full - 16 - size)
end

-- payload shows what is behind the headers, from byte `at`; want is what the headers announce, if they do.
local function payload(c, at, want)
  local rest = math.max(c.n - at, 0)
  if c.trimmed then return end
  local item = rest > 0 and c.root:add(f["payload"], c.tvb(at, rest)) or c.root
  if c.snapped then rest = want or 0 end
  if rest > 0 then
    c.info[#c.info + 1] = string.format("Len=%d", rest)
    item = item:add(f["payload.length"], c.tvb(0, 0), rest):set_generated()
  end
  if want and want ~= rest then
    item:add_proto_expert_info(e.length, string.format("%d bytes of payload, but the headers announce %d", rest, want))
  end
end

-- delivered reads PDS, SES and payload, and returns what is wrong, if anything is.
local function delivered(c, verdict)
  local h, wrong = pds.read(c, c.root, 0)
  if not h then return wrong end
  if (not wrong or h.cut) and not c.in_error then pds.analyse(c, h, flow) end
  pds.describe(c, h)
  pds.judge(h)
  if h.lost then return wrong end
  local at, want, also = ses.read(c, c.root, h.size, h)
  local rest = c.n - at
  if verdict.status == BAD and uet.prefs.crc == AUTO and rest == want then
    verdict.status = NONE -- the lengths leave no room for a trailer
  elseif not c.snapped and (verdict.status == BAD and c.n == c.full and rest >= 4 or verdict.status == UNCHECKED and rest >= 4 and rest ~= want) then
    c.n = c.n - 4
  end
  payload(c, at, want)
  return wrong or also
end

-- partial tells whether an interface sees only some packets of a direction: in captures that weft writes, the one for dropped
-- packets, and links between switches.
local function partial()
  local at, what = inner(port), inner(about)
  if not at then return false end
  local link = what and what.value:find("^far end of the link")
  return at.value == "dropped" or link and not (at.value:find("^h%d+%-") or at.value:find("%-h%d+$"))
end

local function dissect(tvb, n, pinfo, root, entropy, carrier, announced)
  pinfo.cols.protocol = "UET"
  local marks = {}
  local captured = tvb:captured_len()
  local dscp = later(inner(ip_dscp), inner(ip6_dscp))
  local c = {
    tvb = tvb, n = math.min(n, captured), full = n, snapped = captured < n, root = root:add(uet, tvb()), info = {}, first = not pinfo.visited, relative = uet.prefs.relative,
    src = flow:host(pinfo.net_src), dst = flow:host(pinfo.net_dst), blind = not frame_number(), in_error = inner(icmp) or inner(icmp6),
    at = { frame = pinfo.number, time = pinfo.rel_ts, iface = inner(interface) and inner(interface).value or 0,
      partial = partial(),
    },
    trimmed = announced > n or (dscp and trimmed_dscp[dscp.value] or false),
    mark = function(text) marks[#marks + 1] = text end,
  }
  if entropy then c.root:add(f["entropy"], tvb(0, 0), entropy):set_generated() end
  if c.trimmed then
    c.root:add(f["trimmed"], tvb(0, 0), true):set_generated():add_proto_expert_info(e.trimmed, "Trimmed by a switch")
    c.mark("[Trimmed]")
  end
  local wrong
  if captured >= 12 and math.floor(tvb(0, 1):uint() / 8) == 1 then
    wrong = secured(c)
  else
    local verdict = verdicts[c.at.frame]
    if not verdict then
      verdict = check(c, carrier)
      if not c.blind then verdicts[c.at.frame] = verdict end
    end
    if verdict.status == GOOD or verdict.status == BAD and uet.prefs.crc ~= AUTO then c.n = n - 4 end
    wrong = delivered(c, verdict)
    trailer(c, verdict)
  end
  if wrong and (c.snapped or c.trimmed) then
    c.mark(c.trimmed and "[Headers cut]" or "[Cut by the capture]")
  elseif wrong then
    c.root:add_proto_expert_info(e.malformed, "Malformed: " .. wrong)
    c.mark("[Malformed: " .. wrong .. "]")
  end
  local text = table.concat(c.info, " ")
  if #marks > 0 then text = table.concat(marks, " ") .. " " .. text end
  pinfo.cols.info = text
  return n
end

-- The entropy header and the bytes behind it that were sent, while the layer behind it is read.
local behind

function uet.dissector(tvb, pinfo, root)
  if tvb:captured_len() == 0 then return 0 end
  local ip_next, entropy = behind, nil
  behind = nil
  local sent = ip_next and ip_next.sent or tvb:reported_len()
  local carrier, announced = ip_next and ip_next.header or "", sent
  local length = not ip_next and inner(udp_length)
  if length then
    carrier = raw(inner(udp_src)) .. raw(inner(udp_dst)) .. raw(length) .. "\0\0"
    announced, entropy = length.value - 8, inner(udp_src).value
  end
  return dissect(tvb, sent, pinfo, root, entropy, carrier, announced)
end

function native.dissector(tvb, pinfo, root)
  if tvb:captured_len() < 5 then return 0 end
  local tree = root:add(native, tvb(0, 4))
  tree:add(f["entropy"], tvb(0, 2))
  tree:add(f["entropy.reserved"], tvb(2, 2))
  behind = { header = tvb(0, 4):raw(), sent = tvb:reported_len() - 4 }
  return 4 + Dissector.get(name):call(tvb(4):tvb(), pinfo, root)
end

function uet.init()
  flow, verdicts = Flow.new(), {}
end

-- register puts the dissectors where the preferences say.
local udp_table, ip_table = DissectorTable.get("udp.port"), DissectorTable.get("ip.proto")
local ports, protocol, is_port = "", 0, {}
local function register()
  if ports ~= "" then udp_table:remove(ports, uet) end
  if protocol ~= 0 then ip_table:remove(protocol, native) end
  ports, protocol, is_port = uet.prefs.ports, uet.prefs.protocol, {}
  if ports ~= "" then udp_table:add(ports, uet) end
  if protocol ~= 0 then ip_table:add(protocol, native) end
  for from, to in ports:gmatch("(%d+)%-?(%d*)") do
    for p = tonumber(from), tonumber(to) or tonumber(from) do is_port[p] = true end
  end
  if uet.prefs.first and ports ~= "" then set_preference("udp.try_heuristic_first", true) end
  trimmed_dscp = {}
  for code in uet.prefs.trimmed:gmatch("%d+") do trimmed_dscp[tonumber(code)] = true end
  verdicts = {}
end
uet.prefs_changed = register
register()
udp_table:add_for_decode_as(uet)
ip_table:add_for_decode_as(native)

-- The source port is an entropy value, and may be a port of another protocol. UDP asks the owner of the lower port first;
-- only heuristic dissectors can come before, where a preference of UDP lets them.
uet:register_heuristic("udp", function(tvb, pinfo, root)
  if not is_port[pinfo.dst_port] then return false end
  uet.dissector(tvb, pinfo, root)
  return true
end)

-- Fields of other layers are there only when a tree is built; a tap with a filter sees to that in Wireshark's first pass.
Listener.new("frame", "frame").packet = function() end

