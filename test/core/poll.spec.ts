import { describe, expect, it } from '@jest/globals';
import { LockService } from 'nestjs-redis-lock/core';
import { describeLoss } from '../contract/loss.contract.js';
import { describeReentrancy } from '../contract/reentrancy.contract.js';
import { PROMPT_MS, roundTrips, Section, watch, type LockSuite } from '../contract/suite.js';
import { channelOf, eventually, redisson, Stopwatch, useClients } from '../support/set-up.js';

const POLL = { wakeUp: 'poll' } as const;
/** The longest pause between two polls. */
const LAST_BACKOFF_MS = 128;
/** For so long a process hands it on to its own callers. */
const TURN_MS = 3 * LAST_BACKOFF_MS;

/** Redisson's spin lock: for servers where messages are not to be had. */
describe("LockService with wakeUp: 'poll'", () => {
  const { redis, open } = useClients(LockService);

  it('gets in soon after a release, without listening to anything', async () => {
    const { locks } = open(POLL);
    await redisson.tryLock(redis.admin, 'a');
    const waiting = watch(locks.acquire('a'));
    const commands = await redis.commandsDuring(async () => {
      await eventually(async () => ((await redis.commandStats()).evalsha ?? 0) > 5);
      const stopwatch = new Stopwatch();
      await redis.admin.del('a');
      await waiting.promise;
      expect(stopwatch.ms).toBeLessThan(LAST_BACKOFF_MS + PROMPT_MS);
    });
    expect(commands).not.toHaveProperty('subscribe');
    await (await waiting.promise).release();
  });

  it('asks ever more rarely, and no more often than the longest pause in the end', async () => {
    const { locks } = open(POLL);
    await redisson.tryLock(redis.admin, 'a');
    const abort = new AbortController();
    const waiting = watch(locks.acquire('a', { signal: abort.signal }));
    const asked: number[] = [];
    await redis.resetCommandStats();
    const stopwatch = new Stopwatch();
    await eventually(async () => {
      const { evalsha = 0 } = await redis.commandStats();
      while (asked.length < evalsha) asked.push(stopwatch.ms);
      return asked.length >= 12;
    });
    // 2, 4, 8, … 128 ms, each shortened by a fifth at most.
    expect(asked[11]).toBeGreaterThan(0.8 * (2 + 4 + 8 + 16 + 32 + 64 + 4 * LAST_BACKOFF_MS) - 50);
    abort.abort(new Error('enough'));
    await expect(waiting.promise).rejects.toThrow('enough');
  });

  it('announces its releases all the same', async () => {
    const [spinning, listening] = [open(POLL), open({ pollIntervalMs: 60_000 })];
    const lease = await spinning.locks.acquire('a');
    const waiting = listening.locks.acquire('a');
    await redis.listening(channelOf('a'));
    await roundTrips(redis, 5);
    await lease.release();
    await (await waiting).release();
  });

  it("testTryLockAsync and the like of the spin lock: a try by wakeUp: 'poll' keeps its time", async () => {
    const { locks } = open(POLL);
    await redisson.tryLock(redis.admin, 'a');
    const stopwatch = new Stopwatch();
    expect(await locks.tryAcquire('a')).toBeNull();
    expect(await locks.tryAcquire('a', { waitTimeMs: 400 })).toBeNull();
    expect(stopwatch.realMs).toBeGreaterThanOrEqual(399);
    expect(stopwatch.ms).toBeLessThan(400 + 2 * PROMPT_MS);
    const trying = locks.tryAcquire('a', { waitTimeMs: 15_000 });
    await roundTrips(redis, 5);
    await redisson.unlock(redis.admin, 'a');
    await (await trying)?.release();
    expect(await trying).not.toBeNull();
  });

  it('leaves it to others who poll, as spin locks of Java do, after every turn', async () => {
    const { locks } = open({ ...POLL, waitTimeMs: Infinity });
    const section = new Section();
    let isOn = true;
    const asking = Array.from({ length: 8 }, async () => {
      while (isOn) await locks.using('a', () => section.run(() => redis.admin.ping()));
    });
    try {
      for (let time = 0; time < 3; time += 1) {
        const before = section.entries;
        await eventually(() => section.entries > before + 8);
        const stopwatch = new Stopwatch();
        await eventually(async () => (await redisson.tryLock(redis.admin, 'a')) === null);
        expect(stopwatch.ms).toBeLessThan(5 * (TURN_MS + LAST_BACKOFF_MS));
        await section.run(() => redis.admin.ping());
        await redisson.unlock(redis.admin, 'a');
      }
    } finally {
      isOn = false;
      await Promise.all(asking);
    }
    expect(section.most).toBe(1);
  });
});

describe("what holds with wakeUp: 'poll' too", () => {
  const { redis, open } = useClients(LockService);
  const suite: LockSuite = { redis, open: (options) => open({ ...POLL, ...options }) };
  describeReentrancy(suite);
  describeLoss(suite);
});
