import { expect, it } from '@jest/globals';
import { LockShutdownError, type LatchService } from 'nestjs-redis-lock/core';
import { eventually } from '../support/eventually.js';
import type { OpenLocks } from '../support/lock-client.js';
import { Stopwatch } from '../support/stopwatch.js';
import { PROMPT_MS, roundTrips, watch, type Stage } from './suite.js';

const LONG_MS = 60_000;

/** Waiting for a latch, as far as it takes no real server to show. */
export function describeLatchBehaviour({
  redis,
  open,
}: {
  readonly redis: Stage;
  readonly open: OpenLocks<LatchService>;
}): void {
  const latchOf = (settings: Parameters<typeof open>[0] = {}) => open(settings).locks.get('a');
  const listening = async (count: number) => (await redis.wakeUpChannels()).length === count;

  it('goes on when the count has come to zero, and not before', async () => {
    // Only a message can be that quick.
    const [latch, other] = [latchOf({ pollIntervalMs: LONG_MS }), latchOf()];
    await latch.trySetCount(2);
    const waiting = watch(latch.wait({ waitTimeMs: LONG_MS }));
    await eventually(() => listening(1));
    expect(await other.countDown()).toBe(1);
    await roundTrips(redis, 5);
    expect(waiting.state).toBe('pending');
    const sinceOpening = new Stopwatch();
    expect(await other.countDown()).toBe(0);
    expect(await waiting.promise).toBe(true);
    expect(sinceOpening.ms).toBeLessThan(PROMPT_MS);
  });

  it('goes on at once when the latch is open, was never set, or was deleted', async () => {
    const latch = latchOf();
    expect(await latch.wait()).toBe(true);
    await latch.trySetCount(1);
    await latch.countDown();
    expect(await latch.wait({ waitTimeMs: Infinity })).toBe(true);
    await latch.trySetCount(1);
    await latch.delete();
    expect(await latch.wait()).toBe(true);
  });

  it('answers false when time is over', async () => {
    const latch = latchOf();
    await latch.trySetCount(1);
    const stopwatch = new Stopwatch();
    expect(await latch.wait({ waitTimeMs: 400 })).toBe(false);
    expect(stopwatch.realMs).toBeGreaterThanOrEqual(399);
    expect(stopwatch.ms).toBeLessThan(400 + PROMPT_MS);
    expect(await latch.getCount()).toBe(1);
  });

  it('waits for the waitTimeMs of the module unless told otherwise', async () => {
    const latch = latchOf({ waitTimeMs: 400 });
    await latch.trySetCount(1);
    const stopwatch = new Stopwatch();
    expect(await latch.wait()).toBe(false);
    expect(stopwatch.realMs).toBeGreaterThanOrEqual(399);
  });

  it('rejects with the reason of its signal, at once and untouched', async () => {
    const latch = latchOf();
    await latch.trySetCount(1);
    for (const waitTimeMs of [LONG_MS, Infinity]) {
      const abort = new AbortController();
      const waiting = watch(latch.wait({ signal: abort.signal, waitTimeMs }));
      await roundTrips(redis, 2);
      const reason = new Error('no time');
      abort.abort(reason);
      await expect(waiting.promise).rejects.toBe(reason);
    }
    await eventually(() => listening(0));
  });

  it.each([0, LONG_MS])(
    'sends nothing for a signal that is aborted already: %d',
    async (waitTimeMs) => {
      const latch = latchOf();
      await latch.trySetCount(1);
      const reason = new Error('too late');
      const sent = await redis.commandsDuring(() =>
        expect(latch.wait({ signal: AbortSignal.abort(reason), waitTimeMs })).rejects.toBe(reason),
      );
      expect(sent).toEqual({});
    },
  );

  it('rejects when the application closes, waiting or asked later', async () => {
    const client = open();
    const latch = client.locks.get('a');
    await latch.trySetCount(1);
    const waiting = watch(latch.wait({ waitTimeMs: Infinity }));
    await roundTrips(redis, 2);
    client.context.refuse();
    await expect(waiting.promise).rejects.toThrow(LockShutdownError);
    await expect(latch.wait()).rejects.toThrow(LockShutdownError);
    // A caller that finishes its work meanwhile still counts down.
    expect(await latch.countDown()).toBe(0);
  });

  it('goes on when the latch is deleted', async () => {
    const latch = latchOf({ pollIntervalMs: LONG_MS });
    await latch.trySetCount(5);
    const waiting = latch.wait({ waitTimeMs: LONG_MS });
    await eventually(() => listening(1));
    expect(await latchOf().delete()).toBe(true);
    expect(await waiting).toBe(true);
  });

  it('polls ever more rarely where there are no messages', async () => {
    const latch = latchOf({ wakeUp: 'poll' });
    await latch.trySetCount(1);
    const waiting = latch.wait({ waitTimeMs: LONG_MS });
    expect(await listening(0)).toBe(true);
    await latchOf().countDown();
    expect(await waiting).toBe(true);
    expect(await listening(0)).toBe(true);
  });

  it('is one latch for all who set, wait and count down at the same time', async () => {
    const latches = [latchOf(), latchOf(), latchOf(), latchOf()];
    for (let round = 0; round < 20; round += 1) {
      const isSet = await Promise.all(latches.map((latch) => latch.trySetCount(4)));
      expect(isSet.filter(Boolean)).toHaveLength(1);
      const waiting = latches.map((latch) => watch(latch.wait({ waitTimeMs: LONG_MS })));
      const left = await Promise.all(latches.map((latch) => latch.countDown()));
      expect(left.toSorted()).toEqual([0, 1, 2, 3]);
      for (const { promise } of waiting) expect(await promise).toBe(true);
    }
  });
}
