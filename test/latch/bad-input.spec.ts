import { describe, expect, it } from '@jest/globals';
import { LatchService, LockArgumentError, LockKeyError } from 'nestjs-redis-lock/core';
import { expectUntouched, OTHER_THAN_COUNTS } from '../support/foreign-keys.js';
import { useClients } from '../support/lock-client.js';

/** The list d.7 of bad input, and what a latch shares with every lock. */
describe('LatchService given bad input', () => {
  const { redis, open } = useClients(LatchService);
  const latchOf = () => open().locks.get('a');

  const counts: unknown[] = [
    ...[0, -1, -0, 1.5, NaN, Infinity, 2 ** 31, 2 ** 53, Number.MAX_VALUE],
    ...['1', '', null, undefined, {}, [], [1], true, 1n, 10n ** 400n, new Date(), () => 1],
  ];
  it.each(counts.map((count, i) => [i, count]))('refuses count no. %d', async (_, count) => {
    const latch = latchOf();
    await latch.getCount();
    const sent = await redis.commandsDuring(async () => {
      const setting = latch.trySetCount(count as number);
      await expect(setting).rejects.toThrow(LockArgumentError);
      await expect(setting).rejects.toThrow(
        /^count must be a whole number from 1 to 2147483647, not /,
      );
    });
    expect(sent).toEqual({});
  });

  it('takes the smallest and the largest count', async () => {
    const latch = latchOf();
    expect(await latch.trySetCount(1)).toBe(true);
    await latch.delete();
    expect(await latch.trySetCount(2 ** 31 - 1)).toBe(true);
    expect(await latch.countDown()).toBe(2 ** 31 - 2);
  });

  it('answers false to a second trySetCount, and keeps the first', async () => {
    const latch = latchOf();
    expect(await latch.trySetCount(2)).toBe(true);
    expect(await latch.trySetCount(2)).toBe(false);
    expect(await latch.trySetCount(3)).toBe(false);
    expect(await latch.getCount()).toBe(2);
  });

  it('answers 0 to a count-down of an absent latch, and creates none', async () => {
    const latch = latchOf();
    expect(await latch.countDown()).toBe(0);
    expect(await redis.admin.exists('a')).toBe(0);
  });

  it('counts down by one, whatever it is given', async () => {
    const latch = latchOf();
    await latch.trySetCount(5);
    for (const [step, left] of [0, -1, 3].map((step, i) => [step, 4 - i] as const)) {
      const countDown = latch.countDown as (step: number) => Promise<number>;
      expect(await countDown(step)).toBe(left);
    }
  });

  it('goes on when the key is deleted by another client', async () => {
    const latch = open({ pollIntervalMs: 50 }).locks.get('a');
    await latch.trySetCount(2);
    const waiting = latch.wait({ waitTimeMs: 60_000 });
    await redis.admin.del('a');
    expect(await waiting).toBe(true);
  });

  it.each(OTHER_THAN_COUNTS)(
    'refuses a key that holds %s, and leaves it as it is, whatever is asked',
    async (_, write) => {
      const latch = latchOf();
      await write(redis.admin);
      await expectUntouched(redis, [
        () => latch.trySetCount(1),
        () => latch.countDown(),
        () => latch.getCount(),
        () => latch.wait(),
        () => latch.wait({ waitTimeMs: 0 }),
        () => latch.delete(),
      ]);
    },
  );

  it('refuses a key that becomes something else while it is waited for', async () => {
    const latch = open({ pollIntervalMs: 50 }).locks.get('a');
    await latch.trySetCount(1);
    const waiting = [1, 2, 3].map(() => latch.wait({ waitTimeMs: 60_000 }));
    await redis.admin.multi().del('a').rpush('a', 'x').exec();
    for (const result of await Promise.allSettled(waiting)) {
      expect(result).toMatchObject({ status: 'rejected', reason: { code: 'LOCK_STATE' } });
    }
    await redis.admin.del('a');
  });

  it.each([undefined, null, '', 1, {}, 'a{b', '{a}', 'redisson_x', 'a\nb', 'x'.repeat(1_025)])(
    'refuses %p as a name',
    (name) => {
      const { locks } = open();
      expect(() => locks.get(name as string)).toThrow(LockKeyError);
    },
  );

  it.each([
    ...[null, 5, 'fast', [], { wait: 5 }, { leaseTimeMs: 5_000 }, { fenced: true }],
    ...[-1, 1.5, NaN, '5s', 2 ** 31, null, 5n].map((waitTimeMs) => ({ waitTimeMs })),
    ...[null, {}, new AbortController()].map((signal) => ({ signal })),
  ])('refuses the options no. %#', async (options) => {
    const latch = latchOf();
    await expect(latch.wait(options as never)).rejects.toThrow(LockArgumentError);
  });

  it('takes undefined for every option as if it were not given', async () => {
    const latch = latchOf();
    expect(await latch.wait({ waitTimeMs: undefined, signal: undefined })).toBe(true);
  });
});
