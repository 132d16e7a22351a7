local record = KEYS[1]
local process = ARGV[1]
local ttlMs = ARGV[2]
if not string.find(ttlMs, '^%d+$') or #ttlMs > 15 then return redis.error_reply('LOCKARG ttlMs is not a whole number') end
ttlMs = tonumber(ttlMs)
redis.call('set', record, process, 'px', ttlMs)
return 1