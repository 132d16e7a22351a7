import { describe, expect, it } from '@jest/globals';
import {
  CurrentLock,
  LockArgumentError,
  LockService,
  LockStateError,
  type Lease,
  type LockEvent,
} from 'nestjs-redis-lock/core';
import { AsyncLocalStorage } from 'node:async_hooks';
import { systemClock } from '../../libs/redis-lock/src/core/time/clock.js';
import { LockContext } from '../../libs/redis-lock/src/core/lock-context.js';
import { prepareConnection } from '../support/open-connection.js';
import {
  eventually,
  Gate,
  useLocks,
  useProxy,
  useRealRedis,
  useWorkers,
} from '../support/set-up.js';
import { FOREIGN_OWNER } from '../support/redisson.js';
import type { Api } from '../support/workers/leaks.worker.js';

const FILE = new URL('../support/workers/leaks.worker.ts', import.meta.url);

describe('LockService: whose scope it is in which something is told', () => {
  const redis = useRealRedis();
  const proxy = useProxy(redis);
  const workers = useWorkers();
  const open = useLocks(redis, (context) => new LockService(context));
  const request = new AsyncLocalStorage<string>();

  describe('CurrentLock.find()', () => {
    it('is the lease of the innermost work, or of the innermost that holds the name', async () => {
      const { locks } = open({ keyPrefix: 'shop:' });
      expect(CurrentLock.find()).toBeUndefined();
      await locks.using('a', (outer) =>
        locks.using('b', async (inner) => {
          expect(CurrentLock.find()).toBe(inner);
          expect(CurrentLock.find('a')).toBe(outer);
          expect(CurrentLock.find('shop:a')).toBeUndefined();
          await locks.using('a', (nested) => {
            expect(CurrentLock.find('a')).toBe(nested);
            expect(CurrentLock.find('b')).toBe(inner);
          });
        }),
      );
      expect(CurrentLock.find('a')).toBeUndefined();
    });

    it('is the lease of one lock among several', async () => {
      const { locks } = open();
      await locks.multi(['a', 'b']).using(async (all) => {
        expect(CurrentLock.find()).toBe(all);
        expect(CurrentLock.find(all.name)).toBe(all);
        expect(CurrentLock.find('b')).toBe(all.leases[1]);
      });
    });

    it('is a released lease only for work that outlives its own lock', async () => {
      const { locks } = open();
      const [ownEnd, outerEnd] = [new Gate(), new Gate()];
      const late: Promise<unknown>[] = [];
      await locks.using('a', async () => {
        const inside = new Gate();
        const nested = locks.using('b', async () => {
          inside.open();
          await outerEnd.opened;
          expect(CurrentLock.find('a')).toBeUndefined();
          CurrentLock.find('b')?.assertHeld();
        });
        const leftover = ownEnd.opened.then(() => {
          expect(CurrentLock.find('a')).toMatchObject({ state: 'released' });
          expect(() => CurrentLock.find()?.assertHeld()).toThrow(LockStateError);
        });
        late.push(nested, leftover);
        await inside.opened;
      });
      ownEnd.open();
      outerEnd.open();
      await Promise.all(late);
    });

    it.each([null, 5, {}, Symbol('a')])('refuses the name %p', (name) => {
      expect(() => CurrentLock.find(name as never)).toThrow(LockArgumentError);
    });
  });

  /** A client whose every listener asks for the lock `hot` as soon as it gets the event of a loss. */
  const openEager = () => {
    const time = { aheadMs: 0 };
    const attempts: Promise<Lease | null>[] = [];
    const attempt = () => void attempts.push(client.locks.tryAcquire('hot'));
    const observe = ({ type }: LockEvent) => {
      if (type === 'lost') attempt();
    };
    const clock = { ...systemClock, now: () => systemClock.now() + time.aheadMs };
    const client = open({ observer: { observe }, clock });
    const acquire = async (leaseTimeMs: number) => {
      const lease = await client.locks.acquire('brief', { leaseTimeMs });
      lease.signal.addEventListener('abort', attempt);
      return lease;
    };
    return { locks: client.locks, acquire, attempts, time };
  };

  it('lets no listener join the hold of the caller that has armed the timer', async () => {
    const { locks, acquire, attempts } = openEager();
    await locks.using('hot', async () => {
      await acquire(100);
      await eventually(() => attempts.length === 2);
      expect(await Promise.all(attempts)).toEqual([null, null]);
    });
  });

  it.each<[string, (lease: Lease) => unknown]>([
    ['looks at it', ({ state }) => state],
    ['releases it', (lease) => lease.release().catch(() => undefined)],
  ])('lets no listener join the hold of a caller that %s and finds it lost', async (_, find) => {
    const { locks, acquire, attempts, time } = openEager();
    const lease = await acquire(5_000);
    await locks.using('hot', async () => {
      time.aheadMs = 6_000;
      await find(lease);
      await eventually(() => attempts.length === 2);
      expect(await Promise.all(attempts)).toEqual([null, null]);
    });
  });

  /** Every event, and the request in which it came. */
  const listening = () => {
    const told: [LockEvent['type'], string | undefined][] = [];
    const observe = ({ type }: LockEvent) => void told.push([type, request.getStore()]);
    return { told, observer: { observe } };
  };

  it('tells what becomes of a call in its own request', async () => {
    const { told, observer } = listening();
    const { locks } = open({ observer });
    const lease = await request.run('holder', () => locks.acquire('a'));
    const wait = (name: string) =>
      request.run(name, () => locks.using('a', () => undefined, { waitTimeMs: 60_000 }));
    const waiting = [wait('first'), wait('second')];
    await request.run('late', () => locks.acquire('a', { waitTimeMs: 1 }).catch(() => undefined));
    await eventually(() => told.filter(([type]) => type === 'waiting').length === 2);
    await request.run('holder', () => lease.release());
    await Promise.all(waiting);
    expect(told).toEqual([
      ['acquired', 'holder'],
      ['timed-out', 'late'],
      ['waiting', 'first'],
      ['waiting', 'second'],
      ['released', 'holder'],
      ['acquired', 'first'],
      ['released', 'first'],
      ['acquired', 'second'],
      ['released', 'second'],
    ]);
  });

  it('tells what becomes of a nested call in its own request', async () => {
    const { told, observer } = listening();
    const { locks } = open({ observer });
    const using = (name: string, work: () => unknown) =>
      request.run(name, () => locks.using('a', work));
    await using('holder', async () => {
      // The second waits for the first, and the late one for both.
      const first = using('first', () => refused);
      const second = using('second', () => undefined);
      const refused = request.run('late', () => locks.tryAcquire('a', { waitTimeMs: 1 }));
      await Promise.all([first, second]);
    });
    // The late one may be refused before the first has its answer.
    expect(told.sort()).toEqual([
      ['acquired', 'first'],
      ['acquired', 'holder'],
      ['acquired', 'second'],
      ['released', 'holder'],
      ['timed-out', 'late'],
    ]);
  });

  it('tells what becomes of several locks in the request that asked for them', async () => {
    const { told, observer } = listening();
    const { locks } = open({ observer });
    const all = locks.multi(['a', 'b']);
    const lease = await request.run('holder', () => locks.acquire('a'));
    await request.run('late', () => all.tryAcquire({ waitTimeMs: 100 }));
    const waiting = request.run('all', () => all.using(() => undefined, { waitTimeMs: 60_000 }));
    await eventually(() => told.some(([type]) => type === 'waiting'));
    await request.run('holder', () => lease.release());
    await waiting;
    expect(told).toEqual([
      ['acquired', 'holder'],
      ['timed-out', 'late'],
      ['waiting', 'all'],
      ['released', 'holder'],
      ['acquired', 'all'],
      ['acquired', 'all'],
      ['released', 'all'],
      ['released', 'all'],
    ]);
  });

  it('tells of a release in its own request, also when it had to wait for a renewal', async () => {
    const { told, observer } = listening();
    const connection = proxy.current.url;
    const { locks, context } = open({ connection, observer, watchdogLeaseMs: 3_000 });
    const lease = await request.run('holder', () => locks.acquire('a'));
    const fault = proxy.current.hold('toClient');
    await eventually(() => context.holds.all[0]?.isBusy === true);
    const releasing = request.run('holder', () => lease.release());
    fault.heal();
    await releasing;
    expect(told).toEqual([
      ['acquired', 'holder'],
      ['renewed', undefined],
      ['released', 'holder'],
    ]);
  });

  it('tells of a connection in no request, also when one has opened it', async () => {
    const { told, observer } = listening();
    const port = prepareConnection(proxy.current.url, observer);
    const context = new LockContext(port, { observer });
    const locks = new LockService(context);
    try {
      const lease = await request.run('first', () => locks.acquire('a'));
      await lease.release();
      proxy.current.refuse();
      proxy.current.cut();
      await eventually(() => told.some(([type]) => type === 'connection-failed'));
      await proxy.current.accept();
      await eventually(() => told.some(([type]) => type === 'connection-restored'));
      expect(told).toEqual([
        ['acquired', 'first'],
        ['released', undefined],
        ['connection-failed', undefined],
        ['connection-restored', undefined],
      ]);
    } finally {
      await context.close();
    }
  });

  it('keeps no request for what it was the first to need', async () => {
    await redis.admin.hset('held', FOREIGN_OWNER, 1);
    const worker = await workers.start<Api>(FILE, { execArgv: ['--expose-gc'] });
    await worker.call.inRequests(redis.url);
    await eventually(async () => expect(await worker.call.requestsAlive()).toBe(0));
    expect(await redis.admin.exists('kept')).toBe(1);
    await worker.call.closeRequests();
  });
});
