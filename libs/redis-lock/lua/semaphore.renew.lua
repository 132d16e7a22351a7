local function idsOf(permits)
  
local ids = {}
for id in string.gmatch(permits, '[^,]+') do
  if #id ~= 32 or string.find(id, '%X') then
    return redis.error_reply('LOCKARG a permit id has 32 hexadecimal digits')
  end
  ids[#ids + 1] = string.gsub(id, '%x%x', function(byte) return string.char(tonumber(byte, 16)) end)
end
if #ids == 0 then return redis.error_reply('LOCKARG there is no permit id') end
  return ids
end
for i = 1, #KEYS do
  if not string.find(ARGV[2 * i], '^[1-9]%d*$') or #ARGV[2 * i] > 15 then
    return redis.error_reply('LOCKARG a lease is not a whole number')
  end
  local ids = idsOf(ARGV[2 * i - 1])
  if ids.err then return ids end
end

local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local answers = {}
for i = 1, #KEYS do
  local leaseEnd = now + tonumber(ARGV[2 * i])
  -- An empty text is no permit, so this removes nothing: with its memory full, Redis allows ZADD
  -- only after another write.
  local writable = redis.pcall('zrem', KEYS[i], '')
  if type(writable) == 'table' and not string.find(writable.err, 'WRONGTYPE', 1, true) then
    return writable
  end
  local isHeld = type(writable) ~= 'table'
  local entries = {}
  for _, id in ipairs(idsOf(ARGV[2 * i - 1])) do
    local ends = isHeld and redis.call('zscore', KEYS[i], id)
    if not ends then
      isHeld = false
      break
    end
    -- Never shorter: an old renewal that arrives late must not undo a longer one.
    if tonumber(ends) < leaseEnd then
      entries[#entries + 1] = string.format('%.0f', leaseEnd)
      entries[#entries + 1] = id
    end
  end
  if isHeld and #entries > 0 then redis.call('zadd', KEYS[i], 'xx', unpack(entries)) end
  answers[i] = isHeld and 1 or 0
end
return answers