import { describe, expect, it } from '@jest/globals';

import type { Lease } from '../../libs/redis-lock/src/index.js';
import { eventually, useRealRedis } from '../support/set-up.js';
import { useApplications } from './support/applications.js';

const LOCKS = 10_000;
/** All at once, the last of them would wait for longer than the leases of the first ones last. */
const TOGETHER = 500;
const LEASE_MS = 6_000;
const INTERVAL_MS = LEASE_MS / 3;
/** A lease is over then, so that none can have lived by its first one. */
const RENEWALS = 4 * LOCKS;

describe('10,000 held locks', () => {
  const redis = useRealRedis();
  const open = useApplications();

  it('are all kept by at most 100 script calls a second', async () => {
    let renewed = 0;
    const { locks, events } = open(redis.url, {
      settings: { watchdogLeaseMs: LEASE_MS },
      onEvent: (event) => {
        if (event.type === 'renewed') renewed += event.leases;
      },
    });
    const names = Array.from({ length: LOCKS }, (_, i) => `product_${String(i)}`);
    const leases: Lease[] = [];
    while (names.length > 0) {
      const some = names.splice(0, TOGETHER).map((name) => locks.acquire(name));
      leases.push(...(await Promise.all(some)));
    }

    renewed = 0;
    const startedAt = performance.now();
    const calls = await redis.commandsDuring(() =>
      eventually(() => renewed >= RENEWALS, { withinMs: 60_000, everyMs: 50 }),
    );
    const intervals = (performance.now() - startedAt) / INTERVAL_MS;
    expect(events.map(({ type }) => type)).not.toContain('lost');
    for (const lease of leases) lease.assertHeld();
    expect(await redis.admin.dbsize()).toBe(LOCKS);
    expect((calls.evalsha ?? 0) / intervals).toBeLessThanOrEqual((100 * INTERVAL_MS) / 1_000);
    // Kept because they were renewed, and not renewed more often than need be.
    expect(intervals).toBeGreaterThan(RENEWALS / LOCKS / 2);

    while (leases.length > 0) {
      await Promise.all(leases.splice(0, TOGETHER).map((lease) => lease.release()));
    }
    expect(await redis.admin.dbsize()).toBe(0);
  });
});
