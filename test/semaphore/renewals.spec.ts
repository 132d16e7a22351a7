import { describe, expect, it } from '@jest/globals';
import { SemaphoreService } from '../../libs/redis-lock/src/primitives/semaphore/semaphore-service.js';
import { eventually, useClients } from '../support/set-up.js';

describe('the renewal of permits', () => {
  const { redis, open } = useClients(SemaphoreService);

  it('covers many leases of many permits, none of which is divided', async () => {
    const client = open({ watchdogLeaseMs: 1_500 });
    const semaphore = client.locks.get('a');
    await semaphore.setPermits(10_000);
    const leases = await Promise.all(
      Array.from({ length: 9 }, (_, i) =>
        semaphore.acquire({ permits: i % 3 === 0 ? 1_000 : 350 }),
      ),
    );
    const ends = async () =>
      Promise.all(leases.map(({ permitIds }) => semaphore.remainingTimeMs(permitIds.at(-1) ?? '')));
    const renewals = () =>
      client.eventsOf('renewed').reduce((sum, { leases: count }) => sum + count, 0);
    await eventually(() => renewals() >= 4 * leases.length);
    for (const lease of leases) lease.assertHeld();
    for (const left of await ends()) expect(left).toBeGreaterThan(0);
    expect(await semaphore.acquiredPermits()).toBe(3 * 1_000 + 6 * 350);
    await Promise.all(leases.map((lease) => lease.release()));
    expect(await redis.admin.get('a')).toBe('10000');
  });

  it('tells apart which leases are held and which are gone', async () => {
    const client = open({ watchdogLeaseMs: 1_800 });
    const semaphore = client.locks.get('a');
    await semaphore.setPermits(10);
    const leases = await Promise.all(
      Array.from({ length: 4 }, () => semaphore.acquire({ permits: 2 })),
    );
    await semaphore.release(leases[1]?.permitIds ?? []);
    await eventually(() => leases[1]?.state === 'lost');
    const renewals = client.eventsOf('renewed').length;
    await eventually(() => client.eventsOf('renewed').length >= renewals + 4);
    expect(leases.map(({ state }) => state)).toEqual(['held', 'lost', 'held', 'held']);
    expect(client.eventsOf('lost')).toMatchObject([{ type: 'lost', name: 'a', reason: 'gone' }]);
  });
});
