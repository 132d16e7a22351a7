import { describe, expect, it } from '@jest/globals';
import { FairLockService, LockTimeoutError } from 'nestjs-redis-lock/core';
import { eventually, useRealClients, type LockClient } from '../support/set-up.js';
import { FairView } from './fair-view.js';

const POLLS = 4;
const MS_FOR_A_CROWD = 60_000;

/** Many callers of one process before one fair lock; prints the figures of docs/internals/fair-lock.md. */
describe('a crowd before a fair lock', () => {
  const { redis, open } = useRealClients(FairLockService);
  const view = new FairView(redis, 'a');
  const length = () => redis.admin.llen(view.keys.queue);
  const empty = () => eventually(async () => (await length()) === 0, { withinMs: MS_FOR_A_CROWD });

  /** The owners that ask from now on, and how many have no answer yet. */
  const asking = ({ connection }: LockClient<FairLockService>) => {
    const asked = { owners: [] as string[], underWay: 0 };
    const run = connection.run.bind(connection);
    connection.run = (script, keys, args, ...rest) => {
      const reply = run(script, keys, args, ...rest);
      if (script.name !== 'fair.acquire') return reply;
      asked.owners.push(String((args as readonly unknown[])[0]));
      asked.underWay += 1;
      const onAnswer = () => (asked.underWay -= 1);
      reply.then(onAnswer, onAnswer);
      return reply;
    };
    return asked;
  };
  /** So many waiters stand in the queue, and their records say that they listen. */
  const gather = async (locks: FairLockService, size: number) => {
    const aborts = Array.from({ length: size }, () => new AbortController());
    const outcomes = Promise.allSettled(
      aborts.map(({ signal }) => locks.acquire('a', { waitTimeMs: Infinity, signal })),
    );
    await eventually(async () => (await length()) === size, { withinMs: MS_FOR_A_CROWD });
    // A look at 10,000 takes both processes from those who enter.
    await view.allWaitersListen({ withinMs: MS_FOR_A_CROWD, everyMs: size / 40 });
    const leave = async () => {
      for (const abort of aborts) abort.abort(new Error('gone'));
      return outcomes;
    };
    return { leave };
  };
  /** Calls and time of the scripts of all clients since the last reset. */
  const scripts = async () => {
    const stats = await redis.admin.info('commandstats');
    const [count, us] = [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+),usec=(\d+)/g)].reduce(
      ([count, us], [, calls, usec]) => [count + Number(calls), us + Number(usec)],
      [0, 0],
    );
    return `${String(count)} scripts of ${String(Math.round(us / Math.max(1, count)))} µs`;
  };
  const print = (size: number, what: string, figures: string, from?: number) => {
    const took = from === undefined ? '' : `, ${String(Math.round(performance.now() - from))} ms`;
    process.stdout.write(`${String(size)} fair waiters ${what}: ${figures}${took}\n`);
  };

  it.each([100, 1_000, 10_000])(
    'of %d asks by its first for all of them, and a release takes no longer for it',
    async (size) => {
      const lasting = { watchdogLeaseMs: MS_FOR_A_CROWD, claimTimeMs: 30_000 };
      const holder = open(lasting);
      const crowd = open({ ...lasting, pollIntervalMs: 500 });
      const held = await holder.locks.acquire('a');
      let from = performance.now();
      await redis.resetCommandStats();
      const asked = asking(crowd);
      const { leave } = await gather(crowd.locks, size);
      print(size, 'enter', await scripts(), from);

      // The next waiter is in the queue as they are, and gets the lock in the same way.
      const first = (await view.queue())[0] ?? '';
      // A waiter that begins to listen while it asks, asks once more. On a slow connection some ask
      // again within the next polls, for a reason that is not known.
      asked.owners = [];
      const polls = () => asked.owners.filter((owner) => owner === first).length;
      await eventually(() => polls() > 2 && asked.underWay === 0);
      asked.owners = [];
      from = performance.now();
      await redis.resetCommandStats();
      // The next poll comes after the release.
      await eventually(() => asked.owners.length >= POLLS && asked.underWay === 0);
      print(size, `wait for ${String(POLLS)} polls`, await scripts(), from);
      expect(new Set(asked.owners)).toEqual(new Set([first]));

      const sent = await redis.commandsDuring(() => held.release());
      print(size, 'behind a release', await scripts());
      delete sent.evalsha;
      expect(Object.values(sent).reduce((sum, count) => sum + count, 0)).toBeLessThan(40);

      await redis.resetCommandStats();
      from = performance.now();
      for (const outcome of await leave()) {
        if (outcome.status === 'fulfilled') await outcome.value.release();
      }
      await empty();
      print(size, 'leave', await scripts(), from);
    },
    2 * MS_FOR_A_CROWD,
  );

  it('of 5,000 that leaves at once does not keep its process from a release', async () => {
    const { locks } = open({ watchdogLeaseMs: MS_FOR_A_CROWD });
    const held = await locks.acquire('a');
    const { leave } = await gather(locks, 5_000);
    const sent = await redis.commandsDuring(async () => {
      const left = leave();
      // It rejects after 2 s.
      await held.release();
      expect((await left).map(({ status }) => status)).not.toContain('fulfilled');
      await empty();
    });
    // A waiter that leaves changes no score of another one, except at the end, when 8 are left.
    expect(sent.zadd ?? 0).toBeLessThan(8 * 8);
    expect(await redis.admin.exists(...Object.values(view.keys))).toBe(0);
  });

  describe('of two', () => {
    const quick = { pollIntervalMs: 50 };
    const freed = () => redis.admin.del('a');
    const crowd = async (settings = quick) => {
      const holder = open();
      const client = open(settings);
      await holder.locks.acquire('a', { leaseTimeMs: MS_FOR_A_CROWD });
      const abort = new AbortController();
      const first = await view.enqueue(client.locks, { signal: abort.signal });
      const second = await view.enqueue(client.locks);
      await view.allWaitersListen();
      return { client, abort, first, second };
    };

    it('asks by the second when the first has left', async () => {
      const { abort, first, second } = await crowd();
      abort.abort(new Error('gone'));
      await expect(first.promise).rejects.toThrow('gone');
      await freed();
      await (await second.promise).release();
    });

    it('is served in the order that Redis has', async () => {
      const { first, second } = await crowd();
      await redis.admin.multi().lpop(view.keys.queue).rpush(view.keys.queue, first.owner).exec();
      await freed();
      const lease = await second.promise;
      expect(first.state).toBe('pending');
      await lease.release();
      await (await first.promise).release();
    });

    it('is not stopped by a place in which no caller waits, although its process lives', async () => {
      const { client, first, second } = await crowd();
      const stray = `${client.context.id}:999999`;
      await redis.admin.lpush(view.keys.queue, stray);
      const record = (await view.records())[first.owner] ?? '';
      await redis.admin.hset(view.keys.waiting, stray, record.split(' ').slice(0, 2).join(' '));
      await freed();
      await (await first.promise).release();
      await (await second.promise).release();
      expect(await view.queue()).toEqual([]);
    });

    it('leaves the lock to a holder that still has its place', async () => {
      const { client, first, second } = await crowd();
      const record = (await view.records())[first.owner] ?? '';
      await freed();
      const lease = await first.promise;
      await redis.admin.lpush(view.keys.queue, first.owner);
      await redis.admin.hset(view.keys.waiting, first.owner, record);
      const { owners } = asking(client);
      await eventually(() => owners.length > POLLS || second.state !== 'pending');
      expect(second.state).toBe('pending');
      expect(await redis.admin.hexists('a', first.owner)).toBe(1);
      await lease.release();
      await (await second.promise).release();
    });

    it('tells both what is known of the lock', async () => {
      const { client, first, second } = await crowd();
      const third = client.locks.acquire('a', { waitTimeMs: 300 });
      const error = await third.catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(LockTimeoutError);
      expect((error as LockTimeoutError).retryAfterMs).toBeGreaterThan(MS_FOR_A_CROWD / 2);
      await freed();
      for (const { promise } of [first, second]) await (await promise).release();
    });
  });

  it('begins with a grant at once, however long ago its owner asked, if its process asked since', async () => {
    const rarely = { pollIntervalMs: 60_000, claimTimeMs: 2_000 };
    const [holder, client] = [open(rarely), open(rarely)];
    const held = await holder.locks.acquire('a');
    const next = await view.enqueue(client.locks);
    await view.allWaitersListen();
    const said = performance.now();
    await eventually(() => performance.now() - said > rarely.claimTimeMs / 2);
    const later = await view.enqueue(client.locks);
    const { owners } = asking(client);
    const atFirst = next.promise.then(() => [...owners]);
    await held.release();
    expect(await atFirst).not.toContain(next.owner);
    await (await next.promise).release();
    await (await later.promise).release();
  });
});
