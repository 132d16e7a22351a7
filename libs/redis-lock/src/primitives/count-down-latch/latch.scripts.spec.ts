import { describe, expect, it } from '@jest/globals';
import {
  deliver,
  deliveries,
  look as lookAt,
  NO_COUNTS,
  NO_NUMBERS,
} from '../../../../../test/support/deliver.js';
import { eventually } from '../../../../../test/support/eventually.js';
import { timed } from '../../../../../test/support/moments.js';
import { useRedis } from '../../../../../test/support/redis-server.js';
import type { Script } from '../../core/redis/script.js';
import { COUNT_DOWN, DELETE, GET_COUNT, TRY_SET_COUNT } from './latch.scripts.js';

const CHANNEL = 'redisson_countdownlatch__channel__{k}';
const TTL = { markerTtlMs: 600_000 };
/** The marker of a request. */
const noted = (value: string) => ({ value, seconds: 600 });

describe('the scripts of the latch', () => {
  const redis = useRedis();
  const look = () => lookAt(redis.admin);
  const run = <R>(script: Script<string, string, R>, marker: string, args: object = {}) =>
    deliver(redis.admin, script, ['k', marker], { ...TTL, channel: CHANNEL, ...args });
  const set = (marker: string, count: string | number) => run(TRY_SET_COUNT, marker, { count });
  const countDown = (marker: string) => run(COUNT_DOWN, marker);
  const getCount = () => deliver(redis.admin, GET_COUNT, ['k'], {});
  const remove = (marker: string) => run(DELETE, marker);

  describe.each([1, 2, 3])('delivered %d times in a row', (times) => {
    const repeatedly = deliveries(redis, times, look);

    it('try-set-count sets what is absent, without a TTL', async () => {
      expect(await repeatedly(() => set('m', 3))).toMatchObject({ count: 1 });
      expect(await look()).toEqual({ k: { value: '3' }, m: noted('1') });
    });

    it('try-set-count leaves a latch that is set alone', async () => {
      await redis.admin.set('k', 2);
      expect(await repeatedly(() => set('m', 3))).toMatchObject({ count: 0 });
      expect(await look()).toEqual({ k: { value: '2' }, m: noted('0') });
    });

    it('count-down counts once', async () => {
      await timed(redis.admin, () => redis.admin.set('k', 3, 'PX', 60_000));
      expect(await repeatedly(() => countDown('m'))).toMatchObject({ count: 2 });
      expect(await look()).toEqual({ k: { value: '2', seconds: 60 }, m: noted('2') });
    });

    it('count-down to zero deletes the key', async () => {
      await redis.admin.set('k', 1);
      expect(await repeatedly(() => countDown('m'))).toMatchObject({ count: 0 });
      expect(await look()).toEqual({ m: noted('0') });
    });

    it('count-down of an absent latch changes nothing', async () => {
      expect(await repeatedly(() => countDown('m'))).toMatchObject({ count: 0 });
      expect(await look()).toEqual({ m: noted('0') });
    });

    it.each(['0', '-1'])('count-down takes %s for nothing left', async (value) => {
      await redis.admin.set('k', value);
      const { publish = 0 } = await redis.commandsDuring(async () => {
        expect(await repeatedly(() => countDown('m'))).toMatchObject({ count: 0 });
      });
      expect(publish).toBe(0);
      expect(await look()).toEqual({ m: noted('0') });
    });

    it('delete takes the latch away once', async () => {
      await redis.admin.set('k', 2);
      expect(await repeatedly(() => remove('m'))).toMatchObject({ count: 1 });
      expect(await look()).toEqual({ m: noted('1') });
      expect(await repeatedly(() => remove('n'))).toMatchObject({ count: 0 });
    });

    it('get-count answers and changes nothing', async () => {
      expect(await repeatedly(getCount)).toBe(0);
      await redis.admin.set('k', 7);
      expect(await repeatedly(getCount)).toBe(7);
      await redis.admin.set('k', -7);
      expect(await repeatedly(getCount)).toBe(0);
    });
  });

  it('a request that arrives once more leaves the next latch of the name alone', async () => {
    await set('m1', 1);
    await countDown('m2');
    await redis.admin.set('k', 5);
    expect(await set('m1', 1)).toMatchObject({ count: 1 });
    expect(await countDown('m2')).toMatchObject({ count: 0 });
    expect(await redis.admin.get('k')).toBe('5');
    await remove('m3');
    await redis.admin.set('k', 5);
    await remove('m3');
    expect(await redis.admin.get('k')).toBe('5');
  });

  it('a request on an absent latch that arrives once more does not count on a later one', async () => {
    await countDown('m1');
    await remove('m2');
    await set('m3', 2);
    expect(await countDown('m1')).toMatchObject({ count: 0 });
    expect(await remove('m2')).toMatchObject({ count: 0 });
    expect(await redis.admin.get('k')).toBe('2');
  });

  it.each([1, 2, 3])('delete tells once that it is open, delivered %d times', async (times) => {
    const listener = redis.admin.duplicate();
    const heard: string[] = [];
    listener.on('message', (_, payload: string) => heard.push(payload));
    await listener.subscribe(CHANNEL);
    await redis.admin.set('k', 2);
    for (let i = 0; i < times; i += 1) await remove('m');
    await redis.admin.publish(CHANNEL, 'end');
    await eventually(() => heard.includes('end'));
    listener.disconnect();
    expect(heard).toEqual(['0', 'end']);
  });

  it('forgets what Redis has refused, so that it is done when it is sent again', async () => {
    await redis.admin.set('k', 2);
    await redis.without(['decr'], async () => {
      await expect(countDown('m')).rejects.toThrow(/permission|can't/i);
      expect(await look()).toEqual({ k: { value: '2' } });
    });
    expect(await countDown('m')).toMatchObject({ count: 1 });
  });

  it('says when its message did not go out, and has done the rest', async () => {
    await redis.admin.set('k', 1);
    const answer = await redis.without(['publish'], () => countDown('m'));
    expect(answer).toEqual({ count: 0, isAnnounced: false });
    expect(await redis.admin.exists('k')).toBe(0);
  });

  it.each([
    ['try-set-count: count', (bad: string) => set('m', bad)],
    [
      'try-set-count: TTL',
      (bad: string) => run(TRY_SET_COUNT, 'm', { count: 1, markerTtlMs: bad }),
    ],
    ['count-down: TTL', (bad: string) => run(COUNT_DOWN, 'm', { markerTtlMs: bad })],
    ['delete: TTL', (bad: string) => run(DELETE, 'm', { markerTtlMs: bad })],
  ])('%s is refused before the first write', async (_, call) => {
    for (const bad of NO_NUMBERS) {
      await expect(call(bad)).rejects.toThrow('LOCKARG');
      expect(await look()).toEqual({});
    }
  });

  it('try-set-count of 0 is refused', async () => {
    await expect(set('m', 0)).rejects.toThrow('LOCKARG');
    expect(await look()).toEqual({});
  });

  it.each(NO_COUNTS)('%p is no count: refused and untouched', async (value) => {
    await redis.admin.set('k', value);
    for (const step of [() => set('m', 1), () => countDown('m'), getCount, () => remove('m')]) {
      await expect(step()).rejects.toThrow('LOCKSTATE');
      expect(await look()).toEqual({ k: { value } });
    }
  });

  it.each([
    [TRY_SET_COUNT, [1, 'x', [], [1], [1, 2], ['1', 1], null]],
    [COUNT_DOWN, [1, 'x', [], [1], [1, 2], null]],
    [GET_COUNT, [-1, 'x', '1', [], null]],
    [DELETE, [1, 'x', [], [1, -1], null]],
  ] as [Script<string, string, unknown>, unknown[]][])(
    'takes no answer it does not know for a success: %#',
    (script, replies) => {
      for (const reply of replies) expect(() => script.decode(reply)).toThrow('makes no sense');
      expect(script.lua).not.toMatch(/undefined|\[object|NaN/);
    },
  );
});
