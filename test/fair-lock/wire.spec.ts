import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { FairLockService } from '../../libs/redis-lock/src/primitives/fair-lock/fair-lock-service.js';
import { JavaFairLock, serverNow } from '../support/redisson-fair.js';
import { eventually, PROMPT_MS, Stopwatch, useLocks, useRedis, watch } from '../support/set-up.js';
import { FairView } from './fair-view.js';

describe('FairLockService on the wire', () => {
  const redis = useRedis();
  const view = new FairView(redis, 'a');
  const { queue, timeouts, waiting } = view.keys;
  let messages: string[];
  let listener: Redis;

  beforeEach(async () => {
    messages = [];
    listener = new Redis(redis.url);
    listener.on('pmessage', (_, channel: string, payload: string) => {
      messages.push(`${channel} ${payload}`);
    });
    await listener.psubscribe('*');
  });
  // In order: nothing that was published before is heard by the next spec.
  afterEach(() => listener.quit());
  const open = useLocks(redis, (context) => new FairLockService(context));

  const keys = async () => (await redis.admin.keys('*')).sort();

  describe('what Java sees of ours', () => {
    it('is the whole life of a queue, step by step', async () => {
      const [ours, others] = [open({ fairLockWaitTimeMs: 200_000 }), open()];
      const first = await ours.locks.acquire('a');

      const b = await view.enqueue(ours.locks, { waitTimeMs: Infinity });
      const c = await view.enqueue(others.locks, { waitTimeMs: 5_000 });
      const d = await view.enqueue(ours.locks, { waitTimeMs: 20_000 });
      expect(await keys()).toEqual(['a', queue, timeouts, waiting].sort());
      expect(await redis.admin.type(queue)).toBe('list');
      expect(await redis.admin.type(timeouts)).toBe('zset');
      expect(await view.queue()).toEqual([b.owner, c.owner, d.owner]);
      // Lease, and then what each of them is ready to wait.
      await view.expectHorizons(230_000, 235_000, 255_000);
      for (const score of await redis.admin.zrange(timeouts, '0', '-1', 'WITHSCORES'))
        expect(score).toMatch(/^\d+$|:/);
      expect(await redis.admin.hgetall(waiting)).toEqual({
        [b.owner]: expect.stringMatching(/^200000 \d{16}( [0-9a-f]{32} 3000 s)?$/),
        [c.owner]: expect.stringMatching(/^5000 \d{16}( [0-9a-f]{32} 3000 s)?$/),
        [d.owner]: expect.stringMatching(/^20000 \d{16}( [0-9a-f]{32} 3000 s)?$/),
        [ours.context.id]: expect.stringMatching(/^\d{13} 2 \d+ 5000$/),
        [others.context.id]: expect.stringMatching(/^\d{13} 1 \d+ 5000$/),
      });
      for (const key of [queue, timeouts, waiting])
        expect(await redis.admin.pttl(key)).toBeGreaterThan(255_000);

      await view.allWaitersListen();
      await first.release();
      const second = await b.promise;
      expect(await redis.admin.hgetall('a')).toEqual({ [b.owner]: '1' });
      expect(await view.queue()).toEqual([c.owner, d.owner]);
      await view.expectHorizons(35_000, 55_000);

      const late = await view.enqueue(others.locks, { waitTimeMs: 7_000 });
      await view.expectHorizons(35_000, 55_000, 62_000);
      await view.allWaitersListen();

      await second.release();
      await (await c.promise).release();
      await (await d.promise).release();
      await (await late.promise).release();
      expect(await keys()).toEqual([]);
      await eventually(() => messages.length >= 3);
      // The next waiter of the same process gets the lock by the answer to the release.
      expect(messages.map((message) => message.split(' '))).toEqual(
        [c, d, late].map(({ owner }) => [
          `redisson_lock__channel:{a}:${owner}`,
          owner.split(':')[1],
          expect.stringMatching(/^[0-9a-f]{32}$/),
          expect.stringMatching(/^\d+$/),
        ]),
      );
    });

    it('takes exactly what it added off from those behind it when it gives up', async () => {
      const { locks } = open();
      const lease = await locks.acquire('a');
      const abort = new AbortController();
      const b = await view.enqueue(locks, { waitTimeMs: 40_000 });
      const c = await view.enqueue(locks, { waitTimeMs: 10_000, signal: abort.signal });
      await view.enqueue(locks, { waitTimeMs: 20_000 });
      await view.expectHorizons(70_000, 80_000, 100_000);
      abort.abort(new Error('no time'));
      await expect(c.promise).rejects.toThrow('no time');
      await eventually(async () => (await view.queue()).length === 2);
      await view.expectHorizons(70_000, 90_000);
      expect(b.state).toBe('pending');
      await lease.release();
    });

    it('puts the keys of the queue where Redisson has them, whatever the name', async () => {
      const [{ locks }, others] = [open({ keyPrefix: 'shop:' }), open({ keyPrefix: 'shop:' })];
      for (const [name, helper] of [
        ['b', '{shop:b}'],
        ['{x}:1', 'shop:{x}:1'],
      ] as const) {
        const lease = await locks.acquire(name, { fenced: true });
        const next = watch(others.locks.acquire(name));
        const expected = [
          ...[`redisson_lock_queue:${helper}`, `redisson_lock_timeout:${helper}`],
          ...[`nestjs_fair_waiting:${helper}`, `redisson_lock_token:${helper}`, `shop:${name}`],
        ];
        await eventually(async () => (await keys()).length === 5);
        expect(await keys()).toEqual(expected.sort());
        await lease.release();
        await (await next.promise).release();
        const channel = `redisson_lock__channel:${helper}:`;
        await eventually(() => messages.some((message) => message.startsWith(channel)));
        await redis.admin.flushall();
      }
    });
  });

  describe('what we see of Java', () => {
    it('waits behind its threads, with the score that the formula gives', async () => {
      const [holder, first] = [1, 2].map((n) => new JavaFairLock(redis.admin, 'a', n));
      expect(await holder?.tryLock()).toBeNull();
      expect(await first?.tryLock(60_000)).toBeGreaterThan(29_000);
      const ours = await view.enqueue(open().locks, { waitTimeMs: 10_000 });
      await view.expectHorizons(90_000, 100_000);
      await holder?.unlock();
      expect(messages.join()).not.toContain(ours.owner);
      expect(await first?.tryLock(60_000)).toBeNull();
      await view.expectHorizons(40_000);
      await view.allWaitersListen();
      await first?.unlock();
      const sinceUnlock = new Stopwatch();
      const lease = await ours.promise;
      expect(sinceUnlock.ms).toBeLessThan(PROMPT_MS);
      expect(await view.holder()).toBe(lease.owner);
      await eventually(() => messages.includes(`redisson_lock__channel:{a}:${lease.owner} 0`));
    });

    it('throws out a thread at the head that has outlasted its score, as Redisson does', async () => {
      const { locks } = open({ pollIntervalMs: 50 });
      const [holder, dead] = [1, 2].map((n) => new JavaFairLock(redis.admin, 'a', n));
      await holder?.tryLock(300_000, 200);
      await dead?.tryLock(300);
      const ours = await view.enqueue(locks);
      const horizon = Number(await redis.admin.zscore(timeouts, dead?.owner ?? ''));
      await (await ours.promise).release();
      expect(await serverNow(redis.admin)).toBeGreaterThanOrEqual(horizon);
      expect(await keys()).toEqual([]);
    });

    it('alternates with its threads in the order of their arrival', async () => {
      const { locks } = open();
      const order: string[] = [];
      const first = await locks.acquire('a');
      const threads = [1, 2, 3].map((n) => new JavaFairLock(redis.admin, 'a', n));
      const ours = [];
      for (const thread of threads) {
        ours.push((await view.enqueue(locks)).promise);
        await thread.tryLock();
      }
      const expected = await view.queue();
      expect(expected).toHaveLength(6);
      await view.allWaitersListen();
      await first.release();
      for (const [i, thread] of threads.entries()) {
        const lease = await ours[i];
        order.push(lease?.owner ?? '');
        await lease?.release();
        await eventually(() => messages.includes(`${thread.channel} 0`));
        expect(await thread.tryLock()).toBeNull();
        order.push(thread.owner);
        await thread.unlock();
      }
      expect(order).toEqual(expected);
    });
  });
});
