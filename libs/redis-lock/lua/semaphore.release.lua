local counter = KEYS[1]
local leases = KEYS[2]
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

local free = redis.call('get', counter)
if free then
  local isWhole = free == '0' or string.find(free, '^%-?[1-9]%d*$')
  if not isWhole or #free > 15 then
    return redis.error_reply('LOCKSTATE it holds something that is no count')
  end
  free = tonumber(free)
end
local removed = redis.call('zrem', leases, unpack(ids))
if removed > 0 and free then
  local counted = redis.pcall('incrby', counter, removed)
  -- A user without the right to count must not lose them. As expired ones, they are free for the
  -- next acquisition.
  if type(counted) == 'table' then
    local entries = {}
    for i = 1, removed do
      entries[2 * i - 1] = '1'
      entries[2 * i] = ids[i]
    end
    redis.call('zadd', leases, unpack(entries))
    return counted
  end
  free = counted
end

local isTold = true
if free and free > 0 and (removed > 0) then isTold = announce(channel, string.format('%.0f', math.min(free, 2147483647))) end
if removed < #ids then return 'absent' end
return isTold and 'done' or 'unannounced'