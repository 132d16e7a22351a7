import { afterEach, describe, expect, it } from '@jest/globals';
import {
  FairLockService,
  LockArgumentError,
  LockService,
  ReadWriteLockService,
  SemaphoreService,
} from 'nestjs-redis-lock/core';
import type { LockContext } from '../../libs/redis-lock/src/core/lock-context.js';
import { ACQUIRE } from '../../libs/redis-lock/src/primitives/lua/hash-lock.js';
import { isOverNodeRedis } from '../support/client.js';
import { describeUnless } from '../support/server-facts.js';
import { eventually, Stopwatch, useLocks, useProxy, useRealRedis } from '../support/set-up.js';

/** Callers of each way to give up; three ways to be late make about a thousand cases. */
const CALLERS = 112;
/** A grant is released within a round trip of its arrival; here many of them are, in turn. */
const RELEASED_MS = 5 * 200;

describe('LockService when the caller has given up before the grant arrives', () => {
  const redis = useRealRedis();
  const proxy = useProxy(redis);
  afterEach(async () => {
    await redis.admin.config('SET', 'replica-serve-stale-data', 'yes');
    await redis.admin.replicaof('NO', 'ONE');
  });
  const open = useLocks(redis, (context) => new LockService(context));

  const opened = async () => {
    const client = open({ connection: proxy.current.url });
    // Redis learns the scripts, also in their form for many calls: nothing can be learned later on.
    for (const fenced of [false, true])
      for (const names of [['w'], ['w', 'x']]) {
        const leases = await Promise.all(
          names.map((name) => client.locks.acquire(name, { fenced })),
        );
        await Promise.all(leases.map((lease) => lease.release()));
      }
    return client;
  };

  /** Holds the next attempt that comes on a later connection. */
  const holdLater = () => {
    const present = proxy.current.counts.accepted;
    return proxy.current.hold('toServer', {
      containing: ACQUIRE.sha1,
      where: ({ index }) => index > present,
    });
  };
  type Client = Awaited<ReturnType<typeof opened>>;

  /** Each caller asks for a lock of its own, and no caller stays for the answer. */
  const giveUp = async ({ locks }: Client) => {
    const abort = new AbortController();
    const ask = (i: number) => [
      locks.acquire(`timeout:${i}`, { waitTimeMs: 40 }),
      locks.acquire(`abort:${i}`, { signal: abort.signal }),
      locks.using(`using:${i}`, () => 'never', { waitTimeMs: 60, fenced: i % 2 === 0 }),
    ];
    const callers = Promise.allSettled(Array.from({ length: CALLERS }, (_, i) => ask(i)).flat());
    await new Promise(setImmediate);
    abort.abort(new Error('no time'));
    const outcomes = await callers;
    expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true);
  };
  const locked = async () =>
    (await redis.admin.keys('*')).filter((key) => !key.startsWith('redisson_lock_token'));

  const expectReleased = async () => {
    const sinceArrival = new Stopwatch();
    await eventually(async () => (await locked()).length === 0);
    expect(sinceArrival.ms).toBeLessThan(RELEASED_MS);
  };

  it('releases what was granted while the answer was on its way', async () => {
    const client = await opened();
    const fault = proxy.current.hold('toClient');
    await giveUp(client);
    await eventually(async () => expect(await locked()).toHaveLength(3 * CALLERS));
    fault.heal();
    await expectReleased();
    expect(client.eventsOf('late-grant')).toHaveLength(3 * CALLERS);
    expect(client.eventsOf('acquired').map(({ name }) => name)).toEqual([
      ...['w', 'w', 'x', 'w', 'w', 'x'],
    ]);
  });

  it('releases what is granted after the request was on its way for too long', async () => {
    const client = await opened();
    const fault = proxy.current.hold('toServer');
    await giveUp(client);
    expect(await locked()).toEqual([]);
    fault.heal();
    await eventually(() => client.eventsOf('late-grant').length === 3 * CALLERS);
    await expectReleased();
  });

  describeUnless(isOverNodeRedis, 'node-redis sends nothing again')('in a cut', () => {
    it('releases what is granted when ioredis sends the request again', async () => {
      const client = await opened();
      const fault = proxy.current.hold('toClient');
      const given = giveUp(client);
      await eventually(async () => (await locked()).length === 3 * CALLERS);
      proxy.current.refuse();
      proxy.current.cut();
      fault.heal();
      await given;
      // As after a restart without data: nothing is held, until the requests arrive once more.
      await redis.admin.flushall();
      await proxy.current.accept();
      await eventually(() => client.eventsOf('late-grant').length === 3 * CALLERS);
      await expectReleased();
    });
  });

  it('releases a grant that could not be released at first', async () => {
    const client = await opened();
    const fault = proxy.current.hold('toClient', { containing: '' });
    const acquiring = client.locks.acquire('a', { waitTimeMs: 20 });
    await expect(acquiring).rejects.toMatchObject({ code: 'LOCK_BACKEND', outcome: 'unknown' });
    await eventually(async () => (await locked()).length === 1);
    // The answer arrives, and then the connection is gone before anything can be sent.
    proxy.current.loseRequest({ times: 3 });
    fault.heal();
    await eventually(async () => (await locked()).length === 0);
    expect(client.eventsOf('late-grant')).toHaveLength(1);
  });

  it('releases what an attempt may have got when a later one is refused, both too late', async () => {
    // ioredis may not send anything again: the first attempt fails although it was executed.
    const client = open({
      connection: { host: '127.0.0.1', port: proxy.current.port, maxRetriesPerRequest: 0 },
    });
    await (await client.locks.acquire('w')).release();
    proxy.current.loseReply({ containing: ACQUIRE.sha1, times: 1 });
    const second = holdLater();
    const acquiring = client.locks.acquire('a', { waitTimeMs: 3_000 });
    await eventually(() => second.hits === 1);
    await expect(acquiring).rejects.toMatchObject({ code: 'LOCK_BACKEND', outcome: 'unknown' });
    expect(await redis.admin.exists('a')).toBe(1);
    // A replica without its master refuses everything, and so has certainly done nothing.
    await redis.admin.config('SET', 'replica-serve-stale-data', 'no');
    await redis.admin.replicaof('127.0.0.1', 1);
    second.heal();
    await eventually(async () => (await redis.admin.info('errorstats')).includes('MASTERDOWN'));
    await redis.admin.replicaof('NO', 'ONE');
    await eventually(async () => (await redis.admin.exists('a')) === 0);
  });

  it('releases what the first delivery got when the second is refused', async () => {
    const client = await opened();
    proxy.current.loseReply({ containing: ACQUIRE.sha1, times: 1 });
    const second = holdLater();
    const acquiring = client.locks.acquire('a', { waitTimeMs: 1_500 });
    await eventually(() => second.hits === 1);
    // As in a failover: the lock was replicated, and the server that is asked again is a replica.
    await redis.admin.replicaof('127.0.0.1', 1);
    second.heal();
    await expect(acquiring).rejects.toMatchObject({ code: 'LOCK_BACKEND', outcome: 'unknown' });
    expect(await redis.admin.exists('a')).toBe(1);
    await redis.admin.replicaof('NO', 'ONE');
    await eventually(async () => (await redis.admin.exists('a')) === 0);
  });

  it('lets the next local caller in, not the one that has left', async () => {
    const client = await opened();
    const fault = proxy.current.hold('toClient');
    const left = client.locks.acquire('a', { waitTimeMs: 30 });
    const next = client.locks.acquire('a');
    await expect(left).rejects.toMatchObject({ code: 'LOCK_BACKEND' });
    fault.heal();
    const lease = await next;
    expect(await redis.admin.hgetall('a')).toEqual({ [lease.owner]: '1' });
    lease.assertHeld();
  });

  it('lets a caller in that comes while the attempt of one that has left is on its way', async () => {
    const client = await opened();
    const fault = proxy.current.hold('toClient');
    await expect(client.locks.acquire('a', { waitTimeMs: 30 })).rejects.toMatchObject({
      code: 'LOCK_BACKEND',
    });
    const next = client.locks.acquire('a');
    const try1 = client.locks.tryAcquire('a');
    fault.heal();
    const lease = await next;
    expect(await try1).toBeNull();
    expect(await redis.admin.hgetall('a')).toEqual({ [lease.owner]: '1' });
  });
});

/** A lock of each kind; the name is that of its key. */
const KINDS = ['plain', 'fair', 'read', 'write', 'permit', 'multi'] as const;
const locksOf = (context: LockContext) => {
  const locks = new LockService(context);
  const { read, write } = new ReadWriteLockService(context).get('rw');
  return {
    plain: locks.get('plain'),
    fair: new FairLockService(context).get('fair'),
    ...{ read, write },
    permit: new SemaphoreService(context).get('permit', { capacity: 1 }),
    multi: locks.multi(['m1', 'm2']),
  } satisfies Record<(typeof KINDS)[number], unknown>;
};

describe('a lease that is shorter than a round trip', () => {
  const redis = useRealRedis();
  const proxy = useProxy(redis);
  const open = useLocks(redis, locksOf);
  const LEASE_MS = 40;

  it.each(KINDS)(
    'of a %s is granted three times, and then refused by its numbers',
    async (kind) => {
      const { locks } = open({ connection: proxy.current.url });
      const lock = locks[kind];
      await (await lock.acquire({ leaseTimeMs: 5_000 }))[Symbol.asyncDispose]();
      proxy.current.delay('toClient', 2 * LEASE_MS);
      for (const take of [lock.acquire, lock.tryAcquire]) {
        await redis.resetCommandStats();
        const error = await take.call(lock, { leaseTimeMs: LEASE_MS }).catch((e: unknown) => e);
        // No kind of `LockBackendError`: Redis answers, and `onBackendError` must not run the work.
        expect(error).toBeInstanceOf(LockArgumentError);
        expect(String(error)).toMatch(/its lease of 40 ms ended before .* after \d{2,} ms; raise/);
        const { evalsha = 0, eval: texts = 0 } = await redis.commandStats();
        // Three grants and what cancels them, five times.
        expect(evalsha + texts).toBeLessThanOrEqual(5 * 6);
      }
      await proxy.current.heal();
      await (await lock.acquire({ leaseTimeMs: 5_000 }))[Symbol.asyncDispose]();
    },
  );

  it('is refused so too when the time ends before Redis answers again', async () => {
    const { locks } = open({ connection: proxy.current.url });
    await (await locks.plain.acquire())[Symbol.asyncDispose]();
    proxy.current.delay('toClient', 2_000);
    const short = locks.plain.acquire({ leaseTimeMs: 100, waitTimeMs: 3_900 });
    await expect(short).rejects.toThrow(/its lease of 100 ms ended before/);
  });
});
