import { describe, expect, it } from '@jest/globals';
import {
  CurrentLock,
  FairLockService,
  LeaseLostError,
  LockArgumentError,
  LockBackendError,
  LockKeyError,
  LockService,
  LockTimeoutError,
  ReadWriteLockService,
  type Lock,
  type MultiLease,
} from 'nestjs-redis-lock/core';
import { systemClock } from '../../libs/redis-lock/src/core/time/clock.js';
import { PROMPT_MS, roundTrips, Section, watch } from '../contract/suite.js';
import { eventually, seededRandom, useLocks, useProxy, useRealRedis } from '../support/set-up.js';
import { Stopwatch } from '../support/stopwatch.js';

describe('LockService.multi', () => {
  const redis = useRealRedis();
  const second = useRealRedis();
  const proxy = useProxy(redis);
  const open = useLocks(redis, (context) => new LockService(context));
  const heldKeys = async () => (await redis.admin.keys('[^n]*')).sort();

  it('gets all locks with one lease, and releases all of them', async () => {
    const { locks } = open();
    const lease = await locks.multi(['c', 'a', 'b']).acquire();
    expect(await heldKeys()).toEqual(['a', 'b', 'c']);
    expect(lease).toMatchObject({ name: 'a, b, c', state: 'held', holdCount: 1 });
    expect(lease.leases.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    expect(lease.remainingMs).toBeGreaterThan(20_000);
    lease.assertHeld();

    await lease.release();
    await lease.release();
    expect(lease.state).toBe('released');
    expect(await heldKeys()).toEqual([]);
  });

  it('takes each lock once, also through another multi lock', async () => {
    const { locks } = open();
    const both = locks.multi(['b', 'a', locks.get('b')]);
    const all = locks.multi([both, 'c', 'a']);
    expect(all.locks.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    await all.using((lease: MultiLease) => expect(lease.leases).toHaveLength(3));
    expect(await heldKeys()).toEqual([]);
  });

  it('gives a fencing token with each lease', async () => {
    const { locks } = open();
    const first = await locks.multi(['a', 'b']).acquire({ fenced: true });
    const tokens = first.leases.map(({ fencingToken }) => fencingToken ?? 0);
    await first.release();
    const second = await locks.multi(['a', 'b']).acquire({ fenced: true });
    second.leases.forEach((lease, i) => expect(lease.fencingToken).toBeGreaterThan(tokens[i] ?? 0));
    await second.release();
  });

  it('keeps nothing when one of them is held by another owner', async () => {
    const [mine, other] = [open().locks, open().locks];
    const theirs = await other.acquire('b');
    const all = mine.multi(['a', 'b', 'c']);

    expect(await all.tryAcquire()).toBeNull();
    const error = await all.acquire({ waitTimeMs: 400 }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LockTimeoutError);
    expect(error).toMatchObject({ lockName: 'b', blockedBy: 'other' });
    expect((error as LockTimeoutError).waitedMs).toBeGreaterThanOrEqual(400);
    expect(await heldKeys()).toEqual(['b']);
    await theirs.release();
  });

  it('takes locks of several kinds together, joins all of them, or keeps none', async () => {
    const kindsOf = ({ locks, context }: ReturnType<typeof open>) => [
      new ReadWriteLockService(context).get('a').write,
      new FairLockService(context).get('b'),
      locks.get('c'),
    ];
    const [mine, other] = [open(), open()];
    const [all, theirs] = [mine.locks.multi(kindsOf(mine)), kindsOf(other)];
    await all.using(async ({ leases: [writing] }) => {
      const written = { mode: 'write', [`${writing?.owner ?? ''}:write`]: '1' };
      expect(await redis.admin.hgetall('a')).toEqual(written);
      await all.using(({ holdCount }) => expect(holdCount).toBe(2));
      expect(await redis.admin.hgetall('a')).toEqual(written);
      for (const lock of theirs) expect(await lock.tryAcquire()).toBeNull();
    });
    expect(await heldKeys()).toEqual([]);
    for (const lock of theirs) {
      await lock.using(async () => {
        expect(await all.tryAcquire()).toBeNull();
        expect(await heldKeys()).toEqual([lock.name]);
      });
    }
  });

  it('has one deadline for all', async () => {
    const [mine, other] = [open().locks, open().locks];
    const [a, b] = [await other.acquire('a'), await other.acquire('b')];
    const stopwatch = new Stopwatch();
    const waiting = watch(mine.multi(['a', 'b']).acquire({ waitTimeMs: 1_000 }));
    await redis.listening('redisson_lock__channel:{a}');
    await a.release();
    await expect(waiting.promise).rejects.toThrow(LockTimeoutError);
    expect(stopwatch.realMs).toBeGreaterThanOrEqual(999);
    expect(stopwatch.ms).toBeLessThan(1_000 + PROMPT_MS);
    expect(await heldKeys()).toEqual(['b']);
    await b.release();
  });

  it('goes on as soon as the last of them is free', async () => {
    const [mine, other] = [open().locks, open().locks];
    const held = await other.multi(['a', 'b']).acquire();
    const waiting = mine.multi(['b', 'a']).acquire();
    await eventually(async () => (await redis.wakeUpChannels()).length === 1);
    await held.release();
    await (await waiting).release();
  });

  it('never waits for itself the other way round, whatever the order of the names', async () => {
    const random = seededRandom('multi lock');
    const clients = Array.from({ length: 4 }, () => open().locks);
    const sections = new Map(['a', 'b', 'c'].map((name) => [name, new Section()]));
    const rounds = clients.map(async (locks) => {
      for (let i = 0; i < 25; i += 1) {
        const names = random.shuffle([...sections.keys()]).slice(0, random.int(2, 3));
        const inside = (rest: string[]): Promise<unknown> =>
          sections.get(rest[0] ?? '')?.run(() => inside(rest.slice(1))) ?? roundTrips(redis, 1);
        await locks.multi(names).using(() => inside(names));
      }
    });
    await Promise.all(rounds);
    for (const { most } of sections.values()) expect(most).toBe(1);
  });

  it('lets exactly one of ten in that do not wait, and keeps it for its lease', async () => {
    const clients = Array.from({ length: 10 }, () => open().locks);
    const tries = clients.map((locks, i) =>
      locks.multi(i % 2 === 0 ? ['a', 'b'] : ['b', 'a']).tryAcquire({ leaseTimeMs: 10_000 }),
    );
    const leases = (await Promise.all(tries)).filter((lease) => lease !== null);
    expect(leases).toHaveLength(1);
    expect(await heldKeys()).toEqual(['a', 'b']);
    for (const name of ['a', 'b']) {
      expect(await redis.admin.pttl(name)).toBeGreaterThan(5_000);
      expect(await redis.admin.pttl(name)).toBeLessThanOrEqual(10_000);
    }
    await leases[0]?.release();
  });

  it('spans several servers: all of them or none', async () => {
    const [mine, there] = [open(), open({ connection: second.url })];
    const all = mine.locks.multi(['a', there.locks.get('a'), there.locks.get('b')]);
    const lease = await all.acquire();
    expect(await heldKeys()).toEqual(['a']);
    expect((await second.admin.keys('*')).sort()).toEqual(['a', 'b']);
    expect(
      await open()
        .locks.multi(['a', there.locks.get('b')])
        .tryAcquire(),
    ).toBeNull();
    await lease.release();

    const theirs = await there.locks.acquire('b');
    expect(await all.tryAcquire()).toBeNull();
    expect(await heldKeys()).toEqual([]);
    expect(await second.admin.keys('*')).toEqual(['b']);
    await theirs.release();
  });

  it('takes locks of one name on several servers in the order given, in every process', () => {
    const [here, there] = [open(), open({ connection: second.url })].map(({ locks }) =>
      locks.get('b'),
    );
    const { locks } = open();
    for (const given of [
      [here, there],
      [there, here],
    ] as Lock[][]) {
      expect(locks.multi([...given, 'a']).locks.slice(1)).toEqual(given);
    }
  });

  it('tells the loss of one of them by one signal, one state and assertHeld', async () => {
    const { locks } = open({ watchdogLeaseMs: 4_000 });
    const lease = await locks.multi(['a', 'b']).acquire();
    expect(lease.signal.aborted).toBe(false);
    await redis.admin.del('b');
    await eventually(() => lease.signal.aborted);
    expect(lease.signal.reason).toBeInstanceOf(LeaseLostError);
    expect(lease.signal.reason).toMatchObject({ lockName: 'b', reason: 'gone' });
    expect(lease.state).toBe('lost');
    expect(() => lease.assertHeld()).toThrow(LeaseLostError);
    expect(await heldKeys()).toEqual(['a']);
    await expect(lease.release()).rejects.toThrow(LeaseLostError);
    expect(await heldKeys()).toEqual([]);
  });

  it('has each of them renewed when the machine stood still', async () => {
    const ahead = { ms: 0 };
    const clock = { ...systemClock, wall: () => systemClock.wall() + ahead.ms };
    const lease = await open({ clock }).locks.multi(['a', 'b']).acquire();
    ahead.ms = 60_000;
    expect(() => lease.assertHeld()).toThrow(LeaseLostError);
    await eventually(() => lease.state === 'held');
    lease.assertHeld();
    await lease.release();
  });

  it('releases all others when the release of one fails', async () => {
    const direct = open();
    const faulty = open({ connection: proxy.current.url });
    const all = direct.locks.multi([faulty.locks.get('a'), 'b', 'c']);
    const lease = await all.acquire();
    expect(await heldKeys()).toEqual(['a', 'b', 'c']);
    proxy.current.refuse();
    proxy.current.cut();
    await expect(lease.release()).rejects.toThrow(LockBackendError);
    expect(await heldKeys()).toEqual(['a']);
    await proxy.current.heal();
    await eventually(async () => (await heldKeys()).length === 0);
  });

  it('prolongs all of them, and holds each for the whole lease, however long the others took', async () => {
    const [mine, other] = [open().locks, open().locks];
    const b = await other.acquire('b');
    const waiting = mine.multi(['a', 'b']).acquire({ leaseTimeMs: 10_000 });
    await eventually(async () => (await redis.admin.pexpire('a', 3_000)) === 1);
    // By then, a tenth of the lease is over, and it is worth a renewal.
    await eventually(async () => (await redis.admin.pttl('a')) < 2_000);
    await b.release();
    const lease = await waiting;
    expect(await redis.admin.pttl('a')).toBeGreaterThan(5_000);
    await lease.renew(60_000);
    expect(await redis.admin.pttl('a')).toBeGreaterThan(50_000);
    expect(await redis.admin.pttl('b')).toBeGreaterThan(50_000);
    expect(lease.remainingMs).toBeGreaterThan(50_000);
    await lease.release();
  });

  it('begins anew when one was lost while the others were waited for', async () => {
    const [mine, other] = [open().locks, open().locks];
    const b = await other.acquire('b');
    const waiting = mine.multi(['a', 'b']).acquire({ leaseTimeMs: 500 });
    await eventually(async () => (await redis.admin.exists('a')) === 1);
    await eventually(async () => (await redis.admin.exists('a')) === 0);
    await b.release();
    const lease = await waiting;
    lease.assertHeld();
    await lease.release();
  });

  it('lets work inside join each of its locks', async () => {
    const { locks } = open();
    await locks.multi(['a', 'b']).using(async (lease) => {
      expect(CurrentLock.lease()).toBe(lease);
      await locks.using('b', (nested) => expect(nested.holdCount).toBe(2));
      await locks.multi(['b', 'c']).using(({ leases }) => {
        expect(leases.map(({ holdCount }) => holdCount)).toEqual([2, 1]);
      });
      expect(await heldKeys()).toEqual(['a', 'b']);
    });
    expect(await heldKeys()).toEqual([]);
  });

  it('passes the error of the work through, and says what the work returned when a lock was lost', async () => {
    const { locks } = open();
    const all = locks.multi(['a', 'b']);
    const error = new Error('work');
    await expect(all.using(() => Promise.reject(error))).rejects.toBe(error);
    const lost = all.using(async () => {
      await redis.admin.del('a');
      return 42;
    });
    await expect(lost).rejects.toMatchObject({
      ...{ code: 'LEASE_LOST', lockName: 'a, b', result: 42 },
      ...{ confirmedAt: expect.any(Date), cause: { lockName: 'a' } },
    });
    expect(await heldKeys()).toEqual([]);
  });

  it('looks at, and takes away, all of its locks', async () => {
    const { locks } = open();
    const all = locks.multi(['a', 'b']);
    expect([await all.isLocked(), await all.remainingTimeMs()]).toEqual([false, 0]);
    expect(await all.forceRelease()).toBe(false);
    const lease = await locks.acquire('b', { leaseTimeMs: 5_000 });
    expect(await all.isLocked()).toBe(true);
    expect(await all.remainingTimeMs()).toBeGreaterThan(4_000);
    expect(await all.forceRelease()).toBe(true);
    await expect(lease.release()).rejects.toThrow(LeaseLostError);
  });

  describe('given bad input', () => {
    const locksOf = () => open().locks;

    it.each([
      ['no locks', []],
      ['no array', 'a'],
      ['nothing', undefined],
      ['a number', ['a', 1]],
      ['null', ['a', null]],
      ['an object', ['a', { name: 'b' }]],
      ['a fake', ['a', { name: 'b', id: 'b', acquire: () => undefined }]],
      ['a hole', Object.assign(new Array(3), { 0: 'a', 2: 'b' })],
      ['1,001 locks', Array.from({ length: 1_001 }, (_, i) => `n${String(i)}`)],
    ])('refuses %s', (_, names) => {
      const { locks } = { locks: locksOf() };
      expect(() => locks.multi(names as string[])).toThrow(LockArgumentError);
    });

    it('refuses a name that cannot be used', () => {
      expect(() => locksOf().multi(['a', '{}'])).toThrow(LockKeyError);
    });

    it('refuses two locks on one key that would wait for each other', async () => {
      const { locks, context } = open();
      const fair = new FairLockService(context).get('a');
      const { read, write } = new ReadWriteLockService(context).get('a');
      for (const two of [
        ['a', fair],
        [fair, write],
        [write, read],
      ] as const) {
        expect(() => locks.multi(two)).toThrow(LockArgumentError);
        expect(() => locks.multi(two)).toThrow('"a" twice in different ways');
      }
      // The same name on another server is another key.
      const there = open({ connection: second.url }).locks.get('a');
      await locks.multi(['a', there]).using(() => undefined);
    });

    it('refuses wrong options before anything is sent', async () => {
      const all = locksOf().multi(['a', 'b']);
      const commands = await redis.commandsDuring(async () => {
        await expect(all.acquire({ waitTimeMs: -1 })).rejects.toThrow(LockArgumentError);
        await expect(all.tryAcquire({ lease: 1 } as object)).rejects.toThrow(LockArgumentError);
        await expect(all.using('work' as never)).rejects.toThrow(LockArgumentError);
      });
      expect(commands).not.toHaveProperty('evalsha');
    });
  });

  it('takes 1,000 locks', async () => {
    const names = Array.from({ length: 1_000 }, (_, i) => `n${String(i)}`);
    await open()
      .locks.multi(names)
      .using(async () => {
        expect(await redis.admin.dbsize()).toBe(1_000);
      });
  });
});
