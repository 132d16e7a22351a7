import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { LockStateError } from 'nestjs-redis-lock';
import { CountingSemaphores } from '../../libs/redis-lock/src/primitives/counting-semaphore/counting-semaphore-service.js';
import { expectCosts } from '../support/costs.js';
import { eventually, roundTrips, useLocks, useRedis } from '../support/set-up.js';

const LONG_MS = 60_000;
const MOST = 2 ** 31 - 1;
const channelOf = (key: string) =>
  key.includes('{') ? `redisson_sc:${key}` : `redisson_sc:{${key}}`;

describe('CountingSemaphore on the wire', () => {
  const redis = useRedis();
  let payloads: string[];
  let listener: Redis;
  beforeEach(() => {
    payloads = [];
    listener = new Redis(redis.url, { lazyConnect: true });
    listener.on('message', (_, payload) => payloads.push(payload));
  });
  afterEach(() => {
    listener.disconnect();
  });
  const open = useLocks(redis, (context) => new CountingSemaphores(context));
  const semaphoreOf = (settings: Parameters<typeof open>[0] = {}) => open(settings).locks.get('a');
  const free = () => redis.admin.get('a');
  /** Everything but the notes of requests. */
  const keys = async () =>
    (await redis.admin.keys('*')).filter((key) => !key.startsWith('nestjs_semaphore_request:'));

  it('is a string of the plain name that holds what is free, without a TTL', async () => {
    const semaphore = semaphoreOf();
    expect(await semaphore.trySetPermits(5)).toBe(true);
    expect(await redis.admin.type('a')).toBe('string');
    await semaphore.acquire(3);
    expect(await free()).toBe('2');
    await semaphore.release();
    expect(await free()).toBe('3');
    expect(await redis.admin.pttl('a')).toBe(-1);
    expect(await keys()).toEqual(['a']);
  });

  it('publishes what is free after every increase, and nothing else', async () => {
    await listener.subscribe(channelOf('a'));
    const semaphore = semaphoreOf();
    await semaphore.trySetPermits(5);
    await semaphore.trySetPermits(6);
    await semaphore.acquire(2);
    await semaphore.release(1);
    await semaphore.addPermits(3);
    await semaphore.addPermits(-1);
    await semaphore.releaseIfExists(2);
    await semaphore.drainPermits();
    await semaphore.addPermits(-3);
    // Java's listener would break at a number that is not above zero.
    await semaphore.release(2);
    await semaphore.release(1);
    await semaphore.release(4);
    await eventually(() => payloads.length >= 5);
    await roundTrips(redis, 3);
    expect(payloads).toEqual(['5', '4', '7', '8', '4']);
  });

  it('never publishes what Java cannot count', async () => {
    await listener.subscribe(channelOf('a'));
    const semaphore = semaphoreOf();
    await semaphore.trySetPermits(MOST);
    await expect(semaphore.release()).rejects.toThrow(LockStateError);
    await expect(semaphore.addPermits(MOST)).rejects.toThrow(LockStateError);
    await eventually(() => payloads.length > 0);
    await roundTrips(redis, 3);
    expect(payloads).toEqual([String(MOST)]);
    expect(await free()).toBe(String(MOST));
  });

  it('keeps the TTL of trySetPermits, which Redisson drops', async () => {
    const semaphore = semaphoreOf();
    await semaphore.trySetPermits(5, { ttlMs: 50_000 });
    const steps = [
      () => semaphore.acquire(2),
      () => semaphore.release(),
      () => semaphore.addPermits(2),
      () => semaphore.addPermits(-1),
      () => semaphore.drainPermits(),
      () => semaphore.releaseIfExists(),
    ];
    for (const step of steps) {
      await step();
      expect(await redis.admin.pttl('a')).toBeGreaterThan(40_000);
      expect(await redis.admin.pttl('a')).toBeLessThanOrEqual(50_000);
    }
  });

  it('has a note of each request beside it, in its slot, of which none is left soon after', async () => {
    const semaphore = open().locks.get('{shop}:a');
    await semaphore.release(50);
    await Promise.all(Array.from({ length: 50 }, () => semaphore.acquire()));
    const notes = await redis.admin.keys('nestjs_semaphore_request:{shop}:a:*');
    expect(notes).toHaveLength(51);
    for (const note of notes) expect(await redis.admin.pttl(note)).toBeGreaterThan(590_000);
    const sent = await redis.commandsDuring(() =>
      eventually(async () => expect(await redis.admin.keys('*')).toEqual(['{shop}:a'])),
    );
    expect(sent.del).toBe(1);
  });

  it('leaves no note of an attempt that was refused', async () => {
    const semaphore = semaphoreOf();
    expect(await semaphore.tryAcquire()).toBe(false);
    expect(await redis.admin.keys('*')).toEqual([]);
  });

  it('announces names with a tag of their own, and a keyPrefix, as Redisson does', async () => {
    await listener.subscribe('redisson_sc:{shop}:1', 'redisson_sc:{shop:a}');
    await open().locks.get('{shop}:1').release();
    await semaphoreOf({ keyPrefix: 'shop:' }).release(2);
    await eventually(() => payloads.length === 2);
    expect(payloads).toEqual(['1', '2']);
  });

  it('costs what its page says', async () => {
    const semaphore = semaphoreOf();
    await expectCosts(redis, 'counting-semaphore.md', [
      ['`trySetPermits`', () => semaphore.trySetPermits(5)],
      ['`acquire` when there are permits', () => semaphore.acquire(2)],
      ['`tryAcquire` when there are none', () => semaphore.tryAcquire(9)],
      ['`release`, `releaseIfExists`, `addPermits`', () => semaphore.release()],
      ['`addPermits` of fewer', () => semaphore.addPermits(-1)],
      ['`drainPermits`', () => semaphore.drainPermits()],
      ['`availablePermits`', () => semaphore.availablePermits()],
    ]);
  });

  it.each([
    ['testConcurrency_SingleInstance', 1, 1],
    ['testConcurrency_MultiInstance_1_permits', 4, 1],
    ['testConcurrencyLoop_MultiInstance', 4, 3],
    ['testConcurrencyLoopMax_MultiInstance', 4, MOST],
  ])('%s: never more inside than permits', async (_, processes, permits) => {
    const semaphores = Array.from({ length: processes }, () => semaphoreOf());
    await semaphores[0]?.trySetPermits(permits);
    let [inside, most, sections] = [0, 0, 0];
    const work = async (semaphore: (typeof semaphores)[number]) => {
      for (let round = 0; round < 10; round += 1) {
        await semaphore.acquire(1, { waitTimeMs: LONG_MS });
        most = Math.max(most, ++inside);
        await roundTrips(redis, 1);
        inside -= 1;
        sections += 1;
        await semaphore.release();
      }
    };
    await Promise.all(semaphores.flatMap((semaphore) => [work(semaphore), work(semaphore)]));
    expect(sections).toBe(20 * processes);
    expect(most).toBeLessThanOrEqual(permits);
    expect(await free()).toBe(String(permits));
  });
});
