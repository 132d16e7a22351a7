import { describe, expect, it } from '@jest/globals';
import { LatchService, SemaphoreService } from 'nestjs-redis-lock/core';
import { expectCosts } from '../support/costs.js';
import { eventually, useLocks, useRedis } from '../support/set-up.js';

const NAME = '{shop}:a';

/** A request that changes a number counts once, however often it arrives. */
describe('a request that changes a number', () => {
  const redis = useRedis();
  const open = useLocks(redis, (context) => ({
    latches: new LatchService(context),
    semaphores: new SemaphoreService(context),
  }));
  type Services = ReturnType<typeof open>['locks'];

  it.each([
    [
      'a latch',
      'nestjs_latch_request',
      ({ latches }: Services) => {
        const latch = latches.get(NAME);
        return [() => latch.trySetCount(200), () => latch.countDown()] as const;
      },
    ],
    [
      'a semaphore',
      'nestjs_semaphore_request',
      ({ semaphores }: Services) => {
        const semaphore = semaphores.get(NAME);
        return [() => semaphore.setPermits(1), () => semaphore.addPermits(1)] as const;
      },
    ],
    [
      'a counting semaphore',
      'nestjs_semaphore_request',
      ({ semaphores }: Services) => {
        const semaphore = semaphores.counting(NAME);
        return [() => semaphore.release(50), () => semaphore.acquire()] as const;
      },
    ],
  ])('of %s has a note in its slot, and all are deleted at once', async (_, prefix, of) => {
    const [first, next] = of(open().locks);
    await first();
    await Promise.all(Array.from({ length: 50 }, () => next()));
    const notes = await redis.admin.keys(`${prefix}:${NAME}:*`);
    expect(notes).toHaveLength(51);
    for (const note of notes) {
      const ttlMs = await redis.admin.pttl(note);
      expect(ttlMs).toBeGreaterThan(590_000);
      expect(ttlMs).toBeLessThanOrEqual(600_000);
    }
    const sent = await redis.commandsDuring(() =>
      eventually(async () => expect(await redis.admin.keys('*')).toEqual([NAME])),
    );
    expect(sent.del).toBe(1);
  });

  it('costs what the page of the latch says', async () => {
    const latch = open().locks.latches.get('a');
    await expectCosts(redis, 'internals/latch.md', [
      ['`trySetCount`', () => latch.trySetCount(2)],
      ['`trySetCount` of one that is set', () => latch.trySetCount(2)],
      ['`getCount`, or a check by `wait`', () => latch.getCount()],
      ['`countDown`', () => latch.countDown()],
      ['`countDown` to zero', () => latch.countDown()],
      ['`wait` for an open latch', () => latch.wait()],
      ['`trySetCount`', () => latch.trySetCount(2)],
      ['`delete`', () => latch.delete()],
      ['`delete` of an absent one', () => latch.delete()],
    ]);
  });

  it('costs what the page of the counting semaphore says', async () => {
    const semaphore = open().locks.semaphores.counting('a');
    await expectCosts(redis, 'internals/semaphore.md', [
      ['`trySetPermits`', () => semaphore.trySetPermits(5)],
      ['`acquire` when there are permits', () => semaphore.acquire(2)],
      ['`tryAcquire` when there are none', () => semaphore.tryAcquire(9)],
      ['`release`, `releaseIfExists`, `addPermits`', () => semaphore.release()],
      ['`addPermits` of fewer', () => semaphore.addPermits(-1)],
      ['`drainPermits`', () => semaphore.drainPermits()],
      ['`availablePermits`', () => semaphore.availablePermits()],
    ]);
  });
});
