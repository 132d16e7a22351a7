local lock = KEYS[1]
local mode = redis.call('hget', lock, 'mode')
if mode ~= 'read' and mode ~= 'write' then
  if mode or redis.call('exists', lock) == 1 then
    return redis.error_reply('LOCKSTATE it holds something that is no read-write lock')
  end
  mode = nil
end
if not mode then return {0} end

local isHeld = false
for _, field in ipairs(redis.call('hkeys', lock)) do
  isHeld = isHeld or string.find(field, mode == 'read' and ':%-?%d+$' or ':%-?%d+:write$') ~= nil
end
if not isHeld then
  return redis.error_reply('LOCKSTATE it holds something that is no read-write lock')
end
local answer = {0}
for _, field in ipairs(redis.call('hkeys', lock)) do
  if string.find(field, ':%-?%d+$') then
    answer[1] = redis.call('pttl', lock)
    answer[#answer + 1] = field
    answer[#answer + 1] = redis.call('hget', lock, field)
  end
end
return answer