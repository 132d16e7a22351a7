local lock = KEYS[1]
local prefix = KEYS[2]
local leases = KEYS[3]
local token = KEYS[4]
local fairQueue = KEYS[5]
local fairTimeouts = KEYS[6]
local fairWaiting = KEYS[7]
local queue = KEYS[8]
local claims = KEYS[9]
local writeQueue = KEYS[10]
local writeClaims = KEYS[11]
local turn = KEYS[12]
local writers = KEYS[13]
local readers = KEYS[14]
local mark = KEYS[15]
local most = ARGV[1]
if not string.find(most, '^%d+$') or #most > 15 then return redis.error_reply('LOCKARG most is not a whole number') end
most = tonumber(most)
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local refused
local function ask(none, ...)
  local answer = redis.pcall(...)
  if type(answer) ~= 'table' or not answer.err then return answer end
  if not string.find(answer.err, 'WRONGTYPE', 1, true) then refused = refused or answer end
  return none
end

local lines = {}
-- A key may hold a number that no client can read: others may write to it as well.
local function whole(number)
  return string.format('%.0f', math.max(-1, math.min(tonumber(number) or 0, 9007199254740991)))
end
local function add(what, who, first, second)
  for _, part in ipairs({what, who, whole(first), whole(second)}) do lines[#lines + 1] = part end
end
-- The rest of a time (ms) that Redis has as its end.
local function rest(ends) return math.max(0, ends - now) end

local left = redis.call('pttl', lock)
local fields = ask(-1, 'hlen', lock)
local mode = fields > 0 and redis.call('hget', lock, 'mode')
local isFair = ask(0, 'llen', fairQueue) > 0
if mode == 'read' or mode == 'write' then
  
local isHeld = false
for _, field in ipairs(redis.call('hkeys', lock)) do
  isHeld = isHeld or string.find(field, mode == 'read' and ':%-?%d+$' or ':%-?%d+:write$') ~= nil
end
if not isHeld then
  return redis.error_reply('LOCKSTATE it holds something that is no read-write lock')
end
  
-- More holds than any reader has: a corrupt count must not stop Redis.
local MOST_HOLDS = 10000
-- The rest of a reader's longest lease (ms), 0 if it is dead, and the hold that has it.
local function leaseOf(reader, count)
  local longest, at = 0, 0
  for i = 1, math.min(tonumber(count) or 0, MOST_HOLDS) do
    local left = redis.call('pttl', prefix .. reader .. ':rwlock_timeout:' .. i)
    if left >= 0 and math.max(1, left) > longest then longest, at = math.max(1, left), i end
  end
  return longest, at
end
  local all, count = redis.call('hgetall', lock), 0
  for i = 1, #all, 2 do
    local isWriter = string.find(all[i], ':%-?%d+:write$')
    if isWriter or string.find(all[i], ':%-?%d+$') then
      count = count + 1
      if count <= most and isWriter then add('write', string.sub(all[i], 1, -7), all[i + 1], left)
      elseif count <= most then add('read', all[i], all[i + 1], (leaseOf(all[i], all[i + 1]))) end
    end
  end
  add('holders', '', count, 0)
elseif fields > 0 then
  
local holder = redis.call('hlen', lock) == 1 and redis.call('hkeys', lock)[1]
local isHeld = holder and string.find(holder, ':%-?%d+$')

if not (isHeld and string.find(redis.call('hget', lock, holder), '^%d+$')) then
  local isReadWrite = redis.call('hexists', lock, 'mode') == 1
  local what = isReadWrite and 'a read-write lock' or 'something that is no lock'
  return redis.error_reply('LOCKSTATE it holds ' .. what)
end
  add(isFair and 'fair' or 'lock', holder, redis.call('hget', lock, holder), left)
  add('holders', '', 1, 0)
elseif fields < 0 then
  
local number = redis.call('get', lock)
if number then
  local isWhole = number == '0' or string.find(number, '^%-?[1-9]%d*$')
  if not isWhole or #number > 15 then
    return redis.error_reply('LOCKSTATE it holds something that is no count')
  end
  number = tonumber(number)
end
  lines = {'count', '', string.format('%.0f', number), '0'}
end

local used = ask(0, 'zcard', leases)
if used > 0 then
  local expired = redis.call('zcount', leases, '-inf', string.format('%.0f', now))
  local held = redis.call('zrange', leases, expired, expired + most - 1, 'withscores')
  for i = 1, #held, 2 do
    local id = string.gsub(held[i], '.', function(byte)
      return string.format('%02x', string.byte(byte))
    end)
    local ends = tonumber(held[i + 1])
    add('semaphore', id, 1, ends >= 922337203685477 and -1 or rest(ends))
  end
  add('permits-used', '', used, expired)
end

local function line(what, queue, waiter)
  local length = ask(0, 'zcard', queue)
  if length == 0 then return end
  add('length', what, length, 0)
  local first = redis.call('zrange', queue, 0, most - 1, 'withscores')
  for i = 1, #first, 2 do add(what, first[i], waiter(first[i], tonumber(first[i + 1]))) end
end
local function claimIn(claims)
  return function(process, since)
    local claim = ask(false, 'hget', claims, process)
    local aliveUntil = claim and string.match(claim, '^%d+ (%d+) ')
    return math.max(0, now - since / 1000), aliveUntil and rest(aliveUntil) or -1
  end
end
local function remembered(_, till) return -1, rest(till) end
if isFair then
  add('length', 'fair-queue', redis.call('llen', fairQueue), 0)
  for _, owner in ipairs(redis.call('lrange', fairQueue, 0, most - 1)) do
    local record = ask(false, 'hget', fairWaiting, owner) or ''
    local life = ask(false, 'hget', fairWaiting, string.match(owner, '^[^:]*')) or ''
    local since = string.match(record, '^[%d+]+ (%d+)')
    -- A Java thread has only the time after which Redisson removes it.
    local ends = since and string.match(life, '^%d+') or ask(false, 'zscore', fairTimeouts, owner)
    local waited = since and math.max(0, now - since / 1000) or -1
    add('fair-queue', owner, waited, ends and rest(tonumber(ends)) or -1)
  end
end
line('processes', queue, claimIn(claims))
line('writing-processes', writeQueue, claimIn(writeClaims))
line('turn', turn, remembered)
line('writers', writers, remembered)
line('readers', readers, remembered)
local id, wanted = string.match(ask(false, 'get', mark) or '', '^(%x+):(%d+)$')
if id then
  add('length', 'mark', 1, 0)
  add('mark', id, wanted, redis.call('pttl', mark))
end
local fence = ask(false, 'get', token)
if fence then add('token', fence, 0, 0) end
return refused or lines