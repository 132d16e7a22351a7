local leases = KEYS[1]
local permits = ARGV[1]
local leaseMs = ARGV[2]
if not string.find(leaseMs, '^[1-9]%d*$') or #leaseMs > 15 then
  return redis.error_reply('LOCKARG leaseMs is not a whole number above 0')
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
local ends = redis.call('zscore', leases, ids[1])
local remaining = 0
if ends then remaining = math.max(0, tonumber(ends) - now) end
if ends and tonumber(ends) >= 922337203685477 then remaining = -1 end
if remaining == 0 then return 0 end
redis.call('zadd', leases, 'xx', string.format('%.0f', now + tonumber(leaseMs)), ids[1])
return 1