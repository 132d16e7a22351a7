import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LeaseLostError, LockStateError } from 'nestjs-redis-lock';
import type { PermitLease } from '../../libs/redis-lock/src/core/api/lease.js';
import { SemaphoreService } from '../../libs/redis-lock/src/primitives/semaphore/semaphore-service.js';
import {
  expectToFollowModel,
  stepOnGrant,
  useRepeatingClients,
  type Step,
} from '../support/model.js';
import { permitIdsIn, redissonPermits as java, timeoutOf } from '../support/redisson-permits.js';
import { useRedis } from '../support/redis-server.js';

const NAME = 'gateway';
const CLIENTS = 2;
const LEASE_MS = 60_000;

/** Redis granted this lease to one of our callers. */
interface Grant {
  readonly lease: PermitLease;
  readonly client: number;
}

interface Model {
  /** Undefined before it is set. */
  free: number | undefined;
  /** Ids of all permits in use, of Java's too. */
  readonly held: Set<string>;
  readonly grants: Set<Grant>;
}

const give = (model: Model, ids: Iterable<string>) => {
  for (const id of ids) {
    if (model.held.delete(id) && model.free !== undefined) model.free += 1;
  }
};
const isWhole = ({ held }: Model, ids: readonly string[]) => ids.every((id) => held.has(id));

describe('SemaphoreService and its model', () => {
  const redis = useRedis({ flush: false });
  const clients = useRepeatingClients(redis, CLIENTS, (context) => new SemaphoreService(context));
  const semaphoreOf = (client: number) => (clients.all[client] as SemaphoreService).get(NAME);

  const aClient = fc.nat({ max: CLIENTS - 1 });
  const someIds = fc.record({
    client: aClient,
    from: fc.nat({ max: 9 }),
    count: fc.integer({ min: 1, max: 3 }),
  });

  const takes = fc
    .record({ client: aClient, permits: fc.integer({ min: 1, max: 4 }) })
    .map(({ client, permits }): Step<Model> => ({
      shows: `client ${String(client)} takes ${String(permits)}`,
      run: async (model) => {
        const attempt = semaphoreOf(client).tryAcquire({ permits, leaseTimeMs: LEASE_MS });
        const { free, held } = model;
        if (free !== undefined && permits > free + held.size) {
          await expect(attempt).rejects.toThrow(LockStateError);
          return;
        }
        const lease = await attempt;
        expect(lease === null).toBe(free === undefined || permits > free);
        if (lease === null) return;
        expect(lease.permitIds).toHaveLength(permits);
        model.free = (free ?? 0) - permits;
        for (const id of lease.permitIds) held.add(id);
        model.grants.add({ lease, client });
      },
    }));

  const javaTakes = fc.integer({ min: 1, max: 3 }).map((permits): Step<Model> => ({
    shows: `Java takes ${String(permits)}`,
    fits: ({ free }) => free !== undefined,
    run: async (model) => {
      const ids = await java.tryAcquire(redis.admin, NAME, permits);
      expect(ids === null).toBe(permits > (model.free ?? 0));
      for (const id of ids ?? []) model.held.add(id);
      model.free = (model.free ?? 0) - (ids?.length ?? 0);
    },
  }));

  const onGrant = stepOnGrant<Grant, Model>;

  const renews = onGrant('is renewed', async (grant, model) => {
    const { lease } = grant;
    if (isWhole(model, lease.permitIds) && lease.state === 'held') await lease.renew(2 * LEASE_MS);
    else await expect(lease.renew()).rejects.toThrow(LeaseLostError);
  });

  const releases = onGrant('is released', async (grant, model) => {
    const { lease } = grant;
    const wasHeld = lease.state === 'held';
    // Delivered twice, the second finds nothing; that is not called lost.
    await lease.release().catch((error: unknown) => {
      expect(isWhole(model, lease.permitIds) && wasHeld).toBe(false);
      expect(error).toBeInstanceOf(LeaseLostError);
    });
    if (wasHeld) give(model, lease.permitIds);
    model.grants.delete(grant);
  });

  const releasesById = someIds.map(({ client, from, count }): Step<Model> => ({
    shows: `client ${String(client)} releases ${String(count)} by id, one of them perhaps unknown`,
    run: async (model) => {
      const known = [...model.held, 'f'.repeat(32)];
      const ids = Array.from({ length: count }, (_, i) => known[(from + i) % known.length] ?? '');
      const isHeld = isWhole(model, ids);
      expect(await semaphoreOf(client).tryRelease(ids)).toBe(isHeld);
      if (isHeld) give(model, ids);
    },
  }));

  const expires = fc.nat({ max: 9 }).map((n): Step<Model> => ({
    shows: `the lease of permit ${String(n)} runs out`,
    // Java would make a permit of it for a semaphore that has none; we do not.
    fits: ({ held, free }) => held.size > 0 && free !== undefined,
    run: async (model) => {
      const id = [...model.held][n % model.held.size] ?? '';
      await redis.admin.zadd(timeoutOf(NAME), 1, Buffer.from(id, 'hex'));
      give(model, [id]);
      // The Java call takes the permit back: from then on it is gone for its holder too.
      await java.availablePermits(redis.admin, NAME);
    },
  }));

  const sets = fc
    .record({ client: aClient, permits: fc.integer({ min: 1, max: 6 }), isTry: fc.boolean() })
    .map(({ client, permits, isTry }): Step<Model> => ({
      shows: `client ${String(client)} ${isTry ? 'tries to set' : 'sets'} ${String(permits)}`,
      run: async (model) => {
        if (isTry) {
          const isSet = await semaphoreOf(client).trySetPermits(permits);
          expect(isSet).toBe(model.free === undefined);
          if (!isSet) return;
        } else {
          await semaphoreOf(client).setPermits(permits);
        }
        model.free = permits - model.held.size;
      },
    }));

  const adds = fc
    .record({ client: aClient, permits: fc.integer({ min: -3, max: 4 }) })
    .map(({ client, permits }): Step<Model> => ({
      shows: `client ${String(client)} adds ${String(permits)}`,
      run: async (model) => {
        await semaphoreOf(client).addPermits(permits);
        model.free = (model.free ?? 0) + permits;
      },
    }));

  const deletes = fc.boolean().map((all): Step<Model> => ({
    shows: all ? 'another client deletes the semaphore' : 'another client deletes the counter',
    run: async (model) => {
      await redis.admin.del(NAME, ...(all ? [timeoutOf(NAME)] : []));
      model.free = undefined;
      if (all) model.held.clear();
    },
  }));

  async function begin() {
    await redis.admin.flushall();
    await redis.admin.set(NAME, 4);
    const model: Model = { free: 4, held: new Set(), grants: new Set() };
    return { model, real: undefined };
  }

  async function agree({ free, held }: Model) {
    expect(await redis.admin.get(NAME)).toBe(free === undefined ? null : String(free));
    const ids = await permitIdsIn(redis.admin, timeoutOf(NAME));
    expect(ids.sort()).toEqual([...held].sort());
    const semaphore = semaphoreOf(0);
    expect(await semaphore.availablePermits()).toBe(free ?? 0);
    expect(await semaphore.permits()).toBe(free === undefined ? 0 : free + held.size);
  }

  it('agrees with it in any sequence of calls, losses and repeated scripts', async () => {
    const steps = [
      ...[takes, takes, javaTakes, renews, releases, releasesById],
      ...[expires, sets, adds, deletes],
    ];
    await expectToFollowModel('semaphore', clients, steps, begin, agree);
  });
});
