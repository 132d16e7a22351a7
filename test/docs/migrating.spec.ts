import { describe, expect, it } from '@jest/globals';
import { ConflictException, type InjectionToken, type Type } from '@nestjs/common';
import {
  FairLockService,
  LatchService,
  LockStateError,
  ReadWriteLockService,
  SemaphoreService,
  type LockService,
} from 'nestjs-redis-lock';
import Redlock, { ExecutionError } from 'redlock';
import { defaultTimeoutOptions, Mutex, Semaphore } from 'redis-semaphore';
import { useApplications } from '../nest/applications.js';
import { everyNodeVotes, useRedLocks, useServers } from '../support/red-lock-client.js';
import { eventually, redisson, Section, useRealRedis, watch } from '../support/set-up.js';
import * as redlockBoth from './examples/redlock/both.js';
import * as redlockByHandAfter from './examples/redlock/by-hand.after.js';
import * as redlockByHandBefore from './examples/redlock/by-hand.before.js';
import * as redlockExtendAfter from './examples/redlock/extend.after.js';
import * as redlockExtendBefore from './examples/redlock/extend.before.js';
import * as redlockQuorumAfter from './examples/redlock/quorum.after.js';
import * as redlockQuorumBefore from './examples/redlock/quorum.before.js';
import * as redlockKeysAfter from './examples/redlock/several-keys.after.js';
import * as redlockKeysBefore from './examples/redlock/several-keys.before.js';
import * as redlockWorkAfter from './examples/redlock/work.after.js';
import * as redlockWorkBefore from './examples/redlock/work.before.js';
import * as semaphoreBoth from './examples/redis-semaphore/both.js';
import * as handOverAfter from './examples/redis-semaphore/hand-over.after.js';
import * as handOverBefore from './examples/redis-semaphore/hand-over.before.js';
import * as lostAfter from './examples/redis-semaphore/lost.after.js';
import * as lostBefore from './examples/redis-semaphore/lost.before.js';
import * as semaphoreAfter from './examples/redis-semaphore/semaphore.after.js';
import * as semaphoreBefore from './examples/redis-semaphore/semaphore.before.js';
import * as mutexAfter from './examples/redis-semaphore/work.after.js';
import * as mutexBefore from './examples/redis-semaphore/work.before.js';
import { Counter } from './examples/redisson/fair.js';
import * as fenced from './examples/redisson/fenced.js';
import * as latch from './examples/redisson/latch.js';
import * as byHand from './examples/redisson/lock.js';
import { OrderService } from './examples/redisson/lock4j.js';
import { CodeService } from './examples/redisson/once.js';
import { Prices } from './examples/redisson/read-write.js';
import * as permits from './examples/redisson/semaphore.js';

const servers = useServers(3);
const openRedLocks = useRedLocks(servers);
const redis = useRealRedis();
const apps = useApplications(redis);

/** As patient as ours, and quicker to ask again than by default. */
const redlock = () =>
  new Redlock([redis.admin], { retryCount: 5_000, retryDelay: 4, retryJitter: 2 });

/** Reading and writing are 2 round trips: a second caller inside would overwrite the pieces. */
class Shelf {
  pieces = 8;

  async read(): Promise<number> {
    await redis.admin.ping();
    return this.pieces;
  }

  async write(_: string, pieces: number): Promise<void> {
    await redis.admin.ping();
    this.pieces = pieces;
  }
}

/** Resolves when everything that was asked for until now has been answered several times over. */
const aWhile = async () => {
  for (let i = 0; i < 5; i += 1) await redis.admin.ping();
};

/** A provider of an application that gives it what it works with. */
async function provided<T>(Provider: Type<T>, token: InjectionToken, useValue: object): Promise<T> {
  const app = await apps.start({ providers: [Provider, { provide: token, useValue }] });
  return app.nest.get(Provider);
}

async function expectOneAtATime(shop: { sellOne(id: string): Promise<number> }): Promise<void> {
  const left = await Promise.all(Array.from({ length: 8 }, () => shop.sellOne('1')));
  expect(left.sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
}

type Using = (work: () => Promise<void>) => Promise<unknown>;

/** Each step of a migration keeps out those who are at the one before, but for so many. */
async function expectSafeSteps(steps: readonly Using[], most: number): Promise<void> {
  for (const [i, next] of steps.slice(1).entries()) {
    const section = new Section();
    const neighbours = [steps[i] as Using, next];
    const twice = [...neighbours, ...neighbours, ...neighbours];
    await Promise.all(twice.map((using) => using(() => section.run(aWhile))));
    expect(section.entries).toBe(6);
    expect(section.most).toBeLessThanOrEqual(most);
  }
}

describe('from redlock', () => {
  it('compares these defaults', () => {
    expect(new Redlock([redis.admin]).settings).toEqual({
      ...{ driftFactor: 0.01, retryCount: 10, retryDelay: 200, retryJitter: 100 },
      automaticExtensionThreshold: 500,
    });
  });

  it.each(['before', 'after'])('%s: one at a time sells', async (when) => {
    const shelf = new Shelf();
    const { Shop, Stock } = redlockWorkAfter;
    const before = () => new redlockWorkBefore.Shop(redlock(), shelf);
    await expectOneAtATime(when === 'before' ? before() : await provided(Shop, Stock, shelf));
  });

  it.each(['before', 'after'])('%s: gives up at once while another imports', async (when) => {
    const { locks } = await apps.start({});
    const { importOnce } = when === 'before' ? redlockByHandBefore : redlockByHandAfter;
    const owner = (when === 'before' ? redlock() : locks) as Redlock & LockService;
    let second: boolean | undefined;
    const first = importOnce(owner, async () => {
      second = await importOnce(owner, () => Promise.reject(new Error('both are inside')));
    });
    expect([await first, second]).toEqual([true, false]);
    expect(await redis.admin.exists('import')).toBe(0);
  });

  it('before: takes an outage for another owner', async () => {
    const broken = new Redlock([{ evalsha: () => Promise.reject(new Error('down')) } as never]);
    expect(await redlockByHandBefore.importOnce(broken, async () => undefined)).toBe(false);
  });

  it.each(['before', 'after'])('%s: extends the lease, step by step', async (when) => {
    const { locks } = await apps.start({});
    const { importAll } = when === 'before' ? redlockExtendBefore : redlockExtendAfter;
    const left: number[] = [];
    const step = async () => {
      left.push(await redis.admin.pttl('import'));
      await redis.admin.pexpire('import', 20_000);
    };
    await importAll((when === 'before' ? redlock() : locks) as Redlock & LockService, [step, step]);
    expect(left.map((ms) => ms > 25_000 && ms <= 30_000)).toEqual([true, true]);
    expect(await redis.admin.exists('import')).toBe(0);
  });

  it.each(['before', 'after'])('%s: takes both accounts, either way round', async (when) => {
    const section = new Section();
    const accounts = { move: async () => section.run(aWhile) };
    const { Bank, Accounts } = redlockKeysAfter;
    const bank =
      when === 'before'
        ? new redlockKeysBefore.Bank(redlock(), accounts)
        : await provided(Bank, Accounts, accounts);
    await Promise.all([bank.transfer('a', 'b', 1), bank.transfer('b', 'a', 1)]);
    expect(section).toMatchObject({ entries: 2, most: 1 });
  });

  it.each(['before', 'after'])('%s: settles with a majority of the nodes', async (when) => {
    const client = openRedLocks();
    await everyNodeVotes(client);
    const settlement =
      when === 'before'
        ? new redlockQuorumBefore.Settlement(servers.map(({ admin }) => admin))
        : new redlockQuorumAfter.Settlement(client.locks);
    const votes: number[] = [];
    await settlement.run('1', async () => {
      votes.push(...(await Promise.all(servers.map(({ admin }) => admin.exists('settlement_1')))));
    });
    expect(votes.reduce((sum, vote) => sum + vote)).toBeGreaterThanOrEqual(2);
  });

  it('shares no name: neither lets the other in, and each answers in its way', async () => {
    const { locks } = await apps.start({});
    const theirs = await redlock().acquire(['product_1'], 10_000);
    await expect(locks.acquire('product_1')).rejects.toThrow(LockStateError);
    await theirs.release();
    const ours = await locks.acquire('product_1');
    const refused = redlock().acquire(['product_1'], 10_000, { retryCount: 0 });
    await expect(refused).rejects.toThrow(ExecutionError);
    await ours.release();
  });

  it('is safe in two steps: both locks exclude those who take only one', async () => {
    const { locks } = await apps.start({}, { keyPrefix: 'lock:' });
    const both = new redlockBoth.BothLocks(redlock(), locks);
    const old = (work: () => Promise<void>) => redlock().using(['product_1'], 10_000, work);
    const middle = (work: () => Promise<void>) => both.using('product_1', work);
    const next = (work: () => Promise<void>) => locks.using('product_1', work);
    await expectSafeSteps([old, middle, next], 1);
    // So no service may go from the first step to the last at once.
    await old(() => next(aWhile));
  });

  it('aborts the work under both locks when the new one is lost', async () => {
    const { locks } = await apps.start({}, { keyPrefix: 'lock:', watchdogLeaseMs: 1_000 });
    const both = new redlockBoth.BothLocks(redlock(), locks);
    const work = both.using('product_1', async (signal) => {
      await redis.admin.del('lock:product_1');
      await eventually(() => signal.aborted);
    });
    await expect(work).rejects.toMatchObject({ code: 'LEASE_LOST' });
  });
});

describe('from redis-semaphore', () => {
  it('compares these defaults', () => {
    expect(defaultTimeoutOptions).toEqual({
      ...{ lockTimeout: 10_000, acquireTimeout: 10_000, retryInterval: 10 },
      acquireAttemptsLimit: Infinity,
    });
  });

  it.each(['before', 'after'])('%s: one at a time sells', async (when) => {
    const shelf = new Shelf();
    const { Shop, Stock } = mutexAfter;
    const before = () => new mutexBefore.Shop(redis.admin, shelf);
    await expectOneAtATime(when === 'before' ? before() : await provided(Shop, Stock, shelf));
  });

  it.each([
    ['before', 'mutex:import'],
    ['after', 'import'],
  ])('%s: is told that its lock was lost, and stops', async (when, key) => {
    const { locks } = await apps.start({}, { watchdogLeaseMs: 1_000 });
    const told: Error[] = [];
    const tell = (error: Error) => told.push(error);
    const next = async () => {
      await redis.admin.del(key);
      await new Promise((resolve) => setTimeout(resolve, 5));
      return true;
    };
    const { importRows } = when === 'before' ? lostBefore : lostAfter;
    const owner = (when === 'before' ? redis.admin : locks) as typeof redis.admin & LockService;
    expect(await importRows(owner, next, tell)).toBe(false);
    expect(told).toHaveLength(1);
    const last = async () => false;
    expect(await importRows(owner, last, tell)).toBe(true);
  });

  it('before: the worker goes on with the lock of the scheduler', async () => {
    const jobs: string[] = [];
    const queue = { add: async (job: { identifier: string }) => void jobs.push(job.identifier) };
    await handOverBefore.schedule(redis.admin, queue);
    const again = redis.admin.set('mutex:report', 'x', 'NX');
    expect(await again).toBeNull();
    await handOverBefore.work(redis.admin, String(jobs[0]), aWhile);
    expect(await redis.admin.exists('mutex:report')).toBe(0);
  });

  it('after: the worker takes the lock, and skips a job that is under way', async () => {
    const { Worker, schedule } = handOverAfter;
    const worker = (await apps.start({ providers: [Worker] })).nest.get(Worker);
    const section = new Section();
    const jobs: Promise<void>[] = [];
    const add = async () => void jobs.push(worker.work(() => section.run(aWhile)));
    await Promise.all([schedule({ add }), schedule({ add })]);
    await Promise.all(jobs);
    expect(section).toMatchObject({ entries: 1, most: 1 });
  });

  it.each(['before', 'after'])('%s: no more than five pay at a time', async (when) => {
    const section = new Section();
    const gateway = { pay: async () => section.run(aWhile) };
    const { Payments, Gateway } = semaphoreAfter;
    const payments =
      when === 'before'
        ? new semaphoreBefore.Payments(redis.admin, gateway)
        : await provided(Payments, Gateway, gateway);
    const one = Array.from({ length: 10 }, () => payments.pay('1'));
    await Promise.all([...one, payments.payTwo('1', '2'), payments.payTwo('3', '4')]);
    expect(section.entries).toBe(14);
    expect(section.most).toBeLessThanOrEqual(5);
  });

  it('shares no name: neither keeps the other out', async () => {
    const { locks } = await apps.start({});
    const mutex = new Mutex(redis.admin, 'product_1');
    await mutex.acquire();
    await using lease = await locks.tryAcquire('product_1');
    expect(lease?.state).toBe('held');
    await mutex.release();
  });

  it('is safe in two steps: both locks exclude those who take only one', async () => {
    const { locks, nest } = await apps.start({});
    const both = new semaphoreBoth.BothLocks(redis.admin, locks, nest.get(SemaphoreService));
    const old = async (work: () => Promise<void>) => {
      const mutex = new Mutex(redis.admin, 'product_1');
      await mutex.acquire();
      await work().finally(() => mutex.release());
    };
    const middle = (work: () => Promise<void>) => both.using('product_1', work);
    const next = (work: () => Promise<void>) => locks.using('product_1', work);
    await expectSafeSteps([old, middle, next], 1);
  });

  it('is safe in two steps: both semaphores keep the number', async () => {
    const { locks, nest } = await apps.start({});
    const semaphores = nest.get(SemaphoreService);
    const both = new semaphoreBoth.BothLocks(redis.admin, locks, semaphores);
    const old = async (work: () => Promise<void>) => {
      const semaphore = new Semaphore(redis.admin, 'gateway', 2);
      await semaphore.acquire();
      await work().finally(() => semaphore.release());
    };
    const middle = (work: () => Promise<void>) => both.usingPermit('gateway', 2, work);
    const next = (work: () => Promise<void>) => semaphores.get('gateway').using(work);
    await expectSafeSteps([old, middle, next], 2);
  });
});

describe('from Redisson and lock4j', () => {
  const lock4j = { keyPrefix: 'lock4j:', waitTimeMs: 3_000 };

  it('@Lock4j: shares the key of Java, and says who is busy', async () => {
    const app = await apps.start({ providers: [OrderService] }, lock4j);
    const orders = app.nest.get(OrderService);
    expect(await orders.place({ sku: 'A', pieces: 2 })).toBe('2 of A');
    expect(await redisson.tryLock(redis.admin, 'lock4j:stock#A')).toBeNull();
    await expect(orders.place({ sku: 'A', pieces: 2 })).rejects.toThrow(ConflictException);
    await redisson.unlock(redis.admin, 'lock4j:stock#A');
  });

  it('@Lock4j without autoRelease: once in five seconds', async () => {
    const app = await apps.start({ providers: [CodeService] }, lock4j);
    const codes = app.nest.get(CodeService);
    expect([await codes.send('1'), await codes.send('1'), await codes.send('2')]).toEqual([
      ...[true, false, true],
    ]);
    expect(await redis.admin.pttl('lock4j:code#1')).toBeGreaterThan(0);
    await app.nest.close();
    await redis.admin.flushall(); // what was kept for its five seconds
  });

  it('RLock: waits two seconds, for a lease of thirty', async () => {
    const { locks } = await apps.start({});
    let left = 0;
    const work = async () => {
      left = await redis.admin.pttl('invoice_7');
    };
    expect(await byHand.send(locks, '7', work)).toBe(true);
    expect(left).toBeGreaterThan(25_000);
    await redisson.tryLock(redis.admin, 'invoice_7', 200);
    expect(await byHand.send(locks, '7', work)).toBe(true);
  });

  it('RReadWriteLock: many read, and the one that writes waits for them', async () => {
    const app = await apps.start({ providers: [Prices] });
    const prices = app.nest.get(Prices);
    await prices.change('A', 100);
    const reading = await app.nest.get(ReadWriteLockService).get('price_A').read.acquire();
    expect(await prices.show('A')).toBe(100);
    const change = watch(prices.change('A', 90));
    await aWhile();
    expect(change.state).toBe('pending');
    await reading.release();
    await change.promise;
    expect(prices.cents.get('A')).toBe(90);
  });

  it('RFairLock: serves in the order of the calls', async () => {
    const app = await apps.start({ providers: [Counter] });
    const counter = app.nest.get(Counter);
    const served: number[] = [];
    await Promise.all(
      [1, 2, 3].map((n) =>
        counter.serve(async () => {
          await aWhile();
          served.push(n);
        }),
      ),
    );
    expect(served).toEqual([1, 2, 3]);
    expect(await app.nest.get(FairLockService).get('counter').isLocked()).toBe(false);
  });

  it('RPermitExpirableSemaphore: pays with a permit, and releases it', async () => {
    const { nest } = await apps.start({});
    const semaphores = nest.get(SemaphoreService);
    const gateway = semaphores.get('gateway');
    let free = 0;
    const charge = async () => {
      free = await gateway.availablePermits();
    };
    expect(await permits.pay(semaphores, charge)).toBe(true);
    expect([free, await gateway.availablePermits()]).toEqual([4, 5]);
  });

  it('RCountDownLatch: opens when all are ready', async () => {
    const { nest } = await apps.start({});
    const latches = nest.get(LatchService);
    const opened = latch.open(latches, 2);
    await eventually(async () => (await latches.get('warm').getCount()) === 2);
    await latch.ready(latches);
    await latch.ready(latches);
    expect(await opened).toBe(true);
  });

  it('RFencedLock: gives a token that rises', async () => {
    const { locks } = await apps.start({});
    const tokens: number[] = [];
    const store = async (token: number | undefined) => void tokens.push(Number(token));
    await fenced.write(locks, '7', store);
    await fenced.write(locks, '7', store);
    expect(tokens[1]).toBeGreaterThan(Number(tokens[0]));
  });
});
