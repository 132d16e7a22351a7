local lock = KEYS[1]
if redis.call('exists', lock) == 0 then return {0} end

local holder = redis.call('hlen', lock) == 1 and redis.call('hkeys', lock)[1]
local isHeld = holder and string.find(holder, ':%-?%d+$')

if not (isHeld and string.find(redis.call('hget', lock, holder), '^%d+$')) then
  local isReadWrite = redis.call('hexists', lock, 'mode') == 1
  local what = isReadWrite and 'a read-write lock' or 'something that is no lock'
  return redis.error_reply('LOCKSTATE it holds ' .. what)
end
return {redis.call('pttl', lock), holder, redis.call('hget', lock, holder)}