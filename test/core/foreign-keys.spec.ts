import { describe, expect, it } from '@jest/globals';
import { expectUntouched, type ForeignKey } from '../support/foreign-keys.js';
import { useLockKinds } from '../support/lock-kinds.js';
import { eventually, FOREIGN_OWNER, useRedis } from '../support/set-up.js';

const WRITER = `${FOREIGN_OWNER}:write`;
const NO_LOCK: ForeignKey[] = [
  ['a string', (admin) => admin.set('a', 'stock')],
  ['a string with a TTL', (admin) => admin.set('a', 'stock', 'PX', 60_000)],
  ['a list', (admin) => admin.rpush('a', 'x', 'y')],
  ['a sorted set', (admin) => admin.zadd('a', 1, 'x')],
  ['a stream', (admin) => admin.xadd('a', '*', 'x', 'y')],
  ['the record of a product', (admin) => admin.hset('a', { name: 'phone', price: '99' })],
  ['a hash with one field', (admin) => admin.hset('a', { stock: '10' })],
];
const NO_HASH_LOCK: ForeignKey[] = [
  ...NO_LOCK,
  ['a read lock', (admin) => admin.hset('a', { mode: 'read', [FOREIGN_OWNER]: 1 })],
  ['a write lock', (admin) => admin.hset('a', { mode: 'write', [WRITER]: 1 })],
];
const NO_COUNT: ForeignKey = [
  'a hash whose field is like an owner',
  (admin) => admin.hset('a', { 'x:1': 'abc' }),
];
const NO_READ_WRITE_LOCK: ForeignKey[] = [
  ...NO_LOCK,
  ['a lock', (admin) => admin.hset('a', { [FOREIGN_OWNER]: 1 })],
  ['a record with another mode', (admin) => admin.hset('a', { mode: 'dark', [FOREIGN_OWNER]: 1 })],
  ['a record with mode read', (admin) => admin.hset('a', { mode: 'read', name: 'phone' })],
  ['a record with mode write', (admin) => admin.hset('a', { mode: 'write', name: 'phone' })],
];

const redis = useRedis();
const open = useLockKinds(redis);

describe.each([
  ['lock', [...NO_HASH_LOCK, NO_COUNT]],
  ['fair lock', NO_HASH_LOCK],
  ['read lock', NO_READ_WRITE_LOCK],
  ['write lock', NO_READ_WRITE_LOCK],
] as const)('a key that holds something else than a %s', (kind, others) => {
  it.each(others)('is refused and untouched, whatever is called: %s', async (_, write) => {
    const lock = open().locks[kind]('a');
    await write(redis.admin);
    await expectUntouched(redis, [
      () => lock.acquire(),
      ...(kind === 'read lock' ? [] : [() => lock.acquire({ fenced: true })]),
      () => lock.tryAcquire(),
      () => lock.using(() => 1),
      () => lock.isLocked(),
      () => lock.remainingTimeMs(),
      () => lock.forceRelease(),
    ]);
    expect(await redis.keys()).toEqual(['a']);
  });

  it.each(others)('ends the lease of its last owner, and stays as it is: %s', async (_, write) => {
    const lockOf = open({ watchdogLeaseMs: 600 }).locks[kind];
    const watched = await lockOf('a').acquire();
    const unwatched = await lockOf('b').acquire({ leaseTimeMs: 60_000 });
    await redis.admin.del('a');
    await write(redis.admin);
    const before = await redis.admin.dump('a');
    await eventually(() => watched.state === 'lost');
    const lost = { code: 'LEASE_LOST', reason: 'gone' };
    await expect(watched.release()).rejects.toMatchObject(lost);
    expect(await redis.admin.dump('a')).toEqual(before);

    await redis.admin.rename('a', 'b');
    await expect(unwatched.release()).rejects.toMatchObject(lost);
    expect(await redis.admin.dump('b')).toEqual(before);
  });
});
