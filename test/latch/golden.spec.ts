import { describe, expect, it } from '@jest/globals';
import { LatchService } from 'nestjs-redis-lock/core';
import { PROMPT_MS, Stopwatch, useLocks, useRealRedis } from '../support/set-up.js';
import { useGolden } from '../support/wire/golden.js';

const CHANNEL = 'redisson_countdownlatch__channel__{a}';
const NO_POLL = { pollIntervalMs: 60_000, waitTimeMs: 60_000 };

const redis = useRealRedis();
const golden = useGolden(redis, 'count-down-latch', { ours: /^nestjs_latch_request:/ });
const open = useLocks(redis, (context) => new LatchService(context));
const latchOf = () => open(NO_POLL).locks.get('a');
const listening = () => redis.listening(CHANNEL);

describe('what LatchService leaves in Redis is what RCountDownLatch leaves there', () => {
  it('when it is set, counted down and opened', async () => {
    const latch = latchOf();
    const trace = await golden.scenario('set, counted down, opened');
    expect(await trace.plays('A: countDownLatch.trySetCount(2)', latch.trySetCount(2))).toBe(true);
    expect(await trace.plays('A: countDownLatch.trySetCount(3)', latch.trySetCount(3))).toBe(false);
    await trace.plays('A: countDownLatch.countDown()', latch.countDown());
    expect(await latch.getCount()).toBe(1);
    const waiting = latchOf().wait();
    await listening();
    await trace.sees('B: countDownLatch.await() waits');
    await trace.plays('A: countDownLatch.countDown()', latch.countDown());
    expect(await waiting).toBe(true);
    await trace.plays('A: countDownLatch.countDown()', latch.countDown());
    expect(await trace.plays('A: countDownLatch.trySetCount(1)', latch.trySetCount(1))).toBe(true);
  });

  it('when it is deleted, and the waiters of Java are told that it is open, which Java does not do', async () => {
    const latch = latchOf();
    const trace = await golden.scenario('deleted');
    await trace.plays('A: countDownLatch.trySetCount(2)', latch.trySetCount(2));
    expect(await latch.delete()).toBe(true);
    await trace.sees('A: countDownLatch.delete()', { messages: [[CHANNEL, '0']] });
    expect(await trace.plays('A: countDownLatch.delete()', latch.delete())).toBe(false);
    expect(await latch.wait()).toBe(true);
  });
});

describe('what RCountDownLatch leaves in Redis is understood by LatchService', () => {
  it('when it is set, counted down and opened', async () => {
    const latch = latchOf();
    const trace = await golden.scenario('set, counted down, opened');
    await trace.put('A: countDownLatch.trySetCount(2)');
    expect(await latch.getCount()).toBe(2);
    expect(await trace.plays('A: countDownLatch.trySetCount(3)', latch.trySetCount(3))).toBe(false);
    await trace.put('A: countDownLatch.countDown()');
    expect(await latch.getCount()).toBe(1);
    const waiting = latch.wait();
    await listening();
    const sinceOpening = new Stopwatch();
    await trace.put('A: countDownLatch.countDown()');
    expect(await waiting).toBe(true);
    expect(sinceOpening.ms).toBeLessThan(PROMPT_MS);
    expect(await trace.plays('A: countDownLatch.countDown()', latch.countDown())).toBe(0);
    await trace.put('A: countDownLatch.trySetCount(1)');
    expect(await latch.wait({ waitTimeMs: 0 })).toBe(false);
  });

  it('when it is deleted', async () => {
    const latch = latchOf();
    const trace = await golden.scenario('deleted');
    await trace.put('A: countDownLatch.trySetCount(2)');
    const waiting = latch.wait();
    await listening();
    const sinceDelete = new Stopwatch();
    await trace.put('A: countDownLatch.delete()');
    expect(await waiting).toBe(true);
    expect(sinceDelete.ms).toBeLessThan(PROMPT_MS);
    expect(await latch.delete()).toBe(false);
  });

  it('when it was set to 0, which is open here and blocks a second latch there', async () => {
    const latch = latchOf();
    await redis.admin.set('a', 0);
    expect(await latch.wait()).toBe(true);
    expect(await latch.trySetCount(1)).toBe(false);
    expect(await latch.countDown()).toBe(0);
    expect(await redis.admin.exists('a')).toBe(0);
  });
});

it.each([
  ['{shop}:1', '', '{shop}:1', 'redisson_countdownlatch__channel__{{shop}:1}'],
  ['a', 'shop:', 'shop:a', 'redisson_countdownlatch__channel__{shop:a}'],
])('%p with keyPrefix %p has the key and the channel of Redisson', async (...row) => {
  const [name, keyPrefix, key, channel] = row;
  const latch = open({ ...NO_POLL, keyPrefix }).locks.get(name);
  await latch.trySetCount(1);
  expect(await redis.admin.get(key)).toBe('1');
  const waiting = latch.wait();
  await redis.listening(channel);
  await latch.countDown();
  expect(await waiting).toBe(true);
});
