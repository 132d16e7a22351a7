import { describe, expect, it, jest } from '@jest/globals';
import {
  FairLockService,
  LatchService,
  LeaseLostError,
  LockArgumentError,
  LockLimitError,
  LockService,
  ReadWriteLockService,
  SemaphoreService,
  type AcquireOptions,
} from 'nestjs-redis-lock/core';
import type { LockContext } from '../../libs/redis-lock/src/core/lock-context.js';
import { eventually, Gate, roundTrips, useLocks, useRedis, watch } from '../support/set-up.js';

const servicesOf = (context: LockContext) => ({
  locks: new LockService(context),
  fair: new FairLockService(context),
  readWrite: new ReadWriteLockService(context),
  semaphores: new SemaphoreService(context),
  latches: new LatchService(context),
});
type Services = ReturnType<typeof servicesOf>;
type How = Pick<AcquireOptions, 'waitTimeMs' | 'signal'>;

/** One kind of waiting. */
interface Kind {
  readonly name: string;
  /** Another client takes the name, so callers have to wait; the returned function lets them in. */
  occupy(by: Services, name: string): Promise<() => Promise<unknown>>;
  /** Waits for it; what it resolves with may be released. */
  wait(services: Services, name: string, how?: How): Promise<unknown>;
  /** One attempt, or one look. */
  try(services: Services, name: string): Promise<unknown>;
  /** The caller keeps the result until it releases it. */
  readonly isLease: boolean;
}

const isLease = true;
const LOCKS: Kind[] = [
  {
    ...{ name: 'lock', isLease },
    occupy: async ({ locks }, name) => releaseOf(await locks.acquire(name)),
    wait: ({ locks }, name, how) => locks.acquire(name, how),
    try: ({ locks }, name) => locks.tryAcquire(name),
  },
  {
    ...{ name: 'fair lock', isLease },
    occupy: async ({ fair }, name) => releaseOf(await fair.acquire(name)),
    wait: ({ fair }, name, how) => fair.acquire(name, how),
    try: ({ fair }, name) => fair.tryAcquire(name),
  },
  {
    ...{ name: 'read lock', isLease },
    occupy: async ({ readWrite }, name) => releaseOf(await readWrite.get(name).write.acquire()),
    wait: ({ readWrite }, name, how) => readWrite.get(name).read.acquire(how),
    try: ({ readWrite }, name) => readWrite.get(name).read.tryAcquire(),
  },
  {
    ...{ name: 'write lock', isLease },
    occupy: async ({ readWrite }, name) => releaseOf(await readWrite.get(name).read.acquire()),
    wait: ({ readWrite }, name, how) => readWrite.get(name).write.acquire(how),
    try: ({ readWrite }, name) => readWrite.get(name).write.tryAcquire(),
  },
  {
    ...{ name: 'semaphore', isLease },
    occupy: async ({ semaphores }, name) => {
      const semaphore = semaphores.get(name);
      await semaphore.trySetPermits(1);
      return releaseOf(await semaphore.acquire());
    },
    wait: ({ semaphores }, name, how) => semaphores.get(name).acquire(how),
    try: ({ semaphores }, name) => semaphores.get(name).tryAcquire(),
  },
];
const KINDS: Kind[] = [
  ...LOCKS,
  {
    ...{ name: 'counting semaphore', isLease: false },
    occupy: async ({ semaphores }, name) => {
      await semaphores.counting(name).trySetPermits(1);
      await semaphores.counting(name).acquire();
      return () => semaphores.counting(name).release();
    },
    wait: async ({ semaphores }, name, how) => {
      await semaphores.counting(name).acquire(1, how);
      return { release: () => semaphores.counting(name).release() };
    },
    try: ({ semaphores }, name) => semaphores.counting(name).tryAcquire(),
  },
  {
    ...{ name: 'latch', isLease: false },
    occupy: async ({ latches }, name) => {
      await latches.get(name).trySetCount(1);
      return () => latches.get(name).countDown();
    },
    wait: ({ latches }, name, how) => latches.get(name).wait(how),
    try: ({ latches }, name) => latches.get(name).wait({ waitTimeMs: 0 }),
  },
];

function releaseOf(lease: { release(): Promise<void> }): () => Promise<void> {
  return () => lease.release();
}

async function release(had: unknown): Promise<void> {
  if (typeof had === 'object' && had !== null) await (had as Released).release();
}
interface Released {
  release(): Promise<void>;
}

describe('limits', () => {
  const redis = useRedis();
  const openPlain = useLocks(redis, servicesOf);
  /** A client, and how many scripts it has sent. */
  const open = (settings: Parameters<typeof openPlain>[0] = {}) => {
    const client = openPlain({ waitTimeMs: 60_000, ...settings });
    const run = jest.spyOn(client.connection, 'run');
    return { ...client, services: client.locks, sent: () => run.mock.calls.length };
  };
  type Client = ReturnType<typeof open>;

  /** It is refused, in the very turn of the event loop, and with nothing sent. */
  const refuses = async ({ sent }: Client, call: () => Promise<unknown>, error: object) => {
    const before = sent();
    const refused: unknown = await call().then(
      () => 'not refused',
      (e: unknown) => e,
    );
    expect(refused).toBeInstanceOf(LockLimitError);
    expect(refused).toMatchObject({ code: 'LOCK_LIMIT', name: 'LockLimitError', ...error });
    expect(sent()).toBe(before);
  };

  describe.each(KINDS)('of a $name', (kind) => {
    it('refuses one waiter too many before anything is sent, and leaves the others alone', async () => {
      const rival = open();
      const letIn = await kind.occupy(rival.services, 'a');
      const client = open({ maxWaitersPerKey: 2, pollIntervalMs: 60_000 });
      const { services } = client;
      const waiting = [1, 2].map(() => watch(kind.wait(services, 'a').then(release)));
      const error = { limit: 'maxWaitersPerKey', most: 2, lockName: 'a' };
      await refuses(client, () => kind.wait(services, 'a'), error);
      await roundTrips(redis, 20);
      await refuses(client, () => kind.wait(services, 'a'), error);
      expect(waiting.map(({ state }) => state)).toEqual(['pending', 'pending']);

      // Another name, and another client, have their own.
      await kind.occupy(rival.services, 'b');
      const abort = new AbortController();
      const others = [services, rival.services].map((one, i) =>
        watch(kind.wait(one, i === 0 ? 'b' : 'a', { signal: abort.signal })),
      );
      await roundTrips(redis, 5);
      expect(others.map(({ state }) => state)).toEqual(['pending', 'pending']);
      abort.abort(new Error('enough'));
      for (const { promise } of others) await expect(promise).rejects.toThrow('enough');

      await letIn();
      await Promise.all(waiting.map(({ promise }) => promise));
    });

    it('has room again when a waiter gives up, is let in, or is out of time', async () => {
      const letIn = await kind.occupy(open().services, 'a');
      const client = open({ maxWaitersPerKey: 1 });
      const { services } = client;
      const abort = new AbortController();
      const first = kind.wait(services, 'a', { signal: abort.signal });
      await refuses(client, () => kind.wait(services, 'a'), {});
      abort.abort(new Error('enough'));
      await expect(first).rejects.toThrow('enough');

      const second = kind.wait(services, 'a', { waitTimeMs: 50 });
      await refuses(client, () => kind.wait(services, 'a'), {});
      await Promise.allSettled([second]);

      const third = kind.wait(services, 'a');
      await refuses(client, () => kind.wait(services, 'a'), {});
      await letIn();
      await release(await third);
      await release(await kind.wait(services, 'a'));
    });

    it('neither counts nor refuses those who do not wait', async () => {
      const letIn = await kind.occupy(open().services, 'a');
      const { services } = open({ maxWaitersPerKey: 1 });
      const tries = Array.from({ length: 10 }, () => kind.try(services, 'a'));
      const waiting = kind.wait(services, 'a');
      tries.push(kind.try(services, 'a'));
      await roundTrips(redis, 5);
      tries.push(kind.try(services, 'a'));
      for (const outcome of await Promise.all(tries)) expect([null, false]).toContain(outcome);
      await letIn();
      await release(await waiting);
    });

    it('refuses one key too many before anything is sent', async () => {
      const rival = open();
      const letIn = await kind.occupy(rival.services, 'a');
      await kind.occupy(rival.services, 'b');
      const client = open({ maxKeys: 2 });
      const { services } = client;
      const error = { limit: 'maxKeys', most: 2, lockName: 'c' };
      const abort = new AbortController();
      const waiting = kind.wait(services, 'a');
      const other = kind.wait(services, 'b', { signal: abort.signal });
      await refuses(client, () => kind.wait(services, 'c'), error);
      if (kind.isLease) await refuses(client, () => kind.try(services, 'c'), error);
      await roundTrips(redis, 5);
      await refuses(client, () => kind.wait(services, 'c'), error);
      // Those that are in use are not new.
      const third = watch(kind.wait(services, 'b', { signal: abort.signal }));
      await roundTrips(redis, 5);
      expect(third.state).toBe('pending');

      await letIn();
      const had = await waiting;
      if (kind.isLease) await refuses(client, () => kind.wait(services, 'c'), error);
      await release(had);
      const letIntoC = await kind.occupy(rival.services, 'c');
      const next = kind.wait(services, 'c');
      await letIntoC();
      await release(await next);
      abort.abort(new Error('enough'));
      await expect(other).rejects.toThrow('enough');
      await expect(third.promise).rejects.toThrow('enough');
    });
  });

  describe('of the waiters of a key', () => {
    it('are for each kind of lock: readers do not keep a writer from waiting', async () => {
      const rival = open();
      const written = await rival.services.readWrite.get('a').write.acquire();
      const client = open({ maxWaitersPerKey: 1 });
      const { read, write } = client.services.readWrite.get('a');
      const reading = read.acquire();
      const writing = write.acquire();
      await refuses(client, () => read.acquire(), { limit: 'maxWaitersPerKey' });
      await refuses(client, () => write.acquire(), { limit: 'maxWaitersPerKey' });
      await written.release();
      await Promise.all([reading.then(release), writing.then(release)]);
    });

    it('do not keep a holder from a nested call', async () => {
      const { services } = open({ maxWaitersPerKey: 1 });
      const { locks, readWrite } = services;
      const { read, write } = readWrite.get('b');
      let waiting: Promise<void>[] = [];
      const most = await locks.using('a', async () => {
        waiting = [locks.acquire('a').then(release)];
        return locks.using('a', () => locks.using('a', ({ holdCount }) => holdCount));
      });
      expect(most).toBe(3);
      await Promise.all(waiting);
      const gate = new Gate();
      const writing = write.using(async () => {
        await gate.opened;
        await read.using(() => read.using(() => undefined));
      });
      await roundTrips(redis, 5);
      waiting = [read.acquire().then(release)];
      gate.open();
      await writing;
      await Promise.all(waiting);
    });

    it('are as many among those who take turns inside one hold', async () => {
      const client = open({ maxWaitersPerKey: 2 });
      const { locks } = client.services;
      await locks.using('a', async () => {
        const lease = await locks.acquire('a');
        const waiting = [1, 2].map(() => locks.acquire('a').then(release));
        expect(await locks.tryAcquire('a')).toBeNull();
        await refuses(client, () => locks.acquire('a'), { limit: 'maxWaitersPerKey', most: 2 });
        await lease.release();
        await Promise.all(waiting);
        await release(await locks.acquire('a'));
      });
    });
  });

  describe('of keys', () => {
    it('let in exactly as many of those who ask at once, by the names that they use', async () => {
      const client = open({ maxKeys: 100 });
      const calls = Array.from({ length: 300 }, (_, i) => client.services.locks.acquire(`n:${i}`));
      const outcomes = await Promise.allSettled(calls);
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(100);
      expect(await redis.admin.dbsize()).toBe(100);
      await refuses(client, () => client.services.locks.acquire('z'), { most: 100 });
      for (const outcome of outcomes) {
        if (outcome.status === 'fulfilled') await outcome.value.release();
      }
      await release(await client.services.locks.acquire('z'));
    });

    it('are one limit for all kinds, and count a name once', async () => {
      const client = open({ maxKeys: 3 });
      const { locks, fair, readWrite, semaphores } = client.services;
      await semaphores.get('s').trySetPermits(5);
      const permits = await Promise.all([1, 2].map(() => semaphores.get('s').acquire()));
      const { read, write } = readWrite.get('rw');
      await write.using(() => read.using(() => undefined));
      const readers = await Promise.all([read.acquire(), read.acquire()]);
      const lease = await locks.acquire('a');
      await refuses(client, () => fair.acquire('f'), { limit: 'maxKeys', most: 3 });
      await readers[0].release();
      await permits[0]?.release();
      await refuses(client, () => fair.acquire('f'), { limit: 'maxKeys', most: 3 });
      await readers[1].release();
      await release(await fair.acquire('f'));
      await Promise.all([lease.release(), permits[1]?.release()]);
    });

    it('let a nested call join, and count its key until the last lease is released', async () => {
      const client = open({ maxKeys: 1 });
      const { locks, readWrite } = client.services;
      await locks.using('a', async () => {
        const inner = await locks.using('a', ({ holdCount }) => holdCount);
        expect(inner).toBe(2);
        await refuses(client, () => locks.acquire('b'), { lockName: 'b' });
      });
      const { read, write } = readWrite.get('rw');
      const outliving = await write.using(() => read.acquire());
      await refuses(client, () => locks.acquire('b'), { lockName: 'b' });
      await outliving.release();
      await release(await locks.acquire('b'));
    });

    it('have room again when a lease is lost', async () => {
      const client = open({ maxKeys: 1 });
      const { locks } = client.services;
      const lease = await locks.acquire('a', { leaseTimeMs: 50 });
      await refuses(client, () => locks.acquire('b'), {});
      await eventually(() => lease.state === 'lost');
      await release(await locks.acquire('b'));
      await expect(lease.release()).rejects.toThrow(LeaseLostError);
      await release(await locks.acquire('b'));
    });

    it('count one whose caller has left as long as Redis owes its answer', async () => {
      const client = open({ maxKeys: 1 });
      const { locks } = client.services;
      await release(await locks.acquire('warm'));
      redis.pause();
      const abort = new AbortController();
      const left = locks.acquire('a', { signal: abort.signal });
      abort.abort(new Error('enough'));
      await expect(left).rejects.toThrow('enough');
      await refuses(client, () => locks.acquire('b'), { limit: 'maxKeys' });
      redis.resume();
      await eventually(async () => {
        await release(await locks.acquire('b'));
      });
    });

    it('release what a multi lock holds when they refuse the rest', async () => {
      const { services } = open({ maxKeys: 2 });
      const all = services.locks.multi(['a', 'b', 'c']);
      await expect(all.acquire()).rejects.toMatchObject({ code: 'LOCK_LIMIT', lockName: 'c' });
      await expect(all.tryAcquire()).rejects.toThrow(LockLimitError);
      expect(await redis.admin.dbsize()).toBe(0);
      await release(await services.locks.multi(['a', 'b']).acquire());
    });

    it('are not used by calls that are refused for another reason', async () => {
      const { services } = open({ maxKeys: 1 });
      const { locks } = services;
      const aborted = { signal: AbortSignal.abort(new Error('before')) };
      await expect(locks.acquire('a', aborted)).rejects.toThrow('before');
      await expect(locks.acquire('b', { leaseTimeMs: 1 })).rejects.toThrow(LockArgumentError);
      await release(await locks.acquire('c'));
    });
  });

  it('say which limit it is, how many, of which lock, and what to do', () => {
    expect(new LockLimitError('stock:1', 'maxWaitersPerKey', 5).message).toBe(
      'Refused lock "stock:1": 5 callers of this process already wait for it; ' +
        'shorten the critical section, lower waitTimeMs, or raise maxWaitersPerKey',
    );
    expect(new LockLimitError('stock:1', 'maxKeys', 5).message).toBe(
      'Refused lock "stock:1": 5 keys are already in use by this process; ' +
        'release locks earlier, lock fewer names at a time, or raise maxKeys',
    );
  });
});
