import { afterAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Lease, LockEvent } from 'nestjs-redis-lock';

import type { Reply } from '../../libs/redis-lock/src/core/redis/connection.js';
import { useWorkers } from '../support/child.js';
import { eventually } from '../support/eventually.js';
import { seededRandom } from '../support/random.js';
import { useRedis } from '../support/redis-server.js';
import { useApplications } from './support/applications.js';
import { telling } from './support/history.js';
import { pause } from './support/pace.js';
import { PassThrough } from '../support/pass-through.js';
import { survive } from './support/survive.js';

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
  const redis = useRedis();
  const open = useApplications();

  it.each([0, 100, 1_000])(
    'tells the holders, lets the waiters in and raises the tokens: down for %d ms',
    async (downMs) => {
      const settings = { leaseTimeMs: LEASE_MS };
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
  const redis = useRedis({ args, dir: folder });
  const open = useApplications();
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  it('keeps the locks of living holders over a crash of the server', async () => {
    const settings = { leaseTimeMs: 15_000 };
    const [holder, waiter] = [open(redis.url, { settings }), open(redis.url, { settings })];
    const names = Array.from({ length: 20 }, (_, i) => `product_${String(i)}`);
    const held = await Promise.all(names.map((name) => holder.locks.acquire(name)));
    const waiting = names.map((name) => waiter.locks.acquire(name, { waitTimeMs: WAIT_MS }));

    await redis.restart();
    await Promise.all(held.map((lease) => eventually(() => lease.renew().then(() => true))));
    for (const lease of held) lease.assertHeld();
    // Nobody got in meanwhile.
    for (const { owner, name } of held) expect(await redis.admin.hkeys(name)).toEqual([owner]);

    await Promise.all(held.map((lease) => lease.release()));
    const granted = await Promise.all(waiting);
    await Promise.all(granted.map((lease) => lease.release()));
    expect(typesOf(holder.events)).not.toContain('lost');
  });
});

describe('LockService when Redis hangs', () => {
  const redis = useRedis({ args: ['--enable-debug-command', 'yes'] });
  const referee = useRedis();
  const workers = useWorkers();
  const open = useApplications();

  it('recovers, with one renewal on its way at most, when the lease outlasts it', async () => {
    let watched: RenewalCounter | undefined;
    const holder = open(redis.url, {
      settings: { leaseTimeMs: 6_000 },
      decorate: (connection) => (watched = new RenewalCounter(connection)),
    });
    const names = Array.from({ length: 600 }, (_, i) => `product_${String(i)}`);
    const held = await Promise.all(names.map((name) => holder.locks.acquire(name)));

    redis.pause();
    await eventually(() => typesOf(holder.events).includes('suspect'), { withinMs: 15_000 });
    redis.resume();
    await eventually(() => held.every(({ state }) => state === 'held'));
    for (const lease of held) lease.assertHeld();
    expect(typesOf(holder.events)).not.toContain('lost');
    expect(watched?.most).toBe(1);
    await Promise.all(held.map((lease) => lease.release()));
    expect(await redis.admin.keys('product_*')).toEqual([]);
  });

  it('tells the loss on time although Redis does not answer, and frees the lock afterwards', async () => {
    const settings = { leaseTimeMs: 1_000 };
    const [holder, waiter] = [open(redis.url, { settings }), open(redis.url, { settings })];
    const lease = await holder.locks.acquire('product_1');
    const lost = aborting(lease);
    const waiting = waiter.locks.acquire('product_1', { waitTimeMs: WAIT_MS });
    await eventually(async () => (await redis.wakeUpChannels()).length === 1);

    redis.pause();
    const pausedAt = performance.now();
    expect(await lost).toMatchObject({ code: 'LEASE_LOST', reason: 'expired' });
    expect(performance.now() - pausedAt).toBeLessThan(5 * settings.leaseTimeMs);
    expect(() => {
      lease.assertHeld();
    }).toThrow('Lost lock');
    redis.resume();

    const next = await waiting;
    next.assertHeld();
    await next.release();
    expect(await redis.admin.keys('product_*')).toEqual([]);
  });

  it.each([0, 300])('keeps a waiting time of %d ms', async (waitTimeMs) => {
    const application = open(redis.url);
    await application.locks.using('product_1', () => undefined);
    redis.pause();
    const startedAt = performance.now();
    await expect(application.locks.acquire('product_1', { waitTimeMs })).rejects.toMatchObject({
      code: 'LOCK_BACKEND',
      outcome: 'unknown',
    });
    const tookMs = performance.now() - startedAt;
    redis.resume();
    // One attempt without waiting has a second for its answer.
    expect(tookMs).toBeLessThan((waitTimeMs || 1_000) + 5 * 50);
    // What was granted late is gone within a moment.
    await eventually(async () => {
      await redis.admin.ping();
      expect(await redis.admin.keys('product_*')).toEqual([]);
    });
  });

  it('lets one in at a time while Redis stops, sleeps and pauses its clients', async () => {
    await telling('server stalls', async (story) => {
      const random = seededRandom('server-stalls/faults');
      const trial = {
        ...{ workers, redis, referee, story, lockUrl: redis.url },
        random: seededRandom('server-stalls'),
        ...{ instances: 8, callers: 4, keys: 8 },
        settings: { leaseTimeMs: 1_000 },
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
      expect(totals.sections).toBeGreaterThan(100);
    });
  });
});

class RenewalCounter extends PassThrough {
  /** The most that were on their way at a time. */
  most = 0;
  #running = 0;

  protected override async around<R>(script: string, run: () => Promise<Reply<R>>) {
    if (script !== 'hash-lock.renew') return run();
    this.most = Math.max(this.most, ++this.#running);
    try {
      return await run();
    } finally {
      this.#running--;
    }
  }
}
