local counter = KEYS[1]
local leases = KEYS[2]
local waiting = KEYS[3]
local permits = ARGV[1]
local leaseMs = ARGV[2]
local markMs = ARGV[3]
local channel = ARGV[4]
local ofAll = ARGV[5]
if not string.find(markMs, '^%d+$') or #markMs > 15 then return redis.error_reply('LOCKARG markMs is not a whole number') end
markMs = tonumber(markMs)
if not string.find(ofAll, '^%d+$') or #ofAll > 15 then return redis.error_reply('LOCKARG ofAll is not a whole number') end
ofAll = tonumber(ofAll)
local function announce(channel, message)
  local receivers = redis.pcall('publish', channel, message)
  return type(receivers) ~= 'table' and receivers
end
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

local free = redis.call('get', counter)
if free then
  local isWhole = free == '0' or string.find(free, '^%-?[1-9]%d*$')
  if not isWhole or #free > 15 then
    return redis.error_reply('LOCKSTATE it holds something that is no count')
  end
  free = tonumber(free)
end
local ends = redis.call('zrange', leases, 0, 0, 'withscores')[2]

local missing = #ids
local present = {}
if ends and redis.call('zscore', leases, ids[1]) then
  for i = 1, #ids do
    local ends = tonumber(redis.call('zscore', leases, ids[i]) or 0)
    if ends > now then
      missing = missing - 1
      present[i] = ends
    end
  end
end
local isNew = not free and ofAll > 0
if isNew then free = ofAll - redis.call('zcard', leases) end
if free and missing > free then
  local capacity = free + redis.call('zcard', leases)
  if #ids > capacity then
    return redis.error_reply(string.format('LOCKSTATE it has %.0f permits in all, and %.0f were requested at once', capacity, #ids))
  end
end
if isNew then redis.call('set', counter, string.format('%.0f', free)) end

local expired = 0
if ends and tonumber(ends) <= now then
  expired = redis.call('zcount', leases, '-inf', string.format('%.0f', now))
  local some = math.min(expired, 10000)
  -- The counter comes first: a permit that is in neither place would be lost. This removes nothing,
  -- but with its memory full, Redis allows INCRBY only after another write.
  redis.call('zrem', leases, '')
  if free then free = redis.call('incrby', counter, some) end
  local removed = redis.pcall('zremrangebyrank', leases, 0, some - 1)
  if type(removed) == 'table' then
    if free then redis.call('decrby', counter, some) end
    return removed
  end
  if some < expired then return 'unfinished' end
  ends = redis.call('zrange', leases, 0, 0, 'withscores')[2]
end
local me = string.sub(permits, 1, 32)
local mark = redis.call('get', waiting)
local isMine = mark and string.sub(mark, 1, 32) == me
local reserved = mark and not isMine and tonumber(string.sub(mark, 34)) or 0
if missing == 0 or free and free - missing >= reserved then
  if isMine then redis.call('del', waiting) end
  
local entries = {}
for i = 1, #ids do
  -- Never shorter: an old attempt that arrives late must not undo a renewal.
  entries[2 * i - 1] = string.format('%.0f', math.max(now + tonumber(leaseMs), present[i] or 0))
  entries[2 * i] = ids[i]
end
local pttl = redis.call('pttl', counter)
local added = redis.call('zadd', leases, unpack(entries))
local expiry = pttl > 0 and redis.pcall('pexpire', leases, pttl)
if added > 0 then
  local counted = type(expiry) == 'table' and expiry or redis.pcall('decrby', counter, added)
  -- A user without the right to count, or to expire, must not hold permits that the counter
  -- ignores.
  if type(counted) == 'table' then
    redis.call('zrem', leases, unpack(ids))
    return counted
  end
  free = counted
end
  if free and free > 0 and (isMine or isNew or expired > 0) then announce(channel, string.format('%.0f', math.min(free, 2147483647))) end
  return 1
end
if markMs > 0 and #ids > 1 and (isMine or not mark) then
  -- Memory may be full: without its mark, the waiter still acquires by chance.
  redis.pcall('set', waiting, me .. ':' .. #ids, 'px', markMs)
end
if free and free > 0 and (isNew or expired > 0) then announce(channel, string.format('%.0f', math.min(free, 2147483647))) end
local left = -1
if ends and tonumber(ends) < 922337203685477 then left = tonumber(ends) - now end
return {left, not free and 4 or nil}