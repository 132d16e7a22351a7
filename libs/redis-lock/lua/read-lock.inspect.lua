local lock = KEYS[1]
local prefix = KEYS[2]
local mode = redis.call('hget', lock, 'mode')
if mode ~= 'read' and mode ~= 'write' then
  if mode or redis.call('exists', lock) == 1 then
    return redis.error_reply('LOCKSTATE it holds something that is no read-write lock')
  end
  mode = nil
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
if not mode then return {0} end
local answer, isHeld = {0}, false
local fields = redis.call('hgetall', lock)
for i = 1, #fields, 2 do
  local isReader = string.find(fields[i], ':%-?%d+$')
  local left = isReader and leaseOf(fields[i], fields[i + 1]) or 0
  if left > 0 then
    answer[1] = math.max(answer[1], left)
    answer[#answer + 1] = fields[i]
    answer[#answer + 1] = fields[i + 1]
  end
  isHeld = isHeld or isReader or string.find(fields[i], ':%-?%d+:write$')
end
if not isHeld then
  return redis.error_reply('LOCKSTATE it holds something that is no read-write lock')
end
return answer