import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  FairLockService,
  LeaseLostError,
  LockService,
  ReadWriteLockService,
  type Lease,
  type Lock,
} from 'nestjs-redis-lock';
import type { ScopedLease } from '../../libs/redis-lock/src/core/holding/held-lease.js';
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

/** One lock of each kind that a single caller holds. */
const NAMES = ['product_1', '{shop}:2', 'price'] as const;
type Name = (typeof NAMES)[number];
const CLIENTS = 2;
const LEASE_MS = 60_000;

/** The leases that were granted together. */
interface Grant extends LeaseGrant {
  readonly held: Map<Name, Lease>;
  readonly client: number;
}

interface Model {
  readonly grants: Set<Grant>;
}

const holderOf = ({ grants }: Model, name: Name) => [...grants].find(({ held }) => held.has(name));

describe('LockService.multi and its model', () => {
  const redis = useRedis({ flush: false });
  const clients = useRepeatingClients(redis, CLIENTS, (context) => {
    const locks = new LockService(context);
    const kinds: Record<Name, Lock> = {
      product_1: locks.get('product_1'),
      '{shop}:2': new FairLockService(context).get('{shop}:2'),
      price: new ReadWriteLockService(context).get('price').write,
    };
    return (names: readonly Name[]) => locks.multi(names.map((name) => kinds[name]));
  });
  const multiOf = (client: number, names: readonly Name[]) => {
    const open = clients.all[client];
    if (open === undefined) throw new Error(`no client ${String(client)}`);
    return open(names);
  };

  const takes = fc
    .record({
      client: fc.nat({ max: CLIENTS - 1 }),
      names: fc.shuffledSubarray([...NAMES], { minLength: 1 }),
      fenced: fc.boolean(),
    })
    .map(({ client, names, fenced }): Step<Model> => ({
      shows: `client ${String(client)} takes ${names.join(' and ')}${fenced ? ', fenced' : ''}`,
      run: async (model) => {
        const multi = multiOf(client, names);
        const lease = await multi.tryAcquire({ leaseTimeMs: LEASE_MS, fenced });
        expect(lease === null).toBe(names.some((name) => holderOf(model, name)));
        if (lease === null) return;
        expect(lease.leases.every(({ fencingToken }) => (fencingToken ?? 0) > 0)).toBe(fenced);
        const held = new Map(lease.leases.map((one) => [one.name as Name, one]));
        model.grants.add({ held, lease, client, isLost: false });
      },
    }));

  const onGrant = stepOnGrant<Grant, Model>;

  const nests = onGrant('is joined by all its names, and left again', async (grant) => {
    const { client, lease, isLost } = grant;
    const counts: number[] = [];
    const work = runInScope(lease as unknown as ScopedLease, () =>
      multiOf(
        client,
        NAMES.filter((name) => lease.name.includes(name)),
      ).using((inner) => {
        counts.push(inner.holdCount);
      }),
    );
    if (isLost) await expect(work).rejects.toThrow(LeaseLostError);
    else await work;
    expect(counts).toEqual(isLost ? [] : [2]);
  });

  const loses = fc.constantFrom(...NAMES).map((name): Step<Model> => ({
    shows: `the lease on ${name} runs out, or another client deletes it`,
    run: async (model) => {
      await redis.admin.del(name);
      const holder = holderOf(model, name);
      if (holder === undefined) return;
      holder.held.delete(name);
      holder.isLost = true;
    },
  }));

  async function begin() {
    await redis.admin.flushall();
    return { model: { grants: new Set<Grant>() }, real: undefined };
  }

  async function agree(model: Model) {
    for (const name of NAMES) {
      const lease = holderOf(model, name)?.held.get(name);
      const owner = lease === undefined ? [] : [[lease.owner, '1']];
      const written = owner.map(([field = '', count = '']) => [`${field}:write`, count]);
      const fields = name === 'price' && lease ? [['mode', 'write'], ...written] : owner;
      expect(await redis.admin.hgetall(name)).toEqual(Object.fromEntries(fields));
      if (lease !== undefined) expect(await redis.admin.pttl(name)).toBeGreaterThan(LEASE_MS / 2);
    }
    for (const { lease, isLost } of model.grants) if (!isLost) lease.assertHeld();
  }

  it('agrees with it in any sequence of calls, losses and repeated scripts', async () => {
    const steps = [takes, nests, ...stepsOnLeases<Grant, Model>(2 * LEASE_MS), loses];
    await expectToFollowModel('multi lock', clients, steps, begin, agree);
  });
});
