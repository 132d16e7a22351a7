import { WRITE_TOKEN } from '../lua/fencing-token.js';
import { defineScript } from '../../core/redis/script.js';

/** The identity of a server, from INFO. */
export interface ServerIdentity {
  readonly runId: string;
  /** By its wall clock, which may have been set back since: 0 and less mean nothing. */
  readonly uptimeMs: number;
  readonly isMaster: boolean;
  readonly isCluster: boolean;
}

export const IDENTIFY = defineScript({
  name: 'red-lock.identify',
  keys: [],
  args: [],
  body: `
local server = redis.call('info', 'server')
local replication = redis.call('info', 'replication')
local runId = string.match(server, 'run_id:(%w+)')
local uptime = string.match(server, 'uptime_in_seconds:(%-?%d+)')
local role = string.match(replication, 'role:(%w+)')
local isCluster = string.find(server, '_mode:cluster', 1, true) and 1 or 0
return {runId or '', uptime or '0', role or '', isCluster}`,
  reply: (raw): ServerIdentity | undefined => {
    if (typeof raw !== 'object') return undefined;
    const [runId, uptime, role, isCluster] = raw;
    if (typeof runId !== 'string' || runId === '') return undefined;
    // Both ends of an uptime are whole seconds: the true one may be a second less.
    const uptimeMs = Math.max(0, Number(uptime) - 1) * 1_000;
    return { runId, uptimeMs, isMaster: role === 'master', isCluster: isCluster === 1 };
  },
});

/**
 * Takes back a useless vote. It announces nothing: otherwise all waiters would try at once, and
 * split the votes again.
 */
export const GIVE_BACK = defineScript({
  name: 'red-lock.give-back',
  keys: ['lock'],
  args: ['owner'],
  body: `
if redis.call('hexists', lock, owner) == 0 then return 0 end
return redis.call('del', lock)`,
  reply: (raw) => (typeof raw === 'number' ? raw : undefined),
});

/** Raises a node's token to one of other nodes, so that its next one is larger. */
export const RAISE_TOKEN = defineScript({
  name: 'red-lock.raise-token',
  keys: ['token'],
  args: ['fence', 'tokenTtlMs'],
  numbers: ['tokenTtlMs'],
  body: `
if not string.find(fence, '^[1-9]%d*$') or #fence > 16 then
  return redis.error_reply('LOCKARG fence is not a token')
end
local known = redis.call('get', token)
if known and not string.find(known, '^%d+$') then
  return redis.error_reply('LOCKSTATE its fencing token is not a number')
end
if not known or tonumber(known) < tonumber(fence) then
  ${WRITE_TOKEN}
end
return 1`,
  reply: (raw) => raw === 1 || undefined,
});
