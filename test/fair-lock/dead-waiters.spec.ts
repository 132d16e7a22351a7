import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { FairLockService } from '../../libs/redis-lock/src/primitives/fair-lock/fair-lock-service.js';
import { serverNow } from '../support/moments.js';
import { JavaFairLock } from '../support/redisson-fair.js';
import {
  eventually,
  PROMPT_MS,
  Stopwatch,
  useClients,
  useProxiedClients,
  watch,
} from '../support/set-up.js';
import { FairView } from './fair-view.js';

const ALIVE_MS = 5_000;
const DEAD = 'dead';

/** The defects of Redisson's fair lock (#6150, #3730, #3004, #4620, #5019, #1104), by name. */
describe('the queue of a fair lock', () => {
  const { redis, open } = useClients(FairLockService);
  const view = new FairView(redis, 'a');
  const { queue, timeouts, waiting } = view.keys;
  const quick = { pollIntervalMs: 50 };

  /** The channel of the Java thread receives these messages during the work. */
  const hearing = async (java: JavaFairLock, work: (heard: string[]) => Promise<void>) => {
    const heard: string[] = [];
    const listener = new Redis(redis.url);
    listener.on('message', (_, payload: string) => heard.push(payload));
    await listener.subscribe(java.channel);
    try {
      await work(heard);
    } finally {
      listener.disconnect();
    }
  };

  describe('with a head that is dead', () => {
    it('goes on after 5 s when the process of the head was killed', async () => {
      const [holder, next] = [open(), open()];
      const connection = new Redis(redis.url);
      await eventually(() => connection.status === 'ready');
      const dying = open({ connection });
      const lease = await holder.locks.acquire('a');
      await view.enqueue(dying.locks);
      const waiter = await view.enqueue(next.locks);
      connection.disconnect();
      const sinceDeath = new Stopwatch();
      await lease.release();
      await (await waiter.promise).release();
      expect(sinceDeath.ms).toBeLessThan(ALIVE_MS + PROMPT_MS);
    });

    it('waits once for heads that die together, and not for each', async () => {
      const { locks } = open(quick);
      const lease = await locks.acquire('a');
      const dying = { aliveMs: 500, terms: `${'a'.repeat(32)} 4000 s` };
      for (let i = 0; i < 40; i += 1)
        await view.enter({ owner: `${DEAD}${String(i)}:1`, ...dying });
      const waiter = await view.enqueue(locks);
      const sinceDeath = new Stopwatch();
      await lease.release();
      await (await waiter.promise).release();
      expect(sinceDeath.ms).toBeLessThan(dying.aliveMs + PROMPT_MS);
    });

    it('goes on at once after any number of heads that died long ago', async () => {
      const { locks } = open();
      const dead = Array.from({ length: 50 }, (_, i) => `${DEAD}:${String(i)}`);
      for (const owner of ['holder:1', ...dead]) await view.enter({ owner });
      await view.die(...dead);
      await redis.admin.del('a');
      const stopwatch = new Stopwatch();
      await (await locks.acquire('a')).release();
      expect(stopwatch.ms).toBeLessThan(PROMPT_MS);
    });

    it('takes the time of dead heads off from those behind them, as if they had given up', async () => {
      const { locks } = open();
      const java = new JavaFairLock(redis.admin, 'a');
      const lease = await locks.acquire('a');
      await view.enter({ owner: `${DEAD}:1`, waitMs: 200_000 });
      await view.enter({ owner: `${DEAD}:2`, waitMs: 100_000 });
      await java.tryLock(10_000);
      const [first = 0, , behind = 0] = await view.horizons();
      await view.die(`${DEAD}:1`, `${DEAD}:2`);
      expect(first).toBeGreaterThan(225_000);
      expect(behind).toBeGreaterThan(335_000);
      const ours = watch(locks.acquire('a'));
      await eventually(async () => (await view.queue()).length === 2);
      const [left = 0] = await view.horizons();
      expect(left).toBeGreaterThan(35_000);
      expect(left).toBeLessThanOrEqual(40_000);
      await lease.release();
      expect(await java.tryLock(10_000)).toBeNull();
      await java.unlock();
      await (await ours.promise).release();
    });

    it('asks no more than twice a second behind it, be it of ours or of Java', async () => {
      const { locks } = open();
      const views = ['b', 'c'].map((key) => new FairView(redis, key));
      for (const one of views) await one.enter({ owner: `${DEAD}:1` });
      await views[0]?.enter({ owner: `${DEAD}:2`, aliveMs: 60_000 });
      await new JavaFairLock(redis.admin, 'c').tryLock();
      const waiters = [];
      for (const one of views) {
        waiters.push(await one.enqueue(locks));
        await one.allWaitersListen();
        await redis.admin.del(one.key);
      }
      const LOOKING_MS = 2_000;
      const sent = await redis.commandsDuring(
        () => new Promise((resolve) => setTimeout(resolve, LOOKING_MS)),
      );
      expect(sent.evalsha).toBeGreaterThanOrEqual(2);
      expect(sent.evalsha).toBeLessThanOrEqual((2 * 2 * LOOKING_MS) / 1_000);
      for (const { keys } of views) await redis.admin.del(...Object.values(keys));
      for (const { promise } of waiters) await (await promise).release();
    });

    it('is told how long to wait behind it, and never 0', async () => {
      for (const n of [1, 2, 3]) await view.enter({ owner: `${DEAD}:${String(n)}` });
      await redis.admin.del('a');
      const answer = await view.enter({ owner: `${DEAD}:3` });
      const { remainingMs } = answer as { remainingMs: number };
      expect(remainingMs).toBeGreaterThan(ALIVE_MS - 2_000);
      expect(remainingMs).toBeLessThanOrEqual(ALIVE_MS);
    });

    it('is behind a dead Java head until its score has passed', async () => {
      const { locks } = open(quick);
      const java = new JavaFairLock(redis.admin, 'a');
      await view.enter({ owner: `${DEAD}:1`, leaseMs: 200 });
      await java.tryLock(500);
      const goneAt = Number(await redis.admin.zscore(timeouts, java.owner));
      await (await locks.acquire('a')).release();
      expect(await serverNow(redis.admin)).toBeGreaterThanOrEqual(goneAt);
    });
  });

  describe('with a Java thread behind a dead Node head', () => {
    it('lets it in when the score of the head has passed, as behind a dead Java one', async () => {
      const java = new JavaFairLock(redis.admin, 'a');
      await view.enter({ owner: `${DEAD}:0`, leaseMs: 100 });
      await view.enter({ owner: `${DEAD}:1`, waitMs: 400, aliveMs: 1 });
      const goneAt = Number(await redis.admin.zscore(timeouts, `${DEAD}:1`));
      expect(await java.tryLock()).not.toBeNull();
      await eventually(async () => (await redis.admin.exists('a')) === 0);
      expect(await java.tryLock()).not.toBeNull();
      expect(await view.queue()).toEqual([`${DEAD}:1`, java.owner]);
      await eventually(async () => (await java.tryLock()) === null);
      expect(await serverNow(redis.admin)).toBeGreaterThanOrEqual(goneAt);
      expect(Object.keys(await view.records())).toEqual([`${DEAD}:1`]);
      // The next of ours takes away what is left of the dead one.
      await java.unlock();
      await redis.admin.del(waiting);
    });

    it('lets it in, and wakes it, as soon as a Node process in the queue may', async () => {
      const { locks } = open();
      const java = new JavaFairLock(redis.admin, 'a');
      const lease = await locks.acquire('a');
      const sinceDeath = new Stopwatch();
      await view.enter({ owner: `${DEAD}:1`, aliveMs: 1_000 });
      await java.tryLock();
      const ours = await view.enqueue(locks);
      await hearing(java, async (heard) => {
        await lease.release();
        expect(await java.tryLock()).not.toBeNull();
        await eventually(() => heard.length > 0);
        expect(sinceDeath.ms).toBeLessThan(1_000 + 5 * 1_000);
      });
      expect(await java.tryLock()).toBeNull();
      expect(ours.state).toBe('pending');
      await java.unlock();
      await (await ours.promise).release();
    });
  });

  describe('with a head that is alive', () => {
    it('keeps the place of a waiter that outlasts its score, before us and before Java', async () => {
      const client = open({ ...quick, fairLockWaitTimeMs: 200, watchdogLeaseMs: 900 });
      const lease = await client.locks.acquire('a');
      const head = await view.enqueue(client.locks, { waitTimeMs: Infinity });
      const score = Number(await redis.admin.zscore(timeouts, head.owner));
      const second = await view.enqueue(client.locks, { waitTimeMs: Infinity });
      const java = new JavaFairLock(redis.admin, 'a');
      await java.tryLock();
      await eventually(async () => (await serverNow(redis.admin)) > score + 1_000);
      await java.sweep();
      await java.tryLock();
      expect(await view.queue()).toEqual([head.owner, second.owner, java.owner]);
      await lease.release();
      await (await head.promise).release();
      await (await second.promise).release();
      expect(await java.tryLock()).toBeNull();
    });

    it('leaves a Java thread its time when one of ours that outlasted its score gets in', async () => {
      const client = open({ ...quick, watchdogLeaseMs: 900 });
      const lease = await client.locks.acquire('a');
      const head = await view.enqueue(client.locks, { waitTimeMs: 50_000 });
      const java = new JavaFairLock(redis.admin, 'a');
      await java.tryLock(2_000);
      // By Redisson's accounting alone its score would be 50 s ago when the head gets in.
      for (const owner of [head.owner, java.owner])
        await redis.admin.zincrby(timeouts, -50_000, owner);
      await eventually(async () => ((await view.horizons())[0] ?? 0) > 50_000);
      await lease.release();
      await head.promise;
      const [left = 0] = await view.horizons();
      expect(left).toBeGreaterThan(2_000);
      await java.sweep();
      expect(await view.queue()).toEqual([java.owner]);
      await redis.admin.del(queue, timeouts);
    });

    it('takes a waiter back that Java has thrown out, before all who came later', async () => {
      const { locks } = open(quick);
      const lease = await locks.acquire('a');
      const waiters = [await view.enqueue(locks), await view.enqueue(locks)];
      const java = new JavaFairLock(redis.admin, 'a');
      await java.tryLock();
      waiters.push(await view.enqueue(locks));
      const before = await view.queue();
      // Both at once, as a sweep of Java does.
      await redis.admin
        .multi()
        .lpop(queue)
        .lpop(queue)
        .zrem(timeouts, waiters[0]?.owner ?? '', waiters[1]?.owner ?? '')
        .exec();
      await eventually(async () => (await view.queue()).length === 4);
      expect(await view.queue()).toEqual(before);
      const horizons = await view.horizons();
      expect(horizons).toEqual(horizons.toSorted((a, b) => a - b));
      await java.giveUp();
      await lease.release();
      for (const { promise } of waiters) await (await promise).release();
    });

    it('keeps its place with a poll that is rarer than 5 s', async () => {
      const { locks, context } = open({ pollIntervalMs: 10_000 });
      const lease = await locks.acquire('a');
      const waiter = await view.enqueue(locks);
      const record = (await redis.admin.hget(waiting, context.id)) ?? '';
      const aliveMs = Number(record.split(' ')[0]) - (await serverNow(redis.admin));
      expect(aliveMs).toBeGreaterThan(3 * 10_000 - 2_000);
      await lease.release();
      await (await waiter.promise).release();
    });
  });

  describe('that has lost a part', () => {
    const waitingOnes = async () => {
      const { locks } = open(quick);
      const lease = await locks.acquire('a');
      const waiters = [];
      for (let i = 0; i < 3; i += 1) waiters.push(await view.enqueue(locks));
      return { lease, waiters };
    };

    it.each([
      ['its scores', [timeouts]],
      ['its list', [queue]],
      ['its records', [waiting]],
      ['list and scores', [queue, timeouts]],
      ['scores and records', [timeouts, waiting]],
    ])('heals, in its order: %s', async (_, lost) => {
      const { lease, waiters } = await waitingOnes();
      const before = await view.queue();
      // They wait for messages: no more attempt of them is on its way.
      await eventually(async () => {
        const records = Object.values(await view.records());
        expect(records.filter((record) => / [se]$/.test(record))).toHaveLength(3);
      });
      await redis.admin.del(...lost);
      await eventually(async () => {
        expect(await view.queue()).toEqual(before);
        expect(await redis.admin.zcard(timeouts)).toBe(3);
        expect(Object.keys(await view.records())).toHaveLength(3);
      });
      const horizons = await view.horizons();
      expect(horizons).toEqual(horizons.toSorted((a, b) => a - b));
      await lease.release();
      for (const { promise } of waiters) await (await promise).release();
    });

    it('heals a head of Java that has no score, dead or alive', async () => {
      const { locks } = open(quick);
      const java = new JavaFairLock(redis.admin, 'a');
      await redis.admin.rpush(queue, java.owner);
      const waiter = await view.enqueue(locks);
      // Alive, it has 5 s to come.
      expect(await java.tryLock()).toBeNull();
      await java.unlock();
      await (await waiter.promise).release();

      await redis.admin.rpush(queue, java.owner);
      const next = await view.enqueue(locks);
      const [left = NaN] = await view.horizons();
      expect(left).toBeGreaterThan(ALIVE_MS - 1_000);
      expect(left).toBeLessThanOrEqual(ALIVE_MS);
      expect(next.state).toBe('pending');
      await redis.admin.zincrby(timeouts, -ALIVE_MS, java.owner);
      await (await next.promise).release();
    });
  });

  it('goes by the clock of the server: a client whose clock is ahead throws no waiter out', async () => {
    const { now } = Date;
    Date.now = () => now() + 3_600_000;
    try {
      const { locks } = open(quick);
      const lease = await locks.acquire('a');
      const java = new JavaFairLock(redis.admin, 'a');
      await java.tryLock(10_000);
      const ours = await view.enqueue(locks, { waitTimeMs: 20_000 });
      const horizons = await view.horizons();
      expect(horizons[1]).toBeLessThanOrEqual(60_000);
      await lease.release();
      expect(await view.queue()).toEqual([java.owner, ours.owner]);
      await java.tryLock(10_000);
      await java.unlock();
      await (await ours.promise).release();
    } finally {
      Date.now = now;
    }
  });
});

describe('the queue of a fair lock after an outage in which everything is lost', () => {
  const { redis, proxy, open } = useProxiedClients(FairLockService);
  const view = new FairView(redis, 'a');

  it('heals in the order of the calls', async () => {
    const { locks } = open({ connection: proxy.current.url, pollIntervalMs: 60_000 });
    const lease = await locks.acquire('a');
    const granted: number[] = [];
    const callers = Array.from({ length: 5 }, (_, i) =>
      locks.using('a', () => granted.push(i), { waitTimeMs: 60_000 }),
    );
    await eventually(async () => (await view.queue()).length === 5);
    proxy.current.refuse();
    proxy.current.cut();
    await redis.admin.flushall();
    const java = new JavaFairLock(redis.admin, 'a');
    await java.tryLock();
    await proxy.current.accept();
    await eventually(async () => (await view.queue()).length === 5);
    await java.unlock();
    await Promise.all(callers);
    expect(granted).toEqual([0, 1, 2, 3, 4]);
    await expect(lease.release()).rejects.toMatchObject({ code: 'LEASE_LOST' });
  });
});
