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
if mode == 'read' then return {0} end
local answer = {redis.call('pttl', lock)}
for _, field in ipairs(redis.call('hkeys', lock)) do
  if string.find(field, ':%-?%d+:write$') then
    answer[#answer + 1] = string.sub(field, 1, -7)
    answer[#answer + 1] = redis.call('hget', lock, field)
  end
end
return answer