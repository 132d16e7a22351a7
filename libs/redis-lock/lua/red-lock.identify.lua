local server = redis.call('info', 'server')
local replication = redis.call('info', 'replication')
local runId = string.match(server, 'run_id:(%w+)')
local uptime = string.match(server, 'uptime_in_seconds:(%-?%d+)')
local role = string.match(replication, 'role:(%w+)')
local isCluster = string.find(server, '_mode:cluster', 1, true) and 1 or 0
return {runId or '', uptime or '0', role or '', isCluster}