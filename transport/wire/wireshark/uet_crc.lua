-- CRC-32C (Castagnoli): reflected polynomial 0x82F63B78, start and end 0xFFFFFFFF.
-- Four bytes a step: what this costs decides how fast a file opens.
-- No operator of the language does it in all versions: Wireshark to 4.2 brings Lua 5.2, later ones 5.4. Both have bit and Struct.

local bxor, band, rshift = bit.bxor, bit.band, bit.rshift
local read = Struct.unpack

local step = {} -- the remainder of a byte
for i = 0, 255 do
  local r = i
  for _ = 1, 8 do
    r = band(r, 1) == 1 and bxor(rshift(r, 1), 0x82F63B78) or rshift(r, 1)
  end
  step[i] = r
end

local function byte_more(crc, byte) return bxor(rshift(crc, 8), step[band(bxor(crc, byte), 0xFF)]) end

-- What the lower and the upper half of a word of four bytes, xored with the remainder so far, make of it.
-- The halves of a signed word are from 0 to 65535 and from -32768 to 32767.
local low, high = {}, {}
local behind = { {}, {}, {}, {} } -- the remainder of a byte with 0 to 3 zeros behind it
for i = 0, 255 do
  local r = i
  for n = 1, 4 do
    r = byte_more(r, 0)
    behind[n][i] = r
  end
end
for b = 0, 255 do
  for a = 0, 255 do
    local half = b * 256 + a
    low[half] = bxor(behind[4][a], behind[3][b])
    high[half < 32768 and half or half - 65536] = bxor(behind[2][a], behind[1][b])
  end
end

local function string_more(crc, s)
  local n, at = #s, 1
  while at + 31 <= n do
    local a, b, c, d, e, f, g, h = read("<I4I4I4I4I4I4I4I4", s, at)
    local x = bxor(crc, a)
    local l = x % 65536
    x = bxor(low[l], high[(x - l) / 65536], b); l = x % 65536
    x = bxor(low[l], high[(x - l) / 65536], c); l = x % 65536
    x = bxor(low[l], high[(x - l) / 65536], d); l = x % 65536
    x = bxor(low[l], high[(x - l) / 65536], e); l = x % 65536
    x = bxor(low[l], high[(x - l) / 65536], f); l = x % 65536
    x = bxor(low[l], high[(x - l) / 65536], g); l = x % 65536
    x = bxor(low[l], high[(x - l) / 65536], h); l = x % 65536
    crc = bxor(low[l], high[(x - l) / 65536])
    at = at + 32
  end
  for i = at, n do crc = byte_more(crc, s:byte(i)) end
  return crc
end

local M = {}

-- of returns the checksum of the strings one after the other.
function M.of(parts)
  local crc = 0xFFFFFFFF
  for _, s in ipairs(parts) do crc = string_more(crc, s) end
  return bxor(crc, 0xFFFFFFFF) % 4294967296
end

return M
