import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Worker } from '../support/child.js';
import { eventually, useProxy, useRealRedis, watch } from '../support/set-up.js';
import type { Api } from './murlock.worker.js';

const redis = useRealRedis();
const proxy = useProxy(redis);
let worker: Worker<Api>;

/** One process for all specs, because Jest cannot load murlock, which requires Nest. */
beforeAll(async () => {
  const file = new URL('murlock.worker.ts', import.meta.url);
  worker = new Worker<Api>(file, { env: { REDIS_URL: redis.url } });
  await worker.ready;
});
afterEach(async () => {
  await worker.call.close();
  await redis.admin.flushall();
});
afterAll(async () => {
  const { unhandled } = worker;
  await worker.kill();
  expect(unhandled).toEqual([]);
});

const inside = (count: number) => eventually(async () => (await worker.call.inside()) === count);

describe('from murlock', () => {
  it.each(['before', 'after'] as const)('%s: the module as it is shown', async (when) => {
    expect(await worker.call.startAsShown(when)).toBe('inside');
  });

  it.each(['before', 'after'] as const)('%s: one at a time sells', async (when) => {
    await worker.call.start(redis.url);
    expect((await worker.call.sell(when)).sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it('before: a method is a lock of its own, so that two methods are inside', async () => {
    await worker.call.start(redis.url);
    await worker.call.shut('before');
    await inside(2);
    expect((await redis.keys()).sort()).toEqual(['Shop:sell:A', 'Shop:sellOne:A']);
    expect(await redis.admin.type('Shop:sell:A')).toBe('string');
    // One of the two pieces is sold twice.
    expect(await worker.call.open()).toEqual(['7', '7']);
  });

  it('after: the product is the lock, so that the methods take turns', async () => {
    await worker.call.start(redis.url);
    await worker.call.shut('after');
    await inside(1);
    expect(await redis.admin.hlen('lock:product_A')).toBe(1);
    expect((await worker.call.open()).sort()).toEqual(['6', '7']);
  });

  it('refuses a value that is missing, both before and after', async () => {
    await worker.call.start(redis.url);
    expect(await worker.call.refuse('before')).toMatch(/^MurLockException: .*undefined or null/);
    expect(await worker.call.refuse('after')).toMatch(/^LockKeyError/);
  });

  it.each(['before', 'after'] as const)('%s: gives up while another imports', async (when) => {
    await worker.call.start(redis.url, { maxAttempts: 3 });
    expect(await worker.call.importTwice(when)).toEqual([true, false]);
    expect(await redis.admin.exists('import', 'lock:import')).toBe(0);
  });

  it('before: no watchdog renews, and a call that ends too late gets an error in place of its result', async () => {
    await worker.call.start(redis.url);
    await worker.call.hold('a', 100);
    await inside(1);
    await eventually(async () => (await redis.admin.exists('a')) === 0);
    expect(await worker.call.enter('a')).toBe('inside');
    expect(await worker.call.open()).toEqual([
      expect.stringMatching(/^MurLockException: Failed to rel/),
    ]);
  });

  it('before: a release that fails replaces the error of the work, unless it is ignored', async () => {
    for (const ignoreUnlockFail of [false, true]) {
      await worker.call.start(redis.url, { ignoreUnlockFail });
      await worker.call.hold('a', 100, 'sold out');
      await inside(1);
      await eventually(async () => (await redis.admin.exists('a')) === 0);
      const expected = ignoreUnlockFail ? /^Error: sold out/ : /^MurLockException: Failed to rel/;
      expect(await worker.call.open()).toEqual([expect.stringMatching(expected)]);
    }
  });

  it('before: a nested call waits for itself; after: it joins', async () => {
    await worker.call.start(redis.url, { maxAttempts: 3, wait: 50 });
    const begunAt = performance.now();
    expect(await worker.call.nest('a')).toMatch(/^MurLockException: .*after 3 attempts/);
    // 50, 100 and 150 ms; a timer may be a little early.
    expect(performance.now() - begunAt).toBeGreaterThan(290);
    expect(await worker.call.nestOurs('a')).toBe('inside');
  });

  it('before: a call waits while Redis is away; after: it rejects in time', async () => {
    await worker.call.start(proxy.current.url);
    proxy.current.refuse();
    proxy.current.cut();
    await eventually(async () => !(await worker.call.isReady()));
    const theirs = watch(worker.call.enter('a'));
    expect(await worker.call.enterOurs('a', 300)).toMatch(/^LockBackendError/);
    expect(theirs.state).toBe('pending');
    await proxy.current.heal();
    expect(await theirs.promise).toBe('inside');
  });

  it('before: the end of the application leaves the lock to its lease', async () => {
    await worker.call.start(redis.url);
    await worker.call.hold('a', 10_000);
    await inside(1);
    await worker.call.close();
    expect(await worker.call.open()).toEqual([
      expect.stringMatching(/^MurLockException: Failed to rel/),
    ]);
    expect(await redis.admin.pttl('a')).toBeGreaterThan(0);
  });

  it('after: it releases the lock', async () => {
    await worker.call.start(redis.url);
    await worker.call.shut('after');
    await inside(1);
    await worker.call.close();
    expect(await redis.admin.exists('lock:product_A')).toBe(0);
    expect(await worker.call.open()).toContainEqual(expect.stringMatching(/^LeaseLostError/));
  });

  it('shares no name: neither lets the other in, and each answers in its way', async () => {
    await worker.call.start(redis.url, { maxAttempts: 3 });
    await worker.call.hold('lock:product_A', 10_000);
    await inside(1);
    expect(await worker.call.enterOurs('product_A', 1_000)).toMatch(/^LockStateError/);
    await worker.call.open();
    await worker.call.shut('after');
    await inside(1);
    expect(await worker.call.enter('lock:product_A')).toMatch(/^MurLockException: .*WRONGTYPE/);
    await worker.call.open();
  });

  it('is safe in two steps: both locks exclude those who take only one', async () => {
    await worker.call.start(redis.url);
    expect(await worker.call.crowd('before', 'both')).toEqual({ entries: 6, most: 1 });
    expect(await worker.call.crowd('both', 'after')).toEqual({ entries: 6, most: 1 });
    // So no service may go from the first step to the last at once.
    expect((await worker.call.crowd('before', 'after')).most).toBe(2);
  });
});
