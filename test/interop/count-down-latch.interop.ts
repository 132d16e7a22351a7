import { describe, expect, it } from '@jest/globals';
import { LatchService } from 'nestjs-redis-lock';
import { roundTrips, Stopwatch, useLocks, useRealRedis, watch } from '../support/set-up.js';
import { useRedisson } from './redisson.js';
import { BY_MESSAGE_MS, listening, LONG_MS, MS, NO_POLL } from './sides.js';

const ON = ['countDownLatch', 'a'] as const;

describe('LatchService and RCountDownLatch', () => {
  const redis = useRealRedis();
  const java = useRedisson(redis);
  const open = useLocks(redis, (context) => new LatchService(context));
  const ours = (settings?: Parameters<typeof open>[0]) => open(settings).locks.get('a');

  it.each(['Node', 'Java'])(
    'are counted down by both sides and open for both, when %s has the last word',
    async (last) => {
      const latch = ours(NO_POLL);
      expect(await java.current.call('A', ON, 'trySetCount', 3)).toBe(true);
      expect(await latch.trySetCount(2)).toBe(false);
      const waiting = [
        watch(latch.wait()),
        watch(java.current.call('B', ON, 'await', LONG_MS, MS)),
        watch(java.current.call('C', ON, 'await', LONG_MS, MS)),
      ];
      await listening(redis, 2);
      await java.current.parked('B');
      await java.current.parked('C');
      await latch.countDown();
      await java.current.call('A', ON, 'countDown');
      expect(await latch.getCount()).toBe(1);
      expect(await java.current.call('A', ON, 'getCount')).toBe(1);
      await roundTrips(redis, 3);
      expect(waiting.map(({ state }) => state)).toEqual(['pending', 'pending', 'pending']);
      const sinceLast = new Stopwatch();
      await (last === 'Node' ? latch.countDown() : java.current.call('A', ON, 'countDown'));
      expect(await Promise.all(waiting.map(({ promise }) => promise))).toEqual([true, true, true]);
      expect(sinceLast.ms).toBeLessThan(BY_MESSAGE_MS);
      expect(await redis.admin.exists('a')).toBe(0);
    },
  );

  it('can be set again by the other side', async () => {
    const latch = ours();
    await latch.trySetCount(1);
    await java.current.call('A', ON, 'countDown');
    expect(await latch.wait()).toBe(true);
    expect(await java.current.call('A', ON, 'trySetCount', 1)).toBe(true);
    expect(await latch.wait({ waitTimeMs: 0 })).toBe(false);
    await latch.countDown();
    expect(await java.current.call('A', ON, 'await', 0, MS)).toBe(true);
  });

  it('give up in Java when Node has not counted down in time', async () => {
    await ours().trySetCount(1);
    expect(await java.current.call('A', ON, 'await', 100, MS)).toBe(false);
  });

  it('let the waiters of Node go on when Java deletes it', async () => {
    const latch = ours(NO_POLL);
    await latch.trySetCount(2);
    const waiting = latch.wait();
    await listening(redis, 1);
    const sinceDelete = new Stopwatch();
    expect(await java.current.call('A', ON, 'delete')).toBe(true);
    expect(await waiting).toBe(true);
    expect(sinceDelete.ms).toBeLessThan(BY_MESSAGE_MS);
  });

  it('let the waiters of Java go on at once when Node deletes it, which Java itself does not', async () => {
    const latch = ours();
    await latch.trySetCount(2);
    const waiting = ['A', 'B'].map((thread) => java.current.call(thread, ON, 'await', LONG_MS, MS));
    await java.current.parked('A');
    await java.current.parked('B');
    const sinceDelete = new Stopwatch();
    expect(await latch.delete()).toBe(true);
    expect(await Promise.all(waiting)).toEqual([true, true]);
    expect(sinceDelete.ms).toBeLessThan(BY_MESSAGE_MS);
  });

  it('keep the waiters of Java that come when it is set again after Node has deleted it', async () => {
    const latch = ours();
    await latch.trySetCount(2);
    await latch.delete();
    await latch.trySetCount(1);
    const waiting = watch(java.current.call('A', ON, 'await', LONG_MS, MS));
    await java.current.parked('A');
    await roundTrips(redis, 3);
    expect(waiting.state).toBe('pending');
    await latch.countDown();
    expect(await waiting.promise).toBe(true);
  });
});
