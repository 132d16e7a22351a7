import { randomUUID } from 'node:crypto';

import { queueKeys } from '../../../libs/redis-lock/src/primitives/lua/hand-off.js';
import type { RedisFixture } from '../../support/redis-server.js';

/** A killed process has left this claim in the queue, as CLAIM would have written it. */
const STAND_IN_LINE = `
local queue, claims = KEYS[1], KEYS[2]
local process, aliveMs, terms = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local time = redis.call('time')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
redis.call('zadd', queue, string.format('%.0f', now), process)
redis.call('hset', claims, process, string.format('1 %.0f ', now / 1000 + aliveMs) .. terms)
for _, key in ipairs(KEYS) do
  if redis.call('pttl', key) < aliveMs then redis.call('pexpire', key, aliveMs) end
end`;

/** For so long it is taken for alive. */
const ALIVE_MS = 5_000;

/** The dead process gets no message of its grant, which lasts for so long. */
export async function queueDeadProcess(
  { admin }: RedisFixture,
  lock: string,
  leaseMs: number,
): Promise<void> {
  const { queue, claims } = queueKeys(lock);
  const terms = `${randomUUID().replaceAll('-', '')} ${String(leaseMs)} s`;
  await admin.eval(STAND_IN_LINE, 2, queue, claims, randomUUID(), ALIVE_MS, terms);
}
