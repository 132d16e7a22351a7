import type { Renewal } from '../../core/holding/protocol.js';
import type { RedisConnection, Reply } from '../../core/redis/connection.js';
import { defineScript } from '../../core/redis/script.js';
import { merged } from '../lua/answers.js';
import { CHECK_LEASE, orElse } from '../lua/hash-lock.js';
import { readerLeaseKey } from './footprint.js';

/**
 * Renews the lock for a reader. Returns the number of its leases, 0 if it does not read. A corrupt
 * number must not stop Redis: 10,000 is more than any reader has.
 */
export const READ_RENEW_APART = defineScript({
  name: 'read-lock.renew-apart',
  keys: ['lock'],
  args: ['owner', 'leaseMs'],
  body: `
${CHECK_LEASE}
local held = redis.pcall('hget', lock, owner)
${orElse('false')}
if not held then return 0 end
if redis.call('pttl', lock) < tonumber(leaseMs) then redis.call('pexpire', lock, leaseMs) end
return math.min(tonumber(held) or 0, 10000)`,
  reply: (raw) => (typeof raw === 'number' ? raw : undefined),
});

/** Renews a reader's lease. Returns whether it exists. */
export const LEASE_APART = defineScript({
  name: 'read-lock.lease-apart',
  keys: ['lease'],
  args: ['leaseMs'],
  body: `
${CHECK_LEASE}
local left = redis.call('pttl', lease)
if left < 0 then return 0 end
if left < tonumber(leaseMs) then redis.call('pexpire', lease, leaseMs) end
return 1`,
  reply: (raw) => (raw === 1 || raw === 0 ? raw === 1 : undefined),
});

/**
 * By scripts of one key each, while the slot is moving. The lock and a reader's leases may be on
 * different nodes.
 */
export async function renewApart(
  connection: RedisConnection,
  renewals: readonly Renewal[],
  minReplicas: number,
): Promise<Reply<readonly boolean[]>> {
  const renewing = renewals.map((renewal) => renewOne(connection, renewal, minReplicas));
  const replies = await Promise.all(renewing);
  const answers = replies.map(({ value }) => value);
  return merged(replies, answers);
}

async function renewOne(
  connection: RedisConnection,
  { key, owner, renewMs: leaseMs }: Renewal,
  minReplicas: number,
): Promise<Reply<boolean>> {
  const locked = await connection.run(READ_RENEW_APART, [key], [owner, leaseMs], minReplicas);
  const renewing = Array.from({ length: locked.value }, (_, i) => {
    const lease = readerLeaseKey(key, owner, i + 1);
    return connection.run(LEASE_APART, [lease], [leaseMs], minReplicas);
  });
  const leases = await Promise.all(renewing);
  const isAlive = leases.some(({ value }) => value);
  return merged([locked, ...leases], isAlive);
}
