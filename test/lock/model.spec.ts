import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LeaseLostError, LockService } from 'nestjs-redis-lock';
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

const NAMES = ['product_1', '{shop}:2'] as const;
const CLIENTS = 2;
const LEASE_MS = 60_000;

interface Grant extends LeaseGrant {
  readonly name: string;
  readonly client: number;
}

interface Model {
  readonly grants: Set<Grant>;
  lastToken: number;
}

const holderOf = ({ grants }: Model, name: string) =>
  [...grants].find((grant) => grant.name === name && !grant.isLost);

describe('LockService and its model', () => {
  const redis = useRedis({ flush: false });
  const clients = useRepeatingClients(redis, CLIENTS, (context) => new LockService(context));
  const locksOf = (client: number) => clients.all[client] as LockService;

  const aClient = fc.nat({ max: CLIENTS - 1 });
  const aName = fc.constantFrom(...NAMES);

  const takes = fc
    .record({ client: aClient, name: aName, fenced: fc.boolean() })
    .map(({ client, name, fenced }): Step<Model> => ({
      shows: `client ${String(client)} takes ${name}${fenced ? ', fenced' : ''}`,
      run: async (model) => {
        const lease = await locksOf(client).tryAcquire(name, { leaseTimeMs: LEASE_MS, fenced });
        expect(lease === null).toBe(holderOf(model, name) !== undefined);
        if (lease === null) return;
        if (fenced) {
          expect(lease.fencingToken).toBeGreaterThan(model.lastToken);
          model.lastToken = lease.fencingToken ?? 0;
        }
        model.grants.add({ name, lease, client, isLost: false });
      },
    }));

  const onGrant = stepOnGrant<Grant, Model>;

  const nests = onGrant('is joined twice, and left again', async (grant) => {
    const { name, client, lease, isLost } = grant;
    const locks = locksOf(client);
    const counts: string[] = [];
    const count = async () => counts.push((await redis.admin.hvals(name)).join());
    const work = runInScope(lease as HeldLease, () =>
      locks.using(name, async () => {
        await count();
        await locks.using(name, count);
        await count();
      }),
    );
    if (isLost) await expect(work).rejects.toThrow(LeaseLostError);
    else await work;
    expect(counts).toEqual(isLost ? [] : ['2', '3', '2']);
  });

  const loses = aName.map((name): Step<Model> => ({
    shows: `the lease on ${name} runs out, or another client deletes it`,
    run: async (model) => {
      await redis.admin.del(name);
      const holder = holderOf(model, name);
      if (holder !== undefined) holder.isLost = true;
    },
  }));

  async function begin() {
    await redis.admin.flushall();
    return { model: { grants: new Set<Grant>(), lastToken: 0 }, real: undefined };
  }

  async function agree(model: Model) {
    for (const name of NAMES) {
      const holder = holderOf(model, name);
      const expected = holder === undefined ? {} : { [holder.lease.owner]: '1' };
      expect(await redis.admin.hgetall(name)).toEqual(expected);
      if (holder !== undefined) holder.lease.assertHeld();
      if (holder !== undefined) expect(await redis.admin.pttl(name)).toBeGreaterThan(LEASE_MS / 2);
    }
  }

  it('agrees with it in any sequence of calls, losses and repeated scripts', async () => {
    const steps = [takes, nests, ...stepsOnLeases<Grant, Model>(2 * LEASE_MS), loses];
    await expectToFollowModel('lock', clients, steps, begin, agree);
  });
});
