local lock = KEYS[1]
local owner = ARGV[1]
if redis.call('hexists', lock, owner) == 0 then return 0 end
return redis.call('del', lock)