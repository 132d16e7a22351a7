import { describe, expect, it } from '@jest/globals';
import { LockArgumentError, LockKeyError, LockStateError } from 'nestjs-redis-lock/core';
import type { CountingSemaphore } from '../../libs/redis-lock/src/primitives/counting-semaphore/counting-semaphore.js';
import { CountingSemaphores } from '../../libs/redis-lock/src/primitives/counting-semaphore/counting-semaphore-service.js';
import { expectUntouched, OTHER_THAN_COUNTS } from '../support/foreign-keys.js';
import { useClients } from '../support/lock-client.js';

const MOST = 2 ** 31 - 1;

/** The list d.6 of bad input, as far as it is about a bare number of permits. */
describe('CountingSemaphore given bad input', () => {
  const { redis, open } = useClients(CountingSemaphores);
  const semaphoreOf = () => open().locks.get('a');

  const refuses = async (calls: readonly (() => Promise<unknown>)[], message: RegExp) => {
    for (const call of calls) {
      const error: unknown = await call().then(
        () => 'resolved',
        (e: unknown) => e,
      );
      expect(error).toBeInstanceOf(LockArgumentError);
      expect((error as Error).message).toMatch(message);
    }
  };
  const silently = async (semaphore: CountingSemaphore, work: () => Promise<void>) => {
    await semaphore.availablePermits();
    expect(await redis.commandsDuring(work)).toEqual({});
  };

  const numbers: unknown[] = [
    ...[0, -0, -1, 1.5, NaN, Infinity, -Infinity, 2 ** 31, 2 ** 53, Number.MAX_VALUE],
    ...['1', '', null, {}, { permits: 1 }, [], [1], true, 1n, 10n ** 400n, new Date(), () => 1],
  ];
  it.each(numbers.map((value, i) => [i, value]))(
    'refuses number no. %d of permits before anything is sent',
    async (_, value) => {
      const semaphore = semaphoreOf();
      const permits = value as number;
      await silently(semaphore, () =>
        refuses(
          [
            () => semaphore.trySetPermits(permits),
            () => semaphore.acquire(permits),
            () => semaphore.tryAcquire(permits),
            () => semaphore.tryAcquire(permits, { waitTimeMs: 100 }),
            () => semaphore.release(permits),
            () => semaphore.releaseIfExists(permits),
          ],
          /^permits must be a whole number from 1 to 2147483647, not /,
        ),
      );
    },
  );

  it.each(numbers.filter((value) => value !== -1).map((value, i) => [i, value]))(
    'refuses number no. %d of permits to add',
    async (_, value) => {
      const semaphore = semaphoreOf();
      await silently(semaphore, () =>
        refuses([() => semaphore.addPermits(value as number)], /^permits must (be|not be 0)/),
      );
    },
  );

  it('takes the smallest and the largest number', async () => {
    const semaphore = semaphoreOf();
    expect(await semaphore.trySetPermits(MOST)).toBe(true);
    await semaphore.acquire(MOST);
    await semaphore.addPermits(-MOST);
    expect(await semaphore.availablePermits()).toBe(-MOST);
    await expect(semaphore.addPermits(-1)).rejects.toThrow(LockStateError);
    await semaphore.addPermits(MOST);
    await semaphore.addPermits(MOST);
    expect(await semaphore.drainPermits()).toBe(MOST);
  });

  it('refuses to count beyond what Java can, and says so', async () => {
    const semaphore = semaphoreOf();
    await semaphore.trySetPermits(MOST - 1);
    for (const call of [
      () => semaphore.release(2),
      () => semaphore.releaseIfExists(2),
      () => semaphore.addPermits(2),
    ]) {
      await expect(call()).rejects.toMatchObject({
        ...{ name: 'LockStateError', code: 'LOCK_STATE', lockName: 'a' },
        message: expect.stringContaining('it would count beyond 2147483647 permits') as unknown,
      });
    }
    expect(await semaphore.availablePermits()).toBe(MOST - 1);
  });

  it('does not know what was taken: a release too many is a permit more', async () => {
    const semaphore = semaphoreOf();
    await semaphore.trySetPermits(1);
    await semaphore.release();
    expect(await semaphore.availablePermits()).toBe(2);
  });

  const ttls: unknown[] = [0, -1, 1.5, NaN, Infinity, 366 * 86_400_000, '1000', null, {}, 5n];
  it.each(ttls.map((ttlMs, i) => [i, { ttlMs }]))('refuses TTL no. %d', async (_, options) => {
    const semaphore = semaphoreOf();
    await silently(semaphore, () =>
      refuses([() => semaphore.trySetPermits(1, options as { ttlMs: number })], /^ttlMs must be /),
    );
  });

  it.each([[null], [5], ['1'], [[]], [{ ttl: 5 }]])('refuses %p as options', async (options) => {
    const semaphore = semaphoreOf();
    await refuses(
      [() => semaphore.trySetPermits(1, options as never)],
      /^the only option of trySetPermits is/,
    );
  });

  it('takes undefined for an option as if it were not given', async () => {
    const semaphore = semaphoreOf();
    await semaphore.trySetPermits(5, { ttlMs: undefined } as object);
    await semaphore.acquire(undefined, { waitTimeMs: undefined, signal: undefined });
    await semaphore.release(undefined);
    expect(await redis.admin.pttl('a')).toBe(-1);
  });

  it.each([
    ...[null, 5, 'fast', [], { wait: 5 }, { leaseTimeMs: 5_000 }, { fenced: true }, { permits: 1 }],
    ...[-1, 1.5, NaN, '5s', 2 ** 31, null, 5n].map((waitTimeMs) => ({ waitTimeMs })),
    ...[null, {}, new AbortController()].map((signal) => ({ signal })),
  ])('refuses the options no. %# of an acquisition', async (options) => {
    const semaphore = semaphoreOf();
    await refuses(
      [
        () => semaphore.acquire(1, options as never),
        () => semaphore.tryAcquire(1, options as never),
      ],
      /option|waitTimeMs|signal/,
    );
  });

  it.each([undefined, null, '', 1, {}, 'a{b', '{a}', 'redisson_x', 'a\nb', 'x'.repeat(1_025)])(
    'refuses %p as a name',
    (name) => {
      const { locks } = open();
      expect(() => locks.get(name as string)).toThrow(LockKeyError);
    },
  );

  it.each(OTHER_THAN_COUNTS)(
    'refuses a key that holds %s, and leaves it as it is',
    async (_, write) => {
      const semaphore = semaphoreOf();
      await write(redis.admin);
      await expectUntouched(redis, [
        () => semaphore.trySetPermits(1),
        () => semaphore.acquire(),
        () => semaphore.tryAcquire(),
        () => semaphore.release(),
        () => semaphore.releaseIfExists(),
        () => semaphore.addPermits(1),
        () => semaphore.addPermits(-1),
        () => semaphore.drainPermits(),
        () => semaphore.availablePermits(),
      ]);
    },
  );
});
