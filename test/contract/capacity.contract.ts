import { describe, expect, it } from '@jest/globals';
import { LockTimeoutError } from 'nestjs-redis-lock/core';
import { eventually } from '../support/eventually.js';
import type { LockClient, OpenLocks } from '../support/lock-client.js';
import { Stopwatch } from '../support/stopwatch.js';
import { PROMPT_MS, roundTrips, watch, type Stage } from './suite.js';

const LONG_MS = 60_000;
const UNSET = 'its permits are not set: give capacity or call trySetPermits';

interface Waiting {
  readonly waitTimeMs?: number;
}

/** The verbs of both semaphores that are about the number of permits; each call takes one permit. */
interface Counted {
  acquire(options?: Waiting): Promise<unknown>;
  tryAcquire(): Promise<unknown>;
  trySetPermits(permits: number): Promise<boolean>;
}

/** How a semaphore gets its number of permits, and what is said where it has none. */
export function describeCapacityOption<S>(
  { redis, open }: { readonly redis: Stage; readonly open: OpenLocks<S> },
  semaphoreOf: (locks: S, capacity?: number) => Counted,
): void {
  const free = async () => Number(await redis.admin.get('a'));
  const listening = () => eventually(async () => (await redis.wakeUpChannels()).length === 1);
  const opened = (settings: Parameters<typeof open>[0] = {}) => {
    const client: LockClient<S> = open(settings);
    return { client, of: (capacity?: number) => semaphoreOf(client.locks, capacity) };
  };

  describe('its capacity', () => {
    it('is set by the first acquisition, and not before', async () => {
      const semaphore = opened().of(2);
      expect(await redis.admin.exists('a')).toBe(0);
      expect(await semaphore.tryAcquire()).toBeTruthy();
      expect(await free()).toBe(1);
      expect(await semaphore.tryAcquire()).toBeTruthy();
      expect(await semaphore.tryAcquire()).toBeFalsy();
      expect(await free()).toBe(0);
      expect(await semaphore.trySetPermits(5)).toBe(false);
    });

    it('changes no number that is set', async () => {
      const { of } = opened();
      expect(await of().trySetPermits(1)).toBe(true);
      expect(await of(5).tryAcquire()).toBeTruthy();
      expect(await of(5).tryAcquire()).toBeFalsy();
      expect(await free()).toBe(0);
    });

    it('is that of the first of two processes', async () => {
      const [one, other] = [opened().of(2), opened().of(5)];
      await one.tryAcquire();
      await other.tryAcquire();
      expect(await other.tryAcquire()).toBeFalsy();
      expect(await one.tryAcquire()).toBeFalsy();
    });

    it('wakes those that wait in other processes', async () => {
      const waiting = opened({ pollIntervalMs: LONG_MS }).of().acquire({ waitTimeMs: LONG_MS });
      await listening();
      await roundTrips(redis, 2);
      const sinceSet = new Stopwatch();
      await opened().of(2).acquire();
      await waiting;
      expect(sinceSet.ms).toBeLessThan(PROMPT_MS);
      expect(await free()).toBe(0);
    });

    it('is set while callers of the same process wait that set none', async () => {
      const { of } = opened({ pollIntervalMs: LONG_MS });
      const waiting = Array.from({ length: 2 }, () => of().acquire({ waitTimeMs: LONG_MS }));
      await listening();
      await roundTrips(redis, 2);
      const sinceSet = new Stopwatch();
      await of(4).acquire({ waitTimeMs: LONG_MS });
      await Promise.all(waiting);
      expect(sinceSet.ms).toBeLessThan(PROMPT_MS);
      expect(await free()).toBe(1);
    });

    it('is set by a call of the same moment as one that sets none', async () => {
      const { of } = opened({ pollIntervalMs: LONG_MS });
      const calls = [undefined, 4].map((n) => of(n).acquire({ waitTimeMs: LONG_MS }));
      await Promise.all(calls);
      expect(await free()).toBe(2);
    });

    it('is set by a single attempt while others of its process wait', async () => {
      const { of } = opened({ pollIntervalMs: LONG_MS });
      const waiting = of().acquire({ waitTimeMs: LONG_MS });
      await listening();
      await roundTrips(redis, 2);
      expect(await of(4).tryAcquire()).toBeTruthy();
      await waiting;
      expect(await free()).toBe(2);
    });
  });

  describe('where its permits are not set', () => {
    it('says so after a second, and with the error at the end', async () => {
      const { client, of } = opened();
      const waiting = of().acquire({ waitTimeMs: 1_500 });
      const error = await waiting.catch((e: unknown) => e);
      expect(error).toBeInstanceOf(LockTimeoutError);
      expect(error).toMatchObject({ blockedBy: 'unset', lockName: 'a' });
      expect((error as Error).message).toMatch(
        new RegExp(`^Lock "a" was not acquired in .*: ${UNSET}$`),
      );
      expect(client.eventsOf('waiting')).toMatchObject([{ name: 'a', blockedBy: 'unset' }]);
    });

    it('says so at once to a call that does not wait', async () => {
      const { of } = opened();
      expect(await of().tryAcquire()).toBeFalsy();
      await expect(of().acquire({ waitTimeMs: 0 })).rejects.toThrow(UNSET);
      const waiting = watch(of().acquire({ waitTimeMs: LONG_MS }));
      await listening();
      await roundTrips(redis, 2);
      await expect(of().acquire({ waitTimeMs: 0 })).rejects.toThrow(UNSET);
      await of().trySetPermits(1);
      await waiting.promise;
    });

    it('says nothing of it where others have all of them', async () => {
      const { client, of } = opened();
      await of(1).acquire();
      const error = await of()
        .acquire({ waitTimeMs: 1_500 })
        .catch((e: unknown) => e);
      expect(error).toMatchObject({ code: 'LOCK_TIMEOUT', blockedBy: 'other' });
      expect((error as Error).message).not.toContain('permits');
      expect(client.eventsOf('waiting')).toHaveLength(1);
      expect(client.eventsOf('waiting')[0]).not.toHaveProperty('blockedBy');
    });
  });
}
