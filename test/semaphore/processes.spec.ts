import { beforeEach, describe, expect, it } from '@jest/globals';
import { SemaphoreService } from '../../libs/redis-lock/src/primitives/semaphore/semaphore-service.js';
import { useWorkers, type Worker } from '../support/child.js';
import { eventually, PROMPT_MS, Stopwatch, useLocks, useRealRedis } from '../support/set-up.js';
import type { Api } from '../support/workers/permits.worker.js';

const FILE = new URL('../support/workers/permits.worker.ts', import.meta.url);
const LEASE_MS = 2_000;

describe('permits of several processes', () => {
  const redis = useRealRedis();
  const workers = useWorkers();
  const open = useLocks(redis, (context) => new SemaphoreService(context));
  let herd: Worker<Api>[];

  beforeEach(async () => {
    herd = await Promise.all([workers.start<Api>(FILE), workers.start<Api>(FILE)]);
    const settings = { watchdogLeaseMs: LEASE_MS, pollIntervalMs: 200 };
    await Promise.all(herd.map(({ call }) => call.open(redis.url, settings)));
  });

  it('are never more in use than there are', async () => {
    const semaphore = open().locks.get('a');
    await semaphore.setPermits(3);
    const watching = { isOn: true, least: 3 };
    const looking = (async () => {
      while (watching.isOn)
        watching.least = Math.min(watching.least, await semaphore.availablePermits());
    })();
    await Promise.all(
      herd.flatMap(({ call }) =>
        [1, 2, 3].map((permits) => call.sections('a', { permits, waitTimeMs: 20_000 }, 20)),
      ),
    );
    watching.isOn = false;
    await looking;
    expect(watching.least).toBe(0);
    expect(await redis.admin.get('a')).toBe('3');
  });

  it('come back when their process is killed, once its lease has ended', async () => {
    const [victim] = herd;
    const semaphore = open().locks.get('a');
    await semaphore.setPermits(3);
    await victim?.call.acquire('a', { permits: 2 });
    await victim?.call.acquire('a', { permits: 1 });
    expect(await semaphore.tryAcquire()).toBeNull();
    await victim?.kill();
    const sinceKill = new Stopwatch();
    (await semaphore.acquire({ permits: 3 })).assertHeld();
    expect(sinceKill.ms).toBeLessThan(LEASE_MS + PROMPT_MS);
    expect(await semaphore.permits()).toBe(3);
  });

  it('are kept while their process lives, however long', async () => {
    const semaphore = open().locks.get('a');
    await semaphore.setPermits(1);
    const [holder] = herd;
    const [id = ''] = (await holder?.call.acquire('a', {})) ?? [];
    const stopwatch = new Stopwatch();
    while (stopwatch.realMs < 2 * LEASE_MS) expect(await semaphore.tryAcquire()).toBeNull();
    expect(await semaphore.remainingTimeMs(id)).toBeGreaterThan(0);
    await holder?.call.close();
    expect(await semaphore.availablePermits()).toBe(1);
  });

  it('are kept from no caller for long by a waiter whose process is killed', async () => {
    const [victim] = herd;
    const semaphore = open().locks.get('a');
    await semaphore.setPermits(3);
    await semaphore.acquire();
    await victim?.call.queueUp('a', { permits: 3 });
    await eventually(async () => (await redis.admin.exists('nestjs_semaphore_waiting:{a}')) === 1);
    expect(await semaphore.tryAcquire()).toBeNull();
    await victim?.kill();
    const sinceKill = new Stopwatch();
    await eventually(async () => (await semaphore.tryAcquire()) !== null);
    expect(sinceKill.ms).toBeLessThan(600 + PROMPT_MS);
  });
});
