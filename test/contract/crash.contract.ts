import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { LockBackendError } from 'nestjs-redis-lock/core';
import { eventually } from '../support/eventually.js';
import { ENDLESS } from '../support/lock-client.js';
import { PROMPT_MS, watch, type ServerSuite } from './suite.js';
import { Stopwatch } from '../support/stopwatch.js';

/** A client vanishes in these specs. The specs of a killed process are in test/faults. */
export function describeCrash({ redis, open, openRival, deadWaiterMs = 0 }: ServerSuite): void {
  const openOther = openRival ?? open;
  describe('a client that vanishes', () => {
    /** A client whose connection can be ended under it, for good. */
    const mortal = async (settings: Parameters<typeof open>[0] = {}) => {
      const connection = new Redis(redis.url);
      const client = open({ ...settings, connection });
      await eventually(() => connection.status === 'ready');
      const vanish = () => {
        connection.disconnect();
        return eventually(() => connection.status === 'end');
      };
      return { ...client, vanish };
    };
    const waiters = async () => (await redis.wakeUpChannels()).length;

    it('keeps the lock for no longer than its lease', async () => {
      const [holder, next] = [await mortal({ watchdogLeaseMs: 500 }), openOther()];
      const lease = await holder.locks.acquire('a');
      const waiting = next.locks.acquire('a');
      await eventually(async () => (await waiters()) === 1);
      const sinceEnd = new Stopwatch();
      const vanished = holder.vanish();
      const taken = await waiting;
      expect(sinceEnd.ms).toBeLessThan(500 + PROMPT_MS);
      taken.assertHeld();
      await vanished;
      await eventually(() => lease.state === 'lost');
    });

    it('stops no waiter behind it for long when it was only waiting', async () => {
      const [holder, waiter, next] = [openOther(), await mortal(), open()];
      const lease = await holder.locks.acquire('a');
      const vanished = watch(waiter.locks.acquire('a'));
      const waiting = next.locks.acquire('a');
      // Each waiter of a fair lock has a channel of its own.
      await eventually(async () => (await waiters()) >= 1);
      await waiter.vanish();
      await lease.release();
      const sinceRelease = new Stopwatch();
      await (await waiting).release();
      expect(sinceRelease.ms).toBeLessThan(deadWaiterMs + PROMPT_MS);
      await expect(vanished.promise).rejects.toThrow(LockBackendError);
    });

    it('leaves no key without an end at any moment', async () => {
      const clients = [open({ watchdogLeaseMs: 2_000 }), openOther()];
      const optionsOf = (i: number) => (openRival === undefined ? { fenced: i % 2 === 0 } : {});
      const looker = { isOn: true };
      const seen = new Set<boolean>();
      const looking = (async () => {
        while (looker.isOn) {
          for (const key of await redis.admin.keys('*'))
            seen.add((await redis.admin.pttl(key)) !== -1 || ENDLESS.test(key));
        }
      })();
      await Promise.all(
        clients.flatMap(({ locks }) =>
          Array.from({ length: 10 }, async (_, i) => {
            for (let round = 0; round < 10; round += 1) {
              await locks.using('a', () => locks.using('a', () => undefined, optionsOf(i)));
            }
          }),
        ),
      );
      looker.isOn = false;
      await looking;
      expect([...seen]).toEqual([true]);
    });
  });
}
