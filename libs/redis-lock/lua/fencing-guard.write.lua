local guarded = KEYS[1]
local fence = KEYS[2]
local token = ARGV[1]
local fenceTtlMs = ARGV[2]
local command = ARGV[3]
if not string.find(fenceTtlMs, '^%d+$') or #fenceTtlMs > 15 then return redis.error_reply('LOCKARG fenceTtlMs is not a whole number') end
fenceTtlMs = tonumber(fenceTtlMs)
if #ARGV > 7003 then return redis.error_reply('LOCKARG too many arguments') end
local function isToken(text)
  return string.find(text, '^[1-9]%d*$') and #text <= 16 and tonumber(text) <= 9007199254740991
end
if not isToken(token) then return redis.error_reply('LOCKARG the fencing token is not a token') end
local newest = redis.call('get', fence)
if newest and not isToken(newest) then
  return redis.error_reply('LOCKSTATE its newest fencing token is not a token')
end
if newest and tonumber(token) < tonumber(newest) then return 0 end
-- The token comes first: if Redis refused the token after the write, the write could not be
-- undone.
redis.call('set', fence, token, 'px', fenceTtlMs)
local written = redis.pcall(command, guarded, unpack(ARGV, 4))
local isRefused = type(written) == 'table' and written.err
-- SET answers false when its condition is not met. Sent again, NX finds the value of the first time.
local isUnmet = written == false
  and not (newest == token and redis.pcall('get', guarded) == ARGV[4])
if isRefused or isUnmet then
  -- Nothing was written, so the older token comes back. By SET alone: the user may have no right
  -- to DEL.
  if newest then
    redis.call('set', fence, newest, 'px', fenceTtlMs)
  else
    redis.call('set', fence, token, 'pxat', 1)
  end
  return isRefused and written or 2
end
return 1