local ping = KEYS[1]
redis.call('set', ping, '', 'px', 1)
return 1