import { afterEach, describe, expect, it } from '@jest/globals';
import {
  FairLockService,
  LeaseLostError,
  LatchService,
  LockArgumentError,
  LockKeyError,
  LockMonitor,
  LockService,
  LockStateError,
  ReadWriteLockService,
  SemaphoreService,
  type Lease,
  type PermitLease,
} from 'nestjs-redis-lock/core';
import { forceRelease } from '../../libs/redis-lock/src/core/force-release.js';
import { ReentrantLockProtocol } from '../../libs/redis-lock/src/primitives/lock/lock-protocol.js';
import { eventually, untilQueued, useLocks, useRedis } from '../support/set-up.js';

const redis = useRedis();
const open = useLocks(redis, (context) => ({
  monitor: new LockMonitor(context),
  plain: new LockService(context),
  fair: new FairLockService(context),
  readWrite: new ReadWriteLockService(context),
  semaphores: new SemaphoreService(context),
  latches: new LatchService(context),
}));
const LEASE = { leaseTimeMs: 20_000 };
const NOT_HELD = { remainingMs: 0, holders: [], holderCount: 0, queues: [] };
const nearly = (ms: number) => expect.closeTo(ms, -4);

afterEach(async () => {
  await redis.admin.flushall();
});

describe('LockMonitor.inspect', () => {
  it('finds nothing under a free name', async () => {
    const { monitor } = open({ keyPrefix: 'app:' }).locks;
    expect(await monitor.inspect('a')).toEqual({
      ...{ name: 'a', key: 'app:a', kinds: [] },
      ...NOT_HELD,
    });
  });

  it('asks by one script, and by one for each process, and changes nothing', async () => {
    const { monitor, plain } = open().locks;
    await plain.acquire('a', LEASE);
    await monitor.inspect('a');
    const changes = await redis.changes();
    const sent = await redis.commandsDuring(() => monitor.inspect('a'));
    expect(sent.evalsha).toBe(2);
    expect(await redis.changes()).toBe(changes);
  });

  it.each(['a', '{shop}:a'])('shows the holder of the lock %s and who waits', async (name) => {
    const [ours, other] = [open(), open()];
    let next: Promise<Lease> | undefined;
    await ours.locks.plain.using(
      name,
      async (outer) => {
        const nested = await ours.locks.plain.acquire(name, { fenced: true, ...LEASE });
        const { fencingToken } = nested;
        const waiting = other.locks.plain.acquire(name);
        await untilQueued(redis, name, [other]);
        const found = await ours.locks.monitor.inspect(name);
        expect(found).toEqual({
          ...{ name, key: name, kinds: ['lock'], remainingMs: nearly(20_000) },
          holders: [
            { kind: 'lock', owner: outer.owner, holdCount: 2, remainingMs: found.remainingMs },
          ],
          ...{ holderCount: 1, fencingToken },
          queues: [
            {
              ...{ kind: 'lock', each: 'process', length: 1 },
              waiters: [
                {
                  who: other.context.id,
                  ...{ waitedMs: expect.any(Number), forgottenInMs: expect.any(Number) },
                },
              ],
            },
          ],
        });
        await nested.release();
        next = waiting;
      },
      LEASE,
    );
    await (await next)?.release();
  });

  it('tells a lease without an end, and one that was handed over and not begun', async () => {
    const { monitor } = open().locks;
    await redis.admin.hset('a', 'java:7', 0);
    expect(await monitor.inspect('a')).toMatchObject({
      remainingMs: Infinity,
      holders: [{ owner: 'java:7', holdCount: 0, remainingMs: Infinity }],
    });
  });

  it('shows the queue of a fair lock in its order, also once the lock is free', async () => {
    const { monitor, fair } = open().locks;
    const held = await fair.acquire('a', LEASE);
    const waiting = fair.acquire('a');
    await eventually(async () => (await redis.admin.llen('redisson_lock_queue:{a}')) === 1);
    await redis.admin.rpush('redisson_lock_queue:{a}', 'java:12');
    await redis.admin.zadd('redisson_lock_timeout:{a}', Date.now() + 20_000, 'java:12');
    const { kinds, holders, queues } = await monitor.inspect('a');
    expect(kinds).toEqual(['fair']);
    expect(holders).toMatchObject([{ kind: 'fair', owner: held.owner }]);
    const [first] = queues[0]?.waiters ?? [];
    expect(queues).toEqual([
      {
        ...{ kind: 'fair', each: 'caller', length: 2 },
        waiters: [first, { who: 'java:12', forgottenInMs: nearly(20_000) }],
      },
    ]);
    expect(first).toEqual({
      who: expect.any(String),
      ...{ waitedMs: expect.any(Number), forgottenInMs: nearly(5_000) },
    });
    await held.release();
    await (await waiting).release();
    const over = await monitor.inspect('a');
    expect(over).toMatchObject({ kinds: ['fair'], ...NOT_HELD, queues: [{ length: 1 }] });
  });

  it('shows readers with a lease each, the dead too, and writers that wait', async () => {
    const [ours, other] = [open(), open()];
    const { monitor, readWrite } = ours.locks;
    const reading = await readWrite.get('a').read.acquire(LEASE);
    const writing = other.locks.readWrite.get('a').write.acquire();
    await untilQueued(redis, 'a', [other], 'rwlock');
    await redis.admin.hset('a', 'dead:1', 3);
    const found = await monitor.inspect('a');
    expect(found).toMatchObject({ kinds: ['read', 'write'], holderCount: 2 });
    expect(found.remainingMs).toEqual(nearly(20_000));
    expect(found.holders).toEqual([
      { kind: 'read', owner: reading.owner, holdCount: 1, remainingMs: found.remainingMs },
      { kind: 'read', owner: 'dead:1', holdCount: 3, remainingMs: 0 },
    ]);
    expect(found.queues.map(({ kind, each }) => [kind, each])).toEqual([
      ['write', 'process'],
      ['write', 'caller'],
    ]);
    await reading.release();
    const lease = await writing;
    const late = readWrite.get('a').read.acquire();
    await eventually(async () => (await redis.admin.zcard('nestjs_rwlock_readers:{a}')) === 1);
    const written = await monitor.inspect('a');
    expect(written).toMatchObject({
      kinds: ['write', 'read'],
      holders: [{ kind: 'write', owner: lease.owner }],
      queues: [{ kind: 'read', each: 'caller', length: 1 }],
    });
    await lease.release();
    await (await late).release();
  });

  it('shows the permits of a semaphore, and a caller for several', async () => {
    const [ours, other] = [open(), open()];
    const { monitor, semaphores } = ours.locks;
    await semaphores.get('a').setPermits(4);
    const lease = await semaphores.get('a').acquire({ permits: 2, ...LEASE });
    const waiting = other.locks.semaphores.get('a').acquire({ permits: 3 });
    await eventually(() => redis.admin.exists('nestjs_semaphore_waiting:{a}').then(Boolean));
    await redis.admin.decrby('a', 1);
    await redis.admin.zadd('{a}:timeout', Date.now() - 1_000, 'is over for long');
    const { kinds, holders, permits, queues, count } = await monitor.inspect('a');
    expect({ kinds, count }).toEqual({ kinds: ['semaphore'], count: undefined });
    expect(permits).toEqual({ available: 2, acquired: 2, capacity: 4 });
    expect(permits?.available).toBe(await semaphores.get('a').availablePermits());
    expect(holders.map(({ owner }) => owner).sort()).toEqual([...lease.permitIds].sort());
    for (const { remainingMs } of holders) expect(remainingMs).toEqual(nearly(20_000));
    expect(queues).toMatchObject([{ kind: 'semaphore', length: 1, waiters: [{ permits: 3 }] }]);
    await lease.release();
    await (await waiting).release();
    await redis.admin.zadd('{a}:timeout', '922337203685477', 'sixteen bytes ok');
    expect(await monitor.inspect('a')).toMatchObject({
      remainingMs: Infinity,
      holders: [{ owner: Buffer.from('sixteen bytes ok').toString('hex') }],
    });
    await redis.admin.flushall();
  });

  it('says of a bare number all that it can be', async () => {
    const { monitor, latches, semaphores } = open().locks;
    await latches.get('a').trySetCount(3);
    expect(await monitor.inspect('a')).toEqual({
      ...{ name: 'a', key: 'a', kinds: ['semaphore', 'counting-semaphore', 'latch'] },
      ...{ ...NOT_HELD, count: 3, permits: { available: 3, acquired: 0, capacity: 3 } },
    });
    await semaphores.counting('b').addPermits(-2);
    const { kinds, count } = await monitor.inspect('b');
    expect({ kinds, count }).toEqual({ kinds: ['semaphore', 'counting-semaphore'], count: -2 });
  });

  it.each<[string, (key: string) => Promise<unknown>]>([
    ['a list', (key) => redis.admin.rpush(key, 'x')],
    ['a text', (key) => redis.admin.set(key, '1e3')],
    ['a hash of another kind', (key) => redis.admin.hset(key, 'name', 'Li')],
    ['a hash of two owners', (key) => redis.admin.hset(key, 'a:1', 1, 'b:1', 1)],
    ['a lock with a text for a count', (key) => redis.admin.hset(key, 'a:1', 'often')],
    ['a read-write lock without an owner', (key) => redis.admin.hset(key, 'mode', 'read')],
  ])('rejects for %s, which is no lock', async (_, write) => {
    await write('a');
    await expect(open().locks.monitor.inspect('a')).rejects.toThrow(LockStateError);
  });

  it('survives helper keys of another type, and numbers that are none', async () => {
    const { monitor } = open().locks;
    for (const key of ['redisson_lock_queue:{a}', '{a}:timeout', 'redisson_lock_token:{a}']) {
      await redis.admin.hset(key, 'x', 1);
    }
    for (const key of ['nestjs_lock_queue:{a}', 'nestjs_rwlock_writers:{a}']) {
      await redis.admin.rpush(key, 'x');
    }
    expect(await monitor.inspect('a')).toMatchObject({ kinds: [], ...NOT_HELD });
    await redis.admin.flushall();
    await redis.admin.zadd('{a}:timeout', 'inf', 'a permit of Java');
    await redis.admin.zadd('nestjs_lock_queue:{a}', '-inf', 'waiter', 'inf', 'another');
    await redis.admin.set('redisson_lock_token:{a}', 'none');
    const { queues, fencingToken, holders } = await monitor.inspect('a');
    expect(fencingToken).toBeUndefined();
    expect(holders).toMatchObject([{ remainingMs: Infinity }]);
    const [first, second] = queues[0]?.waiters ?? [];
    expect(first?.waitedMs).toBe(Number.MAX_SAFE_INTEGER);
    expect(second?.waitedMs).toBe(0);
    await redis.admin.flushall();
  });

  it('shows the first hundred of a long list, and its length', async () => {
    const { monitor } = open().locks;
    const owners = Array.from({ length: 250 }, (_, i) => `java:${String(i)}`);
    await redis.admin.rpush('redisson_lock_queue:{a}', ...owners);
    await redis.admin.hset('a', 'mode', 'read', ...owners.flatMap((owner) => [owner, '1']));
    const { queues, holders, holderCount } = await monitor.inspect('a');
    expect({ holders: holders.length, holderCount }).toEqual({ holders: 100, holderCount: 250 });
    expect(queues).toMatchObject([{ length: 250 }]);
    expect(queues[0]?.waiters.map(({ who }) => who)).toEqual(owners.slice(0, 100));
  });

  it('reads no long hash that is no lock', async () => {
    const fields = Array.from({ length: 1_000 }, (_, i) => [`java:${String(i)}`, '1']).flat();
    await redis.admin.hset('a', ...fields);
    const sent = await redis.commandsDuring(() =>
      expect(open().locks.monitor.inspect('a')).rejects.toThrow(LockStateError),
    );
    expect(Object.keys(sent)).not.toContain('hgetall');
    expect(Object.keys(sent)).not.toContain('hkeys');
  });

  it('refuses a name that cannot be one', async () => {
    const { monitor } = open().locks;
    await expect(monitor.inspect('a{b')).rejects.toThrow(LockKeyError);
    await expect(monitor.forceRelease('')).rejects.toThrow(LockKeyError);
  });
});

describe('what the process of a holder learns', () => {
  /** One hold of each kind, and the name of each. */
  const held = async ({ plain, fair, readWrite, semaphores }: ReturnType<typeof open>['locks']) => {
    await semaphores.get('permits').setPermits(3);
    return [
      await plain.acquire('lock', LEASE),
      await fair.acquire('fair', LEASE),
      await readWrite.get('read').read.acquire(LEASE),
      await readWrite.get('write').write.acquire(LEASE),
      await semaphores.get('permits').acquire({ permits: 2, ...LEASE }),
    ];
  };

  it('by inspect, ends what Redis shows no more', async () => {
    const client = open();
    const { monitor, semaphores } = client.locks;
    const leases = await held(client.locks);
    for (const { name } of leases) await monitor.inspect(name);
    for (const lease of leases) lease.assertHeld();
    const [first = ''] = (leases.at(-1) as PermitLease).permitIds;
    await redis.admin.del('lock', 'fair', 'read', 'write');
    await open().locks.semaphores.get('permits').release(first);
    for (const { name } of leases) await monitor.inspect(name);
    for (const lease of leases) expect(() => lease.assertHeld()).toThrow(LeaseLostError);
    const names = client.eventsOf('lost').map(({ name }) => name);
    expect(names).toEqual(leases.map(({ name }) => name));
    expect(await semaphores.get('permits').acquiredPermits()).toBe(1);
    await redis.admin.flushall();
  });

  it('by inspect, says nothing of a hold that a long list leaves out', async () => {
    const client = open();
    const { monitor, semaphores } = client.locks;
    const pool = semaphores.get('a');
    await pool.setPermits(200);
    const lease = await pool.acquire({ permits: 150, ...LEASE });
    expect((await monitor.inspect('a')).holders).toHaveLength(100);
    lease.assertHeld();
    await lease.release();
  });

  it('by its own forceRelease, ends what it took away', async () => {
    const client = open();
    const { monitor } = client.locks;
    const leases = await held(client.locks);
    for (const { name } of leases) expect(await monitor.forceRelease(name)).toBe(true);
    for (const lease of leases) expect(() => lease.assertHeld()).toThrow(LeaseLostError);
    expect(client.eventsOf('lost')).toHaveLength(leases.length);
  });
});

describe('LockMonitor.forceRelease', () => {
  it('resolves with false where nothing is held', async () => {
    const client = open();
    const { monitor, latches } = client.locks;
    await latches.get('latch').trySetCount(3);
    for (const name of ['free', 'latch']) expect(await monitor.forceRelease(name)).toBe(false);
    expect(await monitor.forceRelease('free', { kind: 'fair' })).toBe(false);
    expect(await latches.get('latch').getCount()).toBe(3);
    expect(client.eventsOf('force-released')).toEqual([]);
  });

  it.each(['lock', 'fair', 'read', 'write'] as const)(
    'takes away a %s, hands it to the next one, and tells of the holder',
    async (kind) => {
      const [ours, other, admin] = [open(), open({ pollIntervalMs: 60_000 }), open()];
      const lockOf = ({ plain, fair, readWrite }: typeof ours.locks) =>
        kind === 'lock'
          ? plain.get('a')
          : kind === 'fair'
            ? fair.get('a')
            : readWrite.get('a')[kind];
      const { owner } = await lockOf(ours.locks).acquire(LEASE);
      const isHeld = kind !== 'read';
      const rival = isHeld ? lockOf(other.locks) : other.locks.readWrite.get('a').write;
      const waiting = rival.acquire({ waitTimeMs: 60_000 });
      const queue = kind === 'fair' ? 'redisson_lock_queue:{a}' : 'nestjs_*_queue:{a}';
      await eventually(async () => (await redis.admin.keys(queue)).length === 1);
      expect(await admin.locks.monitor.forceRelease('a', { reason: 'stuck' })).toBe(true);
      const next = await waiting;
      expect(admin.eventsOf('force-released')).toEqual([
        {
          ...{ type: 'force-released', name: 'a', kind, reason: 'stuck' },
          ...{ holders: [{ owner, holdCount: 1 }], remainingMs: nearly(20_000) },
        },
      ]);
      await next.release();
    },
  );

  it('takes permits away, and leaves those that were acquired since', async () => {
    const client = open();
    const { monitor, semaphores } = client.locks;
    const pool = semaphores.get('a');
    await pool.setPermits(3);
    const { permitIds } = await pool.acquire({ permits: 2, ...LEASE });
    const later = await pool.acquire(LEASE);
    const owners = [...permitIds, 'f'.repeat(32)];
    expect(await monitor.forceRelease('a', { owners })).toBe(true);
    expect(await pool.acquiredPermits()).toBe(1);
    const [told] = client.eventsOf('force-released');
    expect(told).toMatchObject({ kind: 'semaphore', remainingMs: nearly(20_000) });
    expect(told?.holders).toHaveLength(2);
    expect(await monitor.forceRelease('a', { owners })).toBe(false);
    await later.renew();
    expect(await monitor.forceRelease('a', { kind: 'semaphore' })).toBe(true);
    expect(await pool.permits()).toBe(3);
    expect(await pool.availablePermits()).toBe(3);
  });

  it('tells of no holder that has released in the meantime', async () => {
    const client = open();
    const { context } = client;
    const seen = { holders: [{ owner: 'gone:1', holdCount: 1 }], remainingMs: 5_000 };
    const protocol = new ReentrantLockProtocol(context);
    const next = await client.locks.plain.acquire('a', LEASE);
    expect(await forceRelease(context, protocol, 'a', seen)).toBe(false);
    expect(client.eventsOf('force-released')).toEqual([]);
    await next.renew();
    await next.release();
  });

  it('asks for the kind where a writer reads as well', async () => {
    const { monitor, readWrite } = open().locks;
    const { read, write } = readWrite.get('a');
    await write
      .using(() =>
        read.using(async () => {
          await expect(monitor.forceRelease('a')).rejects.toThrow(
            new LockStateError('Lock "a" is held in two ways: give the kind, write or read'),
          );
          expect((await monitor.inspect('a')).kinds.toSorted()).toEqual(['read', 'write']);
          expect(await monitor.forceRelease('a', { kind: 'write' })).toBe(true);
          expect(await monitor.forceRelease('a')).toBe(true);
          expect((await monitor.inspect('a')).kinds).toEqual([]);
        }),
      )
      .catch((error: unknown) => {
        expect(error).toMatchObject({ code: 'LEASE_LOST' });
      });
  });

  it('frees nothing of a reader that is dead already', async () => {
    const { monitor } = open().locks;
    await redis.admin.hset('a', 'mode', 'read', 'dead:1', 1);
    expect(await monitor.forceRelease('a')).toBe(false);
  });

  it.each([{ kind: 'latch' }, { kind: 'red' }, { kind: 7 }, { why: 'x' }, { reason: '' }, null])(
    'refuses %j before anything is sent',
    async (options) => {
      const { monitor } = open().locks;
      const sent = await redis.commandsDuring(() =>
        expect(monitor.forceRelease('a', options as object)).rejects.toThrow(LockArgumentError),
      );
      expect(sent.evalsha ?? sent.eval).toBeUndefined();
    },
  );
});
