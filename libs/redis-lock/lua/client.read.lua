local record = KEYS[1]
return redis.call('get', record) or ''