import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { LockContext } from '../../libs/redis-lock/src/core/lock-context.js';
import { hashSlot } from '../../libs/redis-lock/src/ioredis/hash-slot.js';
import { LatchService } from '../../libs/redis-lock/src/primitives/count-down-latch/latch-service.js';
import { expectCosts } from '../support/costs.js';
import { PassThrough } from '../support/pass-through.js';
import { eventually, roundTrips, useLocks, useRedis, watch } from '../support/set-up.js';

const LONG_MS = 60_000;
const channelOf = (key: string) => `redisson_countdownlatch__channel__{${key}}`;

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
      ['`getCount`, or a check by `wait`', () => latch.getCount()],
      ['`countDown`', () => latch.countDown()],
      ['`countDown` to zero', () => latch.countDown()],
      ['`wait` for an open latch', () => latch.wait()],
      ['`trySetCount`', () => latch.trySetCount(2)],
      ['`delete`', () => latch.delete()],
      ['`delete` of an absent one', () => latch.delete()],
    ]);
  });

  it('CountDownLatchPubSubTest: one message lets all waiters go on', async () => {
    const latches = [1, 2, 3].map(() => latchOf({ pollIntervalMs: LONG_MS }));
    await latches[0]?.trySetCount(1);
    const waiting = latches.map((latch) => watch(latch.wait({ waitTimeMs: LONG_MS })));
    await redis.listening(channelOf('a'), 3);
    await redis.admin.multi().del('a').publish(channelOf('a'), '0').exec();
    for (const { promise } of waiting) expect(await promise).toBe(true);
  });
});
