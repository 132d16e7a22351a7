local leases = KEYS[1]
local permits = ARGV[1]
local channel = ARGV[2]
local function announce(channel, message)
  local receivers = redis.pcall('publish', channel, message)
  return type(receivers) ~= 'table' and receivers
end
local ids = {}
for id in string.gmatch(permits, '[^,]+') do
  if #id ~= 32 or string.find(id, '%X') then
    return redis.error_reply('LOCKARG a permit id has 32 hexadecimal digits')
  end
  ids[#ids + 1] = string.gsub(id, '%x%x', function(byte) return string.char(tonumber(byte, 16)) end)
end
if #ids == 0 then return redis.error_reply('LOCKARG there is no permit id') end

local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local entries = {}
for i = 1, #ids do
  local ends = redis.call('zscore', leases, ids[i])
  if ends and tonumber(ends) > now then
    entries[#entries + 1] = string.format('%.0f', now)
    entries[#entries + 1] = ids[i]
  end
end
if #entries == 0 then return 'absent' end
-- An empty text is no permit, so this removes nothing: with its memory full, Redis allows ZADD
-- only after another write.
redis.call('zrem', leases, '')
redis.call('zadd', leases, 'xx', unpack(entries))
local isTold = announce(channel, string.format('%.0f', #entries / 2))
if #entries < 2 * #ids then return 'absent' end
return isTold and 'done' or 'unannounced'