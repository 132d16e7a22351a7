import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LeaseLostError, ReadWriteLockService } from 'nestjs-redis-lock';
import type { HeldLease } from '../../libs/redis-lock/src/core/holding/held-lease.js';
import { runInScope } from '../../libs/redis-lock/src/core/holding/scope.js';
import {
  expectToFollowModel,
  stepOnGrant,
  stepsOnLeases,
  useRepeatingClients,
  type LeaseGrant,
  type Step,
} from '../support/model.js';
import { useRedis } from '../support/redis-server.js';
import { timeoutKey } from './redisson-read-write.js';

const NAMES = ['product_1', '{shop}:2'] as const;
const CLIENTS = 2;
const LEASE_MS = 60_000;
type Side = 'read' | 'write';

interface Grant extends LeaseGrant {
  readonly name: string;
  readonly side: Side;
  readonly client: number;
}

interface Model {
  readonly grants: Set<Grant>;
}

describe('ReadWriteLockService and its model', () => {
  const redis = useRedis({ flush: false });
  const clients = useRepeatingClients(
    redis,
    CLIENTS,
    (context) => new ReadWriteLockService(context),
  );
  const lockOf = (client: number, name: string) =>
    (clients.all[client] as ReadWriteLockService).get(name);
  const options = { leaseTimeMs: LEASE_MS };

  const holders = ({ grants }: Model, name: string, side: Side) =>
    [...grants].filter((grant) => grant.name === name && grant.side === side && !grant.isLost);

  const takes = fc
    .record({
      client: fc.nat({ max: CLIENTS - 1 }),
      name: fc.constantFrom(...NAMES),
      side: fc.constantFrom<Side>('read', 'read', 'write'),
    })
    .map(({ client, name, side }): Step<Model> => ({
      shows: `client ${String(client)} takes ${name} to ${side}`,
      run: async (model) => {
        const lease = await lockOf(client, name)[side].tryAcquire(options);
        const isWritten = holders(model, name, 'write').length > 0;
        const isRead = holders(model, name, 'read').length > 0;
        expect(lease === null).toBe(isWritten || (side === 'write' && isRead));
        if (lease !== null) model.grants.add({ name, side, lease, client, isLost: false });
      },
    }));

  const onGrant = stepOnGrant<Grant, Model>;

  const nests = onGrant('is joined twice, and left again', async (grant) => {
    const { name, client, lease, side, isLost } = grant;
    const lock = lockOf(client, name)[side];
    const field = side === 'read' ? lease.owner : `${lease.owner}:write`;
    const counts: (string | null)[] = [];
    const count = async () => counts.push(await redis.admin.hget(name, field));
    const work = runInScope(lease as HeldLease, () =>
      lock.using(async () => {
        await count();
        await lock.using(count);
        await count();
      }),
    );
    if (isLost) await expect(work).rejects.toThrow(LeaseLostError);
    else await work;
    expect(counts).toEqual(isLost ? [] : ['2', '3', '2']);
  });

  const readsWithin = onGrant(
    'reads inside its write, or would write inside its read',
    async (...step) => {
      const [{ name, client, lease, side, isLost }, model] = step;
      const { read, write } = lockOf(client, name);
      await runInScope(lease as HeldLease, async () => {
        if (side === 'read') {
          await expect(write.tryAcquire()).rejects.toMatchObject({ code: 'LOCK_STATE' });
          return;
        }
        const reading = read.tryAcquire(options);
        if (lease.state === 'lost') {
          await expect(reading).rejects.toThrow(LeaseLostError);
          return;
        }
        const granted = await reading;
        // A writer that does not know of its loss reads like any other caller.
        expect(granted === null).toBe(isLost && holders(model, name, 'write').length > 0);
        if (granted !== null) {
          model.grants.add({ name, side: 'read', lease: granted, client, isLost: false });
        }
      });
    },
  );

  const loses = fc.constantFrom(...NAMES).map((name): Step<Model> => ({
    shows: `the leases on ${name} run out, or another client deletes it`,
    run: async ({ grants }) => {
      await redis.admin.del(name);
      for (const grant of grants) if (grant.name === name) grant.isLost = true;
      for (const key of await redis.admin.keys('*rwlock_timeout*')) {
        if (key.includes(name)) await redis.admin.del(key);
      }
    },
  }));

  const dies = onGrant('runs out in Redis, if it is a read', async (grant) => {
    const { name, lease, side } = grant;
    if (side === 'write') return;
    grant.isLost = true;
    await redis.admin.del(timeoutKey(name, lease.owner, 1));
    // A writer's ask forgets it.
    await redis.admin.hdel(name, lease.owner);
    if ((await redis.admin.hlen(name)) === 1) await redis.admin.del(name);
  });

  async function begin() {
    await redis.admin.flushall();
    return { model: { grants: new Set<Grant>() }, real: undefined };
  }

  async function agree(model: Model) {
    for (const name of NAMES) {
      const [writers, readers] = [holders(model, name, 'write'), holders(model, name, 'read')];
      const expected: Record<string, string> = {};
      if (writers.length + readers.length > 0)
        expected.mode = writers.length > 0 ? 'write' : 'read';
      for (const { lease } of writers) expected[`${lease.owner}:write`] = '1';
      for (const { lease } of readers) expected[lease.owner] = '1';
      expect(await redis.admin.hgetall(name)).toEqual(expected);
      for (const { lease } of readers) {
        const key = timeoutKey(name, lease.owner, 1);
        expect(await redis.admin.pttl(key)).toBeGreaterThanOrEqual(lease.remainingMs);
      }
      for (const { lease } of [...writers, ...readers]) {
        lease.assertHeld();
        expect(await redis.admin.pttl(name)).toBeGreaterThanOrEqual(lease.remainingMs);
      }
    }
    const owners = [...model.grants].filter(({ isLost }) => !isLost).length;
    const writers = NAMES.reduce((sum, name) => sum + holders(model, name, 'write').length, 0);
    const keys = await redis.admin.keys('*');
    expect(keys.filter((key) => key.includes('rwlock_timeout'))).toHaveLength(owners - writers);
    expect(keys.filter((key) => key.startsWith('nestjs_'))).toEqual([]);
  }

  it('agrees with it in any sequence of calls, losses and repeated scripts', async () => {
    const steps = [
      takes,
      takes,
      nests,
      readsWithin,
      ...stepsOnLeases<Grant, Model>(2 * LEASE_MS),
      loses,
      dies,
    ];
    await expectToFollowModel('read-write-lock', clients, steps, begin, agree);
  });
});
