import { describe, expect, it } from '@jest/globals';
import { SemaphoreService } from 'nestjs-redis-lock/core';
import { PROMPT_MS, Stopwatch, useLocks, useRealRedis, watch } from '../support/set-up.js';
import { useGolden } from '../support/wire/golden.js';

const redis = useRealRedis();
const golden = useGolden(redis, 'semaphore', { ours: /^nestjs_semaphore_request:/ });
const open = useLocks(redis, (context) => new SemaphoreService(context));
const NO_POLL = { pollIntervalMs: 60_000, waitTimeMs: 60_000 };
const semaphoreOf = () => open(NO_POLL).locks.counting('a');
const listening = () => redis.listening('redisson_sc:{a}');

describe('what the counting semaphore leaves in Redis is what RSemaphore leaves there', () => {
  it('when it is set, acquired and released', async () => {
    const semaphore = semaphoreOf();
    const trace = await golden.scenario('set, acquired, released');
    expect(await trace.plays('A: semaphore.tryAcquire()', semaphore.tryAcquire())).toBe(false);
    expect(await semaphore.trySetPermits(3)).toBe(true);
    await trace.sees('A: semaphore.trySetPermits(3)');
    expect(await semaphore.trySetPermits(5)).toBe(false);
    await trace.sees('A: semaphore.trySetPermits(5)');
    await trace.plays('A: semaphore.acquire(2)', semaphore.acquire(2));
    expect(await trace.plays('A: semaphore.tryAcquire(2)', semaphore.tryAcquire(2))).toBe(false);
    expect(await trace.plays('A: semaphore.tryAcquire()', semaphore.tryAcquire())).toBe(true);
    await trace.plays('A: semaphore.release()', semaphore.release());
    await trace.plays('A: semaphore.release(2)', semaphore.release(2));
  });

  it('when it is waited for', async () => {
    const [semaphore, other] = [semaphoreOf(), semaphoreOf()];
    const trace = await golden.scenario('waited for');
    await trace.plays('A: semaphore.trySetPermits(1)', semaphore.trySetPermits(1));
    const waiting = other.acquire(3);
    await listening();
    await trace.sees('B: semaphore.acquire(3) waits');
    await trace.plays('A: semaphore.release()', semaphore.release());
    await semaphore.release();
    trace.passes('A: semaphore.release()');
    await waiting;
    await trace.sees('B: semaphore.acquire(3) goes on');
  });

  it('when there are more or fewer permits, but ours wakes no waiter when they are fewer', async () => {
    const semaphore = semaphoreOf();
    const trace = await golden.scenario('more permits, fewer permits, none');
    await trace.plays('A: semaphore.trySetPermits(1)', semaphore.trySetPermits(1));
    await trace.plays('A: semaphore.addPermits(4)', semaphore.addPermits(4));
    await trace.plays('A: semaphore.addPermits(-2)', semaphore.addPermits(-2), { messages: [] });
    expect(await trace.plays('A: semaphore.drainPermits()', semaphore.drainPermits())).toBe(3);
    expect(await trace.plays('A: semaphore.drainPermits()', semaphore.drainPermits())).toBe(0);
    await semaphore.addPermits(-1);
    // A message below 1 breaks the listener of Java.
    await trace.sees('A: semaphore.addPermits(-1)', { messages: [] });
  });

  it('when it is released before it is set', async () => {
    const semaphore = semaphoreOf();
    const trace = await golden.scenario('released before it is set');
    await trace.plays('A: semaphore.release(2)', semaphore.release(2));
    expect(await semaphore.trySetPermits(5)).toBe(false);
    await trace.sees('A: semaphore.trySetPermits(5)');
  });

  it('when it is released if it exists', async () => {
    const semaphore = semaphoreOf();
    const trace = await golden.scenario('released if it exists');
    expect(await semaphore.releaseIfExists(2)).toBe(false);
    await trace.sees('A: semaphore.releaseIfExists(2)');
    await trace.plays('A: semaphore.trySetPermits(1)', semaphore.trySetPermits(1));
    expect(await semaphore.releaseIfExists(2)).toBe(true);
    await trace.sees('A: semaphore.releaseIfExists(2)');
  });
});

describe('what RSemaphore leaves in Redis is understood by the counting semaphore', () => {
  it('when it is set, acquired and released', async () => {
    const semaphore = semaphoreOf();
    const trace = await golden.scenario('set, acquired, released');
    const steps = [
      ['A: semaphore.trySetPermits(3)', 3],
      ['A: semaphore.acquire(2)', 1],
      ['A: semaphore.tryAcquire()', 0],
      ['A: semaphore.release()', 1],
      ['A: semaphore.release(2)', 3],
    ] as const;
    for (const [step, free] of steps) {
      await trace.put(step);
      expect(await semaphore.availablePermits()).toBe(free);
      expect(await semaphore.tryAcquire(free + 1)).toBe(false);
      expect(await semaphore.trySetPermits(9)).toBe(false);
    }
    expect(await semaphore.tryAcquire(3)).toBe(true);
  });

  it('when it is waited for', async () => {
    const semaphore = semaphoreOf();
    const trace = await golden.scenario('waited for');
    await trace.put('A: semaphore.trySetPermits(1)');
    const waiting = watch(semaphore.acquire(3));
    await listening();
    await trace.put('A: semaphore.release()');
    expect(waiting.state).toBe('pending');
    const sinceRelease = new Stopwatch();
    await trace.put('A: semaphore.release()');
    await waiting.promise;
    expect(sinceRelease.ms).toBeLessThan(PROMPT_MS);
    await trace.sees('B: semaphore.acquire(3) goes on');
  });

  it('when there are more permits, fewer permits, and fewer than none', async () => {
    const semaphore = semaphoreOf();
    const trace = await golden.scenario('more permits, fewer permits, none');
    const steps = [
      ['A: semaphore.trySetPermits(1)', 1],
      ['A: semaphore.addPermits(4)', 5],
      ['A: semaphore.addPermits(-2)', 3],
      ['A: semaphore.drainPermits()', 0],
      ['A: semaphore.addPermits(-1)', -1],
    ] as const;
    for (const [step, free] of steps) {
      await trace.put(step);
      expect(await semaphore.availablePermits()).toBe(free);
    }
    expect(await semaphore.tryAcquire()).toBe(false);
  });

  it('when it is released before it is set', async () => {
    const trace = await golden.scenario('released before it is set');
    await trace.put('A: semaphore.release(2)');
    expect(await semaphoreOf().tryAcquire(2)).toBe(true);
  });

  it('when it is released if it exists', async () => {
    const trace = await golden.scenario('released if it exists');
    await trace.put('A: semaphore.trySetPermits(1)');
    await trace.put('A: semaphore.releaseIfExists(2)');
    expect(await semaphoreOf().drainPermits()).toBe(3);
  });
});

it.each([
  ['{shop}:1', '', '{shop}:1', 'redisson_sc:{shop}:1'],
  ['a', 'shop:', 'shop:a', 'redisson_sc:{shop:a}'],
])('%p with keyPrefix %p has the key and the channel of Redisson', async (...row) => {
  const [name, keyPrefix, key, channel] = row;
  const semaphore = open({ ...NO_POLL, keyPrefix }).locks.counting(name);
  const waiting = semaphore.acquire(2);
  await redis.listening(channel);
  await semaphore.release(3);
  await waiting;
  expect(await redis.admin.get(key)).toBe('1');
});
