import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { LockContext } from '../../libs/redis-lock/src/core/lock-context.js';
import { hashSlot } from '../../libs/redis-lock/src/ioredis/hash-slot.js';
import { LatchService } from '../../libs/redis-lock/src/primitives/count-down-latch/latch-service.js';
import { PROMPT_MS, roundTrips, watch } from '../contract/suite.js';
import { expectCosts } from '../support/costs.js';
import { eventually } from '../support/eventually.js';
import { useLocks } from '../support/lock-client.js';
import { PassThrough } from '../support/pass-through.js';
import { useRedis } from '../support/redis-server.js';
import { Stopwatch } from '../support/stopwatch.js';

const LONG_MS = 60_000;
const channelOf = (key: string) => `redisson_countdownlatch__channel__{${key}}`;

/** A Java service with Redisson's RCountDownLatch, in bare Redis commands. */
const java = {
  async trySetCount(redis: Redis, key: string, count: number): Promise<boolean> {
    if ((await redis.exists(key)) === 1) return false;
    await redis.multi().set(key, count).publish(channelOf(key), '1').exec();
    return true;
  },
  async countDown(redis: Redis, key: string): Promise<void> {
    const left = await redis.decr(key);
    if (left <= 0) await redis.del(key);
    if (left === 0) await redis.publish(channelOf(key), '0');
  },
  getCount: async (redis: Redis, key: string) => Number((await redis.get(key)) ?? 0),
  async delete(redis: Redis, key: string): Promise<boolean> {
    if ((await redis.del(key)) === 0) return false;
    await redis.publish(channelOf(key), '1');
    return true;
  },
};

describe('LatchService on the wire', () => {
  const redis = useRedis();
  let messages: [channel: string, payload: string][];
  let listener: Redis;
  beforeEach(() => {
    messages = [];
    listener = new Redis(redis.url, { lazyConnect: true });
    listener.on('message', (channel, payload) => messages.push([channel, payload]));
  });
  // In order: nothing that was published before is heard by the next spec.
  afterEach(() => listener.quit());
  const open = useLocks(redis, (context) => new LatchService(context));
  const latchOf = (settings: Parameters<typeof open>[0] = {}) => open(settings).locks.get('a');
  /** Everything but the notes of requests. */
  const keys = async () =>
    (await redis.admin.keys('*')).filter((key) => !key.startsWith('nestjs_latch_request:'));
  const listening = () => redis.listening(channelOf('a'));

  it('is a string of the plain name without a TTL, one less for each count-down, then absent', async () => {
    const latch = latchOf();
    expect(await latch.trySetCount(3)).toBe(true);
    expect(await redis.admin.type('a')).toBe('string');
    for (const left of [2, 1]) {
      expect(await latch.countDown()).toBe(left);
      expect(await redis.admin.get('a')).toBe(String(left));
      expect(await redis.admin.pttl('a')).toBe(-1);
    }
    expect(await keys()).toEqual(['a']);
    expect(await latch.countDown()).toBe(0);
    expect(await keys()).toEqual([]);
  });

  it('publishes 1 when it is set, 0 at zero and when it is deleted, and nothing else', async () => {
    await listener.subscribe(channelOf('a'));
    const latch = latchOf();
    await latch.trySetCount(2);
    await latch.trySetCount(9);
    await latch.countDown();
    await latch.countDown();
    await latch.countDown();
    await latch.delete();
    await latch.trySetCount(1);
    await latch.delete();
    await eventually(() => messages.length >= 4);
    await roundTrips(redis, 3);
    expect(messages.map(([, payload]) => payload)).toEqual(['1', '0', '1', '0']);
    expect(new Set(messages.map(([channel]) => channel))).toEqual(new Set([channelOf('a')]));
  });

  it('has a note of each request beside it, in its slot, of which none is left soon after', async () => {
    const latch = latchOf();
    await latch.trySetCount(200);
    await Promise.all(Array.from({ length: 100 }, () => latch.countDown()));
    const notes = await redis.admin.keys('nestjs_latch_request:{a}:*');
    expect(notes).toHaveLength(101);
    expect(await redis.admin.pttl(notes[0] ?? '')).toBeGreaterThan(590_000);
    expect(await redis.admin.pttl(notes[0] ?? '')).toBeLessThanOrEqual(600_000);
    const sent = await redis.commandsDuring(() =>
      eventually(async () => expect(await redis.admin.keys('*')).toEqual(['a'])),
    );
    expect(sent.del).toBe(1);
  });

  it('keeps Redisson’s braces for a name with a tag of its own', async () => {
    await listener.subscribe(channelOf('{shop}:1'));
    const latch = open().locks.get('{shop}:1');
    await latch.trySetCount(1);
    await latch.countDown();
    await eventually(() => messages.length === 2);
    expect(messages[0]).toEqual(['redisson_countdownlatch__channel__{{shop}:1}', '1']);
    expect(await redis.admin.keys('nestjs_latch_request:{shop}:1:*')).not.toEqual([]);
  });

  it('stays in the slot of its key where there are slots: Redisson’s braces would leave it', async () => {
    const inCluster = new (class extends PassThrough {
      override place = (key: string) => ({ node: '', slot: hashSlot(key) });
    })(open().connection);
    const latches = new LatchService(new LockContext(inCluster));
    await listener.subscribe(channelOf('a'), 'redisson_countdownlatch__channel__{shop}:1');
    await latches.get('{shop}:1').trySetCount(1);
    await latches.get('a').trySetCount(1);
    await eventually(() => messages.length === 2);
  });

  it('puts the keyPrefix before the name, everywhere', async () => {
    await listener.subscribe(channelOf('shop:a'));
    const latch = latchOf({ keyPrefix: 'shop:' });
    await latch.trySetCount(1);
    expect(await keys()).toEqual(['shop:a']);
    await eventually(() => messages.length === 1);
  });

  it('is set, counted down, read and deleted by Java', async () => {
    const latch = latchOf({ pollIntervalMs: LONG_MS });
    expect(await java.trySetCount(redis.admin, 'a', 2)).toBe(true);
    expect(await latch.trySetCount(3)).toBe(false);
    expect(await latch.getCount()).toBe(2);
    const waiting = latch.wait({ waitTimeMs: LONG_MS });
    await listening();
    await java.countDown(redis.admin, 'a');
    const sinceOpening = new Stopwatch();
    await java.countDown(redis.admin, 'a');
    expect(await waiting).toBe(true);
    expect(sinceOpening.ms).toBeLessThan(PROMPT_MS);

    await java.trySetCount(redis.admin, 'a', 2);
    const second = latch.wait({ waitTimeMs: LONG_MS });
    await listening();
    await java.delete(redis.admin, 'a');
    expect(await second).toBe(true);
  });

  it('is counted down from both sides', async () => {
    const latch = latchOf();
    await latch.trySetCount(4);
    expect(await java.trySetCount(redis.admin, 'a', 9)).toBe(false);
    await java.countDown(redis.admin, 'a');
    expect(await latch.countDown()).toBe(2);
    await java.countDown(redis.admin, 'a');
    expect(await java.getCount(redis.admin, 'a')).toBe(1);
    expect(await latch.countDown()).toBe(0);
    expect(await java.getCount(redis.admin, 'a')).toBe(0);
  });

  it('takes what Java leaves of a latch that was set to 0 for an open one', async () => {
    const latch = latchOf();
    await redis.admin.set('a', 0);
    expect(await latch.wait()).toBe(true);
    expect(await latch.trySetCount(1)).toBe(false);
    expect(await latch.countDown()).toBe(0);
    expect(await keys()).toEqual([]);
  });

  it('costs what its page says', async () => {
    const latch = latchOf();
    await expectCosts(redis, 'latch.md', [
      ['`trySetCount`', () => latch.trySetCount(2)],
      ['`trySetCount` of one that is set', () => latch.trySetCount(2)],
      ['`getCount`, or a look by `wait`', () => latch.getCount()],
      ['`countDown`', () => latch.countDown()],
      ['`countDown` to zero', () => latch.countDown()],
      ['`wait` for an open latch', () => latch.wait()],
      ['`trySetCount`', () => latch.trySetCount(2)],
      ['`delete`', () => latch.delete()],
      ['`delete` of an absent one', () => latch.delete()],
    ]);
  });

  describe('by Redisson’s own tests', () => {
    it('testAwaitTimeout: true when it was counted down in time', async () => {
      const latch = latchOf();
      await latch.trySetCount(1);
      const waiting = latch.wait({ waitTimeMs: LONG_MS });
      await latchOf().countDown();
      expect(await waiting).toBe(true);
    });

    it('testAwaitTimeoutFail: false when it was not', async () => {
      const latch = latchOf();
      await latch.trySetCount(1);
      expect(await latch.wait({ waitTimeMs: 400 })).toBe(false);
    });

    it('testMultiAwait: five who wait all go on', async () => {
      const latch = latchOf();
      await latch.trySetCount(5);
      const waiting = Array.from({ length: 5 }, () => latch.wait({ waitTimeMs: LONG_MS }));
      for (let i = 0; i < 5; i += 1) await latch.countDown();
      expect(await Promise.all(waiting)).toEqual([true, true, true, true, true]);
    });

    it('testCountDown: never below zero, 0 lets go on, an absent one counts as 0', async () => {
      const latch = latchOf();
      expect(await latch.countDown()).toBe(0);
      await latch.trySetCount(2);
      expect(await latch.countDown()).toBe(1);
      expect(await latch.countDown()).toBe(0);
      expect(await latch.countDown()).toBe(0);
      expect(await latch.getCount()).toBe(0);
      expect(await latch.wait()).toBe(true);
    });

    it('testDelete: true when it was there', async () => {
      const latch = latchOf();
      await latch.trySetCount(1);
      expect(await latch.delete()).toBe(true);
    });

    it('testDeleteFailed: false when it was not', async () => {
      expect(await latchOf().delete()).toBe(false);
    });

    it('testTrySetCount: only once', async () => {
      const latch = latchOf();
      expect(await latch.trySetCount(1)).toBe(true);
      expect(await latch.trySetCount(2)).toBe(false);
      expect(await latch.getCount()).toBe(1);
    });

    it('testCount: what is left', async () => {
      const latch = latchOf();
      expect(await latch.getCount()).toBe(0);
      await latch.trySetCount(2);
      expect(await latch.getCount()).toBe(2);
    });

    it('testSingleCountDownAwait_SingleInstance: all who waited see 0', async () => {
      const latch = latchOf();
      await latch.trySetCount(1);
      const waiting = Array.from({ length: 50 }, () =>
        latch.wait({ waitTimeMs: LONG_MS }).then(() => latch.getCount()),
      );
      await latch.countDown();
      expect(new Set(await Promise.all(waiting))).toEqual(new Set([0]));
    });

    it('CountDownLatchPubSubTest: one message lets everybody go on', async () => {
      const latches = [1, 2, 3].map(() => latchOf({ pollIntervalMs: LONG_MS }));
      await latches[0]?.trySetCount(1);
      const waiting = latches.map((latch) => watch(latch.wait({ waitTimeMs: LONG_MS })));
      await redis.listening(channelOf('a'), 3);
      await java.countDown(redis.admin, 'a');
      for (const { promise } of waiting) expect(await promise).toBe(true);
    });
  });
});
