import { afterAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Lease, LockEvent } from 'nestjs-redis-lock';
import { eventually, seededRandom, useRealRedis, useWorkers } from '../support/set-up.js';
import { useApplications } from './support/applications.js';
import { telling } from './support/history.js';
import { pause } from './support/pace.js';
import { survive } from './support/survive.js';
import { DEBUG_ALLOWED } from '../support/server-facts.js';

const LEASE_MS = 2_000;
const WAIT_MS = 30_000;

const typesOf = (events: readonly LockEvent[]) => events.map(({ type }) => type);

/** Resolves with the reason when the signal of the lease aborts. */
const aborting = ({ signal }: Lease) =>
  new Promise<unknown>((resolve) => {
    signal.addEventListener('abort', () => {
      resolve(signal.reason);
    });
  });

describe('LockService when Redis loses its data', () => {
  const redis = useRealRedis();
  const open = useApplications();

  it.each([0, 100, 1_000])(
    'tells the holders, lets the waiters in and raises the tokens: down for %d ms',
    async (downMs) => {
      const settings = { watchdogLeaseMs: LEASE_MS };
      const [holder, waiter] = [open(redis.url, { settings }), open(redis.url, { settings })];
      const names = Array.from({ length: 20 }, (_, i) => `product_${String(i)}`);
      const held = await Promise.all(
        names.map((name) => holder.locks.acquire(name, { fenced: true })),
      );
      const lost = held.map(aborting);
      const waiting = names.map((name) =>
        waiter.locks.acquire(name, { fenced: true, waitTimeMs: WAIT_MS }),
      );
      await eventually(async () => {
        expect(await redis.wakeUpChannels()).toHaveLength(names.length);
      });

      await redis.kill();
      await pause(downMs);
      await redis.start();

      const granted = await Promise.all(waiting);
      granted.forEach((lease, i) => {
        expect(lease.fencingToken).toBeGreaterThan(held[i]?.fencingToken ?? Infinity);
      });
      for (const reason of await Promise.all(lost)) {
        expect(reason).toMatchObject({ code: 'LEASE_LOST' });
      }
      for (const lease of held) expect(lease.state).toBe('lost');
      for (const lease of granted) lease.assertHeld();
      await Promise.all(granted.map((lease) => lease.release()));
      expect(await redis.admin.keys('product_*')).toEqual([]);
    },
  );
});

describe('LockService when Redis keeps its data on disk', () => {
  const folder = mkdtempSync(join(tmpdir(), 'append-only-'));
  const args = ['--appendonly', 'yes', '--appendfsync', 'always'];
  const redis = useRealRedis({ args, dir: folder });
  const open = useApplications();
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  it('keeps the locks of living holders over a crash of the server', async () => {
    const settings = { watchdogLeaseMs: 15_000 };
    const [holder, waiter] = [open(redis.url, { settings }), open(redis.url, { settings })];
    const names = Array.from({ length: 20 }, (_, i) => `product_${String(i)}`);
    const held = await Promise.all(names.map((name) => holder.locks.acquire(name)));
    const waiting = names.map((name) => waiter.locks.acquire(name, { waitTimeMs: WAIT_MS }));

    await redis.restart();
    await Promise.all(held.map((lease) => eventually(() => lease.renew().then(() => true))));
    for (const lease of held) lease.assertHeld();
    // No other owner got in meanwhile.
    for (const { owner, name } of held) expect(await redis.admin.hkeys(name)).toEqual([owner]);

    await Promise.all(held.map((lease) => lease.release()));
    const granted = await Promise.all(waiting);
    await Promise.all(granted.map((lease) => lease.release()));
    expect(typesOf(holder.events)).not.toContain('lost');
  });
});

describe('LockService when Redis hangs', () => {
  const redis = useRealRedis({ args: DEBUG_ALLOWED });
  const referee = useRealRedis();
  const workers = useWorkers();

  it('lets one in at a time while Redis stops, sleeps and pauses its clients', async () => {
    await telling('server stalls', async (story) => {
      const random = seededRandom('server-stalls/faults');
      const trial = {
        ...{ workers, redis, referee, story, lockUrl: redis.url },
        random: seededRandom('server-stalls'),
        ...{ instances: 8, callers: 4, keys: 8 },
        settings: { watchdogLeaseMs: 1_000 },
        workMs: 20,
      };
      const totals = await survive(trial, async () => {
        const stalls: Record<string, (ms: number) => Promise<unknown>> = {
          SIGSTOP: async (ms) => {
            redis.pause();
            await pause(ms);
            redis.resume();
          },
          'DEBUG SLEEP': (ms) => redis.admin.call('DEBUG', 'SLEEP', String(ms / 1_000)),
          'CLIENT PAUSE': async (ms) => {
            await redis.admin.call('CLIENT', 'PAUSE', String(ms), 'ALL');
            await redis.admin.ping();
          },
        };
        // The last one outlasts every lease.
        const lengths = [...Array.from({ length: 12 }, () => random.int(50, 700)), 2_500];
        for (const ms of lengths) {
          const [name, stall] = random.pick(Object.entries(stalls));
          story.fault(`${name} for ${String(ms)} ms`);
          await stall(ms);
          await pause(random.int(10, 200));
        }
      });
      expect(totals.sections).toBeGreaterThan(20);
    });
  });
});
