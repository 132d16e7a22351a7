import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { eventually, useRealRedis, useWorkers, type Worker } from '../support/set-up.js';
import type { Api } from '../support/workers/holder.worker.js';
import { openApplication, type Application } from './support/application.js';
import { FencedResource } from './support/fenced-resource.js';
import { ROUND_TRIP_MS } from './support/lab.js';

const HOLDER = new URL('../support/workers/holder.worker.ts', import.meta.url);
const LEASE_MS = 800;
const POLL_MS = 100;
const WAIT_MS = 20_000;
/** The lease of a dead holder ends, and the poll finds it; asserted at five times that. */
const NEXT_ONE_MS = 5 * (LEASE_MS + POLL_MS);

const settings = { watchdogLeaseMs: LEASE_MS, pollIntervalMs: POLL_MS };

describe('a holder that stands still for longer than its lease', () => {
  const redis = useRealRedis();
  const resources = useRealRedis();
  const workers = useWorkers();
  let next: Application;
  let folder: string;

  beforeEach(() => {
    next = openApplication(redis.url, { settings: { pollIntervalMs: POLL_MS } });
    folder = mkdtempSync(join(tmpdir(), 'stalls-'));
  });
  afterEach(async () => {
    await next.close();
    rmSync(folder, { recursive: true });
  });

  async function startHolder(): Promise<Worker<Api>> {
    const holder = await workers.start<Api>(HOLDER);
    await holder.call.open(redis.url, resources.url, settings);
    return holder;
  }

  /** Takes the lock over from the one that stands still, and writes. */
  async function takeOver(name: string) {
    const lease = await next.locks.acquire(name, { waitTimeMs: WAIT_MS, fenced: true });
    const resource = new FencedResource(resources.admin, name);
    expect(await resource.write(lease.fencingToken, 'next')).toBe('accepted');
    return { lease, resource };
  }

  async function stopAndGoOn(holder: Worker<Api>, name: string): Promise<void> {
    const token = await holder.call.acquire(name, { fenced: true });
    expect(await holder.call.write()).toBe('accepted');

    holder.pause();
    const { lease, resource } = await takeOver(name);
    expect(lease.fencingToken).toBeGreaterThan(token ?? Infinity);
    const write = holder.call.write();
    const carelessWrite = holder.call.writeWithoutLooking();
    holder.resume();

    expect(await write).toBe('expired');
    expect(await carelessWrite).toBe('stale');
    expect(await holder.call.isAborted()).toBe(true);
    expect(await holder.call.state()).toBe('lost');
    expect(await holder.call.release()).toBe('LEASE_LOST');
    // Neither the late release nor a late renewal has touched the lock of the next one.
    lease.assertHeld();
    await lease.release();
    expect(await resource.writers()).toEqual(['worker', 'next']);
  }

  it('refuses to write when it goes on after SIGSTOP, and so does a fenced resource', async () => {
    const holders = await Promise.all([startHolder(), startHolder(), startHolder()]);
    await Promise.all(
      holders.map(async (holder, i) => {
        for (let round = 0; round < 4; round++) {
          await stopAndGoOn(holder, `product_${String(i)}_${String(round)}`);
        }
      }),
    );
    expect(await redis.admin.keys('product_*')).toEqual([]);
  });

  it('aborts the signal by itself when it goes on', async () => {
    const holder = await startHolder();
    await holder.call.acquire('product_1', { fenced: true });
    const aborted = holder.call.aborted();
    const heldAt = performance.now();
    // The answer to a later call tells that the earlier one has arrived.
    expect(await holder.call.state()).toBe('held');
    holder.pause();
    const pausedAt = performance.now();
    const { lease } = await takeOver('product_1');
    const pausedMs = performance.now() - pausedAt;
    holder.resume();
    expect(await aborted).toBe('LEASE_LOST');
    const stoodStillMs = await holder.call.stoodStillMs();
    // The renewals, whose delay tells, are due at every third of the lease.
    expect(stoodStillMs).toBeGreaterThan(pausedMs - LEASE_MS / 2);
    expect(stoodStillMs).toBeLessThan(performance.now() - heldAt);
    await lease.release();
  });

  it('still holds after a stop that is shorter than the lease', async () => {
    const holder = await workers.start<Api>(HOLDER);
    await holder.call.open(redis.url, resources.url, { watchdogLeaseMs: 60_000 });
    await holder.call.acquire('product_1', { fenced: true });
    holder.pause();
    await eventually(async () => (await redis.admin.pttl('product_1')) < 59_700);
    holder.resume();
    expect(await holder.call.write()).toBe('accepted');
    expect(await holder.call.release()).toBe('released');
  });

  it('refuses to write in the same turn of an event loop that was blocked', async () => {
    const holder = await startHolder();
    for (let round = 0; round < 4; round++) {
      const name = `product_${String(round)}`;
      const file = join(folder, name);
      await holder.call.acquire(name, { fenced: true });
      expect(await holder.call.write()).toBe('accepted');

      const verdict = holder.call.blockUntil(file);
      const carelessWrite = holder.call.writeWithoutLooking();
      const { lease, resource } = await takeOver(name);
      writeFileSync(file, '');

      expect(await verdict).toBe('expired');
      expect(await carelessWrite).toBe('stale');
      expect(await holder.call.isAborted()).toBe(true);
      lease.assertHeld();
      await lease.release();
      expect(await resource.writers()).toEqual(['worker', 'next']);
    }
  });

  it('leaves the lock to the next one when it is killed', async () => {
    const holders = await Promise.all([startHolder(), startHolder(), startHolder()]);
    await Promise.all(
      holders.map(async (holder, i) => {
        const name = `product_${String(i)}`;
        await holder.call.acquire(name, { fenced: true });
        const waiting = takeOver(name).then(({ lease }) => ({ lease, at: performance.now() }));
        await holder.kill();
        const killedAt = performance.now();
        const { lease, at } = await waiting;
        expect(at - killedAt).toBeLessThan(NEXT_ONE_MS);
        await lease.release();
      }),
    );
    expect(await redis.admin.keys('product_*')).toEqual([]);
  });

  it('is waited for by the others when one of the waiters is killed', async () => {
    const [holder, doomed] = await Promise.all([startHolder(), startHolder()]);
    await holder.call.acquire('product_1', {});
    await doomed.call.queueUp('product_1');
    await redis.listening('redisson_lock__channel:{product_1}');
    const waiting = next.locks.acquire('product_1', { waitTimeMs: WAIT_MS });
    await doomed.kill();

    const released = holder.call.release();
    expect(await released).toBe('released');
    const releasedAt = performance.now();
    const lease = await waiting;
    expect(performance.now() - releasedAt).toBeLessThan(5 * (POLL_MS + ROUND_TRIP_MS));
    expect(await redis.admin.hkeys('product_1')).toEqual([lease.owner]);
    await lease.release();
    expect(doomed.reports).toEqual([]);
    expect(await redis.admin.keys('product_*')).toEqual([]);
  });
});
