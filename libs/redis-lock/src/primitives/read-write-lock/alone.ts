import type {
  AcquireAnswer,
  AcquireRequest,
  ReleaseAnswer,
  OwnerId,
  Renewal,
} from '../../core/holding/protocol.js';
import type { RedisConnection, Reply } from '../../core/redis/connection.js';
import { FORGET } from '../../core/once-only.js';
import {
  LEASE_ALONE,
  RELEASE_ALONE,
  READ_ACQUIRE_ALONE,
  READ_RENEW_ALONE,
} from './alone.scripts.js';
import { channelOf, readersPrefix, writerOf } from './read-write-hash.js';

/** The steps of a lock by scripts of one key each, while its slot is on its way. */

/** First the lease: a reader without one is taken for dead. */
export async function acquireReadingAlone(
  connection: RedisConnection,
  key: string,
  owner: OwnerId,
  request: AcquireRequest,
): Promise<Reply<AcquireAnswer>> {
  const { holdCount, leaseTimeMs: leaseMs, companion = '', minReplicas } = request;
  const lease = leaseKey(key, owner, holdCount);
  const leased = await connection.run(LEASE_ALONE, { lease }, { leaseMs, creates: 1 }, minReplicas);
  const args = { owner, holdCount, leaseMs, companion };
  const entered = await connection.run(READ_ACQUIRE_ALONE, { lock: key }, args, minReplicas);
  if (entered.value.kind !== 'granted') await forgetLeases(connection, [lease]);
  return merged([leased, entered], entered.value);
}

/** The lock first: what is left of the leases then ends by itself at the latest. */
export async function releaseReadingAlone(
  connection: RedisConnection,
  key: string,
  owner: OwnerId,
  holdCount: number,
): Promise<Reply<ReleaseAnswer>> {
  const args = { field: owner, holdCount, channel: channelOf(key) };
  const reply = await connection.run(RELEASE_ALONE, { lock: key }, args);
  const { answer, leases } = reply.value;
  if (holdCount === 0) {
    // One that was refused has a lease, and no more.
    const count = Math.max(1, leases);
    const keys = Array.from({ length: count }, (_, i) => leaseKey(key, owner, i + 1));
    await forgetLeases(connection, keys);
  }
  return { ...reply, value: answer };
}

export async function releaseWritingAlone(
  connection: RedisConnection,
  key: string,
  owner: OwnerId,
  holdCount: number,
): Promise<Reply<ReleaseAnswer>> {
  const args = { field: writerOf(owner), holdCount, channel: channelOf(key) };
  const reply = await connection.run(RELEASE_ALONE, { lock: key }, args);
  return { ...reply, value: reply.value.answer };
}

export async function renewReadingAlone(
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
  { key, owner, leaseTimeMs: leaseMs }: Renewal,
  minReplicas: number,
): Promise<Reply<boolean>> {
  const args = { owner, leaseMs };
  const locked = await connection.run(READ_RENEW_ALONE, { lock: key }, args, minReplicas);
  const renewing = Array.from({ length: locked.value }, (_, i) => {
    const lease = leaseKey(key, owner, i + 1);
    return connection.run(LEASE_ALONE, { lease }, { leaseMs, creates: 0 }, minReplicas);
  });
  const leases = await Promise.all(renewing);
  const isAlive = leases.some(({ value }) => value);
  return merged([locked, ...leases], isAlive);
}

/** Each alone, as every one may be elsewhere. Those that stay end by themselves. */
async function forgetLeases(connection: RedisConnection, leases: readonly string[]): Promise<void> {
  await Promise.allSettled(leases.map((lease) => connection.run(FORGET, [lease], [])));
}

function leaseKey(key: string, owner: OwnerId, holdCount: number): string {
  return `${readersPrefix(key)}${owner}:rwlock_timeout:${String(holdCount)}`;
}

function merged<R>(replies: readonly Omit<Reply<unknown>, 'value'>[], value: R): Reply<R> {
  return {
    value,
    sentAt: Math.min(...replies.map(({ sentAt }) => sentAt)),
    resent: replies.some(({ resent }) => resent),
  };
}
