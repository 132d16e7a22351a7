import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FairLockService, LeaseLostError, LockShutdownError, type Lease } from 'nestjs-redis-lock';
import type { HeldLease } from '../../libs/redis-lock/src/core/holding/held-lease.js';
import { runInScope } from '../../libs/redis-lock/src/core/holding/scope.js';
import { expectToFollowModel, useRepeatingClients, type Step } from '../support/model.js';
import { channelOf, eventually, useRedis } from '../support/set-up.js';
import { FairView } from './fair-view.js';

const NAME = '{shop}:2';
const CLIENTS = 2;
const LEASE_MS = 60_000;
const MOST_WAITERS = 4;

interface Caller {
  readonly client: number;
  readonly waitTimeMs: number;
  readonly abort: AbortController;
  readonly outcome: Promise<Lease | undefined>;
}

interface Model {
  holder: { lease: Lease; client: number } | undefined;
  readonly queue: Caller[];
  readonly lost: Lease[];
}

describe('FairLockService and its model', () => {
  const redis = useRedis({ flush: false });
  const view = new FairView(redis, NAME);
  const clients = useRepeatingClients(redis, CLIENTS, (context) => new FairLockService(context));
  const locksOf = (client: number) => clients.all[client] as FairLockService;

  const aClient = fc.nat({ max: CLIENTS - 1 });
  const queued = (length: number) =>
    eventually(async () => (await view.queue()).length === length, { everyMs: 1 });

  /** The lock is free: the first waiter gets it. */
  const handOn = async (model: Model) => {
    model.holder = undefined;
    const next = model.queue.shift();
    const lease = await next?.outcome;
    if (next !== undefined && lease !== undefined) model.holder = { lease, client: next.client };
  };

  const waits = fc
    .record({ client: aClient, waitTimeMs: fc.integer({ min: 20_000, max: 90_000 }) })
    .map(({ client, waitTimeMs }): Step<Model> => ({
      shows: `client ${String(client)} waits for up to ${String(waitTimeMs)} ms`,
      fits: ({ queue }) => queue.length < MOST_WAITERS,
      run: async (model) => {
        const abort = new AbortController();
        const options = { waitTimeMs, leaseTimeMs: LEASE_MS, signal: abort.signal };
        const outcome = locksOf(client)
          .acquire(NAME, options)
          .catch((error: unknown) => {
            // The last sequence ends with its clients.
            if (!(error instanceof LockShutdownError)) expect(error).toBe(abort.signal.reason);
            return undefined;
          });
        model.queue.push({ client, waitTimeMs, abort, outcome });
        if (model.holder === undefined) await handOn(model);
        await queued(model.queue.length);
      },
    }));

  const tries = aClient.map((client): Step<Model> => ({
    shows: `client ${String(client)} tries once`,
    run: async (model) => {
      const lease = await locksOf(client).tryAcquire(NAME, { leaseTimeMs: LEASE_MS });
      expect(lease === null).toBe(model.holder !== undefined);
      if (lease !== null) model.holder = { lease, client };
    },
  }));

  const releases = fc.constant<Step<Model>>({
    shows: 'the holder releases',
    fits: ({ holder }) => holder !== undefined,
    run: async (model) => {
      await model.holder?.lease.release();
      await handOn(model);
    },
  });

  const nests = fc.constant<Step<Model>>({
    shows: 'the holder joins its hold',
    fits: ({ holder }) => holder !== undefined,
    run: async ({ holder }) => {
      if (holder === undefined) return;
      const counts: string[] = [];
      const count = async () => counts.push((await redis.admin.hvals(NAME)).join());
      await runInScope(holder.lease as HeldLease, () => locksOf(holder.client).using(NAME, count));
      expect(counts).toEqual(['2']);
    },
  });

  const aborts = fc.nat({ max: MOST_WAITERS - 1 }).map((n): Step<Model> => ({
    shows: `waiter ${String(n)} gives up`,
    fits: ({ queue }) => queue.length > n,
    run: async (model) => {
      const [caller] = model.queue.splice(n, 1);
      caller?.abort.abort(new Error('no time'));
      expect(await caller?.outcome).toBeUndefined();
      await queued(model.queue.length);
    },
  }));

  const loses = fc.constant<Step<Model>>({
    shows: 'the lock is deleted, and the next one is told',
    fits: ({ holder }) => holder !== undefined,
    run: async (model) => {
      if (model.holder !== undefined) model.lost.push(model.holder.lease);
      await redis.admin.del(NAME);
      const [head] = await view.queue();
      if (head !== undefined) await redis.admin.publish(`${channelOf(NAME)}:${head}`, '0');
      await handOn(model);
    },
  });

  const returns = fc.constant<Step<Model>>({
    shows: 'a lost lease is released',
    fits: ({ lost }) => lost.length > 0,
    run: async ({ lost }) => {
      // Resolves when it was sent twice: the first may have been in time, for all that is known.
      const outcome = await lost
        .shift()
        ?.release()
        .catch((error: unknown) => error);
      if (outcome !== undefined) expect(outcome).toBeInstanceOf(LeaseLostError);
    },
  });

  let last: Model | undefined;
  async function begin() {
    for (const { abort } of last?.queue ?? []) abort.abort(new Error('over'));
    await Promise.all((last?.queue ?? []).map(({ outcome }) => outcome));
    await last?.holder?.lease.release().catch(() => undefined);
    await queued(0);
    await redis.admin.flushall();
    last = { holder: undefined, queue: [], lost: [] };
    return { model: last, real: undefined };
  }

  async function agree({ holder, queue }: Model) {
    const expected = holder === undefined ? {} : { [holder.lease.owner]: '1' };
    expect(await redis.admin.hgetall(NAME)).toEqual(expected);
    const owners = await view.queue();
    expect(owners).toHaveLength(queue.length);
    // Each waiter has its own time more than the one before it, even after others have come and gone.
    const horizons = await Promise.all(
      owners.map((owner) => redis.admin.zscore(view.keys.timeouts, owner)),
    );
    for (let i = 1; i < queue.length; i += 1) {
      expect(Number(horizons[i]) - Number(horizons[i - 1])).toBe(queue[i]?.waitTimeMs);
    }
    const processes = new Set(owners.map((owner) => owner.split(':')[0] ?? ''));
    const known = await redis.admin.hkeys(view.keys.waiting);
    expect(known.sort()).toEqual([...owners, ...processes].sort());
    expect(await redis.admin.zcard(view.keys.timeouts)).toBe(queue.length);
  }

  it('agrees with it in any sequence of calls, losses and repeated scripts', async () => {
    const steps = [waits, waits, tries, releases, nests, aborts, loses, returns];
    await expectToFollowModel('fair', clients, steps, begin, agree);
  });
});
