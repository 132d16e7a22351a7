import type {
  AcquireAnswer,
  AcquireTerms,
  ReleaseAnswer,
  Owned,
  Renewal,
} from '../../core/holding/protocol.js';
import type { RedisConnection, Reply } from '../../core/redis/connection.js';
import { merged } from '../lua/answers.js';
import { FORGET } from '../lua/once-only.js';
import {
  LEASE_ALONE,
  RELEASE_ALONE,
  READ_ACQUIRE_ALONE,
  READ_RENEW_ALONE,
} from './alone.scripts.js';
import { channelOf, readerLeaseKey, writerOf } from './footprint.js';

/** The steps of a lock by scripts of one key each, while its slot is moving. */

/** The lease comes first: a reader without one counts as dead. */
export async function acquireReadingAlone(
  connection: RedisConnection,
  { key, owner, companion = '' }: Owned,
  { leaseTimeMs: leaseMs, minReplicas }: AcquireTerms,
  holdCount: number,
): Promise<Reply<AcquireAnswer>> {
  const lease = readerLeaseKey(key, owner, holdCount);
  const leased = await connection.run(LEASE_ALONE, [lease], [leaseMs, 1], minReplicas);
  const args = [owner, holdCount, leaseMs, companion];
  const entered = await connection.run(READ_ACQUIRE_ALONE, [key], args, minReplicas);
  if (entered.value.kind !== 'granted') await forgetLeases(connection, [lease]);
  return merged([leased, entered], entered.value);
}

/** Releases the lock before it deletes the leases. Leases that remain expire by themselves. */
export async function releaseReadingAlone(
  connection: RedisConnection,
  { key, owner }: Owned,
  holdCount: number,
): Promise<Reply<ReleaseAnswer>> {
  const args = [owner, holdCount, channelOf(key)];
  const reply = await connection.run(RELEASE_ALONE, [key], args);
  const { answer, leases } = reply.value;
  if (holdCount === 0) {
    // A refused reader has one lease.
    const count = Math.max(1, leases);
    const keys = Array.from({ length: count }, (_, i) => readerLeaseKey(key, owner, i + 1));
    await forgetLeases(connection, keys);
  }
  return { ...reply, value: answer };
}

export async function releaseWritingAlone(
  connection: RedisConnection,
  { key, owner }: Owned,
): Promise<Reply<ReleaseAnswer>> {
  const args = [writerOf(owner), 0, channelOf(key)];
  const reply = await connection.run(RELEASE_ALONE, [key], args);
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
  { key, owner, renewMs: leaseMs }: Renewal,
  minReplicas: number,
): Promise<Reply<boolean>> {
  const locked = await connection.run(READ_RENEW_ALONE, [key], [owner, leaseMs], minReplicas);
  const renewing = Array.from({ length: locked.value }, (_, i) => {
    const lease = readerLeaseKey(key, owner, i + 1);
    return connection.run(LEASE_ALONE, [lease], [leaseMs, 0], minReplicas);
  });
  const leases = await Promise.all(renewing);
  const isAlive = leases.some(({ value }) => value);
  return merged([locked, ...leases], isAlive);
}

/** One key at a time: each may be on another node. Leases that stay expire by themselves. */
async function forgetLeases(connection: RedisConnection, leases: readonly string[]): Promise<void> {
  await Promise.allSettled(leases.map((lease) => connection.run(FORGET, [lease], [])));
}
