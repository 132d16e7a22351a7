import { describe, expect, it } from '@jest/globals';
import {
  deliver,
  deliveries,
  look as lookAt,
  NO_COUNTS,
  NO_NUMBERS,
} from '../../../../../test/support/deliver.js';
import { timed } from '../../../../../test/support/moments.js';
import { useRedis } from '../../../../../test/support/redis-server.js';
import type { Script } from '../../core/redis/script.js';
import {
  ACQUIRE,
  AVAILABLE,
  CANCEL,
  CHANGE,
  DRAIN,
  TRY_SET_PERMITS,
} from './counting-semaphore.scripts.js';

const MOST = 2_147_483_647;
const DEFAULTS = {
  ...{ channel: 'redisson_sc:{k}', markerTtlMs: 600_000, ttlMs: 0 },
  ...{ more: 0, fewer: 0, onlyIfExists: 0, ofAll: 0 },
};
/** The marker of a request. */
const noted = (value: string) => ({ value, seconds: 600 });
const granted = { kind: 'granted' };
const busy = { kind: 'busy', remainingMs: Infinity };

describe('the scripts of the counting semaphore', () => {
  const redis = useRedis();
  const look = () => lookAt(redis.admin);
  const run = <R>(script: Script<string, string, R>, marker: string, args: object = {}) =>
    deliver(redis.admin, script, ['k', marker], { ...DEFAULTS, ...args });
  type Count = number | string;
  const trySet = (marker: string, permits: Count, ttlMs: Count = 0) =>
    run(TRY_SET_PERMITS, marker, { permits, ttlMs });
  const acquire = (marker: string, permits: Count = 1, ofAll = 0) =>
    run(ACQUIRE, marker, { permits, ofAll });
  const cancel = (marker: string) => run(CANCEL, marker);
  const change = (marker: string, more: Count, fewer: Count = 0, onlyIfExists: Count = 0) =>
    run(CHANGE, marker, { more, fewer, onlyIfExists });
  const drain = (marker: string) => run(DRAIN, marker);
  const available = () => deliver(redis.admin, AVAILABLE, ['k'], {});
  const free = (value: number) => redis.admin.set('k', value);

  describe.each([1, 2, 3])('delivered %d times in a row', (times) => {
    const repeatedly = deliveries(redis, times, look);

    it('try-set-permits sets what is absent, once', async () => {
      expect(await repeatedly(() => trySet('m', 3))).toMatchObject({ count: 1 });
      expect(await look()).toEqual({ k: { value: '3' }, m: noted('1') });
      expect(await repeatedly(() => trySet('n', 9))).toMatchObject({ count: 0 });
      expect(await redis.admin.get('k')).toBe('3');
    });

    it('try-set-permits sets a TTL in the same step', async () => {
      await repeatedly(() => trySet('m', 3, 60_000));
      expect(await look()).toEqual({ k: { value: '3', seconds: 60 }, m: noted('1') });
    });

    it('acquire takes all it wants, once, and keeps the TTL', async () => {
      await timed(redis.admin, () => redis.admin.set('k', 5, 'PX', 60_000));
      expect(await repeatedly(() => acquire('m', 3))).toMatchObject(granted);
      expect(await look()).toEqual({ k: { value: '2', seconds: 60 }, m: noted('3') });
    });

    it.each([
      ['too few', 2],
      ['none', 0],
      ['fewer than none', -2],
    ])('acquire takes nothing of %s, and leaves nothing', async (_, value) => {
      await free(value);
      expect(await repeatedly(() => acquire('m', 3))).toEqual(busy);
      expect(await look()).toEqual({ k: { value: String(value) } });
    });

    it('acquire is refused by an absent counter', async () => {
      expect(await repeatedly(() => acquire('m'))).toEqual({ ...busy, isUnset: true });
      expect(await look()).toEqual({});
    });

    it('acquire sets what is absent, takes its part once, and tells of the rest', async () => {
      const sent = await redis.commandsDuring(async () => {
        expect(await repeatedly(() => acquire('m', 3, 5))).toMatchObject(granted);
      });
      expect(sent.publish).toBe(1);
      expect(await look()).toEqual({ k: { value: '2' }, m: noted('3') });
    });

    it('acquire of more than it sets takes nothing', async () => {
      expect(await repeatedly(() => acquire('m', 3, 2))).toEqual(busy);
      expect(await look()).toEqual({ k: { value: '2' } });
    });

    it('cancel releases what was taken, once', async () => {
      await timed(redis.admin, () => redis.admin.set('k', 5, 'PX', 60_000));
      await acquire('m', 3);
      await repeatedly(() => cancel('m').then(() => ({})));
      expect(await look()).toEqual({ k: { value: '5', seconds: 60 }, m: noted('cancelled') });
    });

    it('cancel forbids an acquisition that arrives later', async () => {
      await free(5);
      await repeatedly(() => cancel('m'));
      expect(await repeatedly(() => acquire('m'))).toEqual(busy);
      expect(await look()).toEqual({ k: { value: '5' }, m: noted('cancelled') });
    });

    it('cancel does not bring a counter back that is gone', async () => {
      await free(5);
      await acquire('m', 3);
      await redis.admin.del('k');
      await repeatedly(() => cancel('m'));
      expect(await look()).toEqual({ m: noted('cancelled') });
    });

    it('change adds once, and creates the counter', async () => {
      expect(await repeatedly(() => change('m', 3))).toMatchObject({ count: 1 });
      expect(await look()).toEqual({ k: { value: '3' }, m: noted('1') });
    });

    it('change creates nothing where it may not', async () => {
      expect(await repeatedly(() => change('m', 3, 0, 1))).toMatchObject({ count: 0 });
      expect(await look()).toEqual({ m: noted('0') });
    });

    it('change keeps the TTL, up and down, also below zero', async () => {
      await timed(redis.admin, () => redis.admin.set('k', 1, 'PX', 60_000));
      await repeatedly(() => change('m', 4));
      expect(await look()).toMatchObject({ k: { value: '5', seconds: 60 } });
      await repeatedly(() => change('n', 0, 7));
      expect(await look()).toMatchObject({ k: { value: '-2', seconds: 60 } });
    });

    it('drain takes what is free, once, and keeps the TTL', async () => {
      await timed(redis.admin, () => redis.admin.set('k', 7, 'PX', 60_000));
      expect(await repeatedly(() => drain('m'))).toMatchObject({ count: 7 });
      expect(await look()).toEqual({ k: { value: '0', seconds: 60 }, m: noted('7') });
      expect(await repeatedly(() => drain('n'))).toMatchObject({ count: 0 });
    });

    it('drain brings a number below zero up to it', async () => {
      await free(-3);
      expect(await repeatedly(() => drain('m'))).toMatchObject({ count: -3 });
      expect(await redis.admin.get('k')).toBe('0');
    });

    it('drain creates nothing', async () => {
      expect(await repeatedly(() => drain('m'))).toMatchObject({ count: 0 });
      expect(await look()).toEqual({ m: noted('0') });
    });

    it('available answers and changes nothing', async () => {
      expect(await repeatedly(async () => ({ free: await available() }))).toEqual({ free: 0 });
      await free(-4);
      expect(await available()).toBe(-4);
    });
  });

  it('a request that arrives once more finds what has changed meanwhile as it is', async () => {
    await free(5);
    await acquire('m1', 2);
    await change('m2', 2);
    await drain('m3');
    await change('m4', 9);
    const state = await look();
    await acquire('m1', 2);
    await change('m2', 2);
    expect(await drain('m3')).toMatchObject({ count: 5 });
    await change('m4', 9);
    expect(await look()).toEqual(state);
  });

  it.each([
    ['more than Java can count', MOST, 1, 0],
    ['less than Java can count', -MOST, 0, 1],
  ])('change never makes it %s', async (_, value, more, fewer) => {
    await free(value);
    await expect(change('m', more, fewer)).rejects.toThrow('LOCKSTATE');
    expect(await look()).toEqual({ k: { value: String(value) } });
    await change('m', fewer, more);
    expect(await redis.admin.get('k')).toBe(String(value - Math.sign(value)));
  });

  it.each([
    [1, 2, 0, 1],
    [-3, 3, 0, undefined],
    [5, 0, 2, undefined],
  ])('change publishes an increase to 1 or more: %d + %d − %d', async (...row) => {
    const [value, more, fewer, published] = row;
    await free(value);
    const sent = await redis.commandsDuring(() => change('m', more, fewer));
    expect(sent.publish).toBe(published);
  });

  it('forgets what Redis has refused, so that it is done when it is sent again', async () => {
    await free(5);
    await acquire('taken', 2);
    const state = await look();
    await redis.without(['decrby', 'incrby'], async () => {
      for (const step of [() => acquire('m'), () => change('m', 1), () => drain('m')]) {
        await expect(step()).rejects.toThrow(/permission|can't/i);
      }
      await expect(cancel('taken')).rejects.toThrow(/permission|can't/i);
      expect(await look()).toEqual(state);
    });
    await cancel('taken');
    expect(await redis.admin.get('k')).toBe('5');
  });

  it.each([
    ['try-set-permits: permits', (bad: string) => trySet('m', bad)],
    ['try-set-permits: TTL', (bad: string) => trySet('m', 1, bad)],
    ['acquire: permits', (bad: string) => acquire('m', bad)],
    ['change: more', (bad: string) => change('m', bad)],
    ['change: fewer', (bad: string) => change('m', 0, bad)],
    ['drain: TTL', (bad: string) => run(DRAIN, 'm', { markerTtlMs: bad })],
    ['cancel: TTL', (bad: string) => run(CANCEL, 'm', { markerTtlMs: bad })],
  ])('%s is refused before the first write', async (_, call) => {
    await free(5);
    for (const bad of NO_NUMBERS) {
      await expect(call(bad)).rejects.toThrow('LOCKARG');
      expect(await look()).toEqual({ k: { value: '5' } });
    }
  });

  it('refuses 0 permits', async () => {
    await expect(trySet('m', 0)).rejects.toThrow('LOCKARG');
    await expect(acquire('m', 0)).rejects.toThrow('LOCKARG');
    expect(await look()).toEqual({});
  });

  it.each(NO_COUNTS)('%p is no count: refused and untouched', async (value) => {
    await redis.admin.set('k', value);
    const steps = [() => trySet('m', 1), () => acquire('m'), () => cancel('m'), available];
    for (const step of [...steps, () => change('m', 1), () => drain('m')]) {
      await expect(step()).rejects.toThrow('LOCKSTATE');
      expect(await look()).toEqual({ k: { value } });
    }
  });

  it.each([
    [TRY_SET_PERMITS, [1, 'x', [], [1], [1, 2], null]],
    [ACQUIRE, [2, '1', [], [1, 1], null]],
    [CANCEL, [1, [], [1], null]],
    [CHANGE, [1, [], ['1', 1], null]],
    [DRAIN, [1, [], [1], null]],
    [AVAILABLE, ['1', [], null]],
  ] as [Script<string, string, unknown>, unknown[]][])(
    'takes no answer it does not know for a success: %#',
    (script, replies) => {
      for (const reply of replies) expect(() => script.decode(reply)).toThrow('makes no sense');
      expect(script.lua).not.toMatch(/undefined|\[object|NaN/);
    },
  );
});
