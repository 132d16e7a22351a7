import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { getEventListeners } from 'node:events';
import { isAbort } from './abort.js';
import { systemClock, type Clock } from './clock.js';
import { Deadline, OVER } from './deadline.js';
import { TimerHeap } from './timer-heap.js';
import { LockArgumentError } from '../api/errors.js';

const never = () => () => undefined;

let times: TimerHeap;
let last: NodeJS.Timeout | undefined;
/** Keeps the timer that was armed last. */
const clock: Clock = {
  ...systemClock,
  after: (delayMs, callback) =>
    (last = systemClock.after(delayMs, callback) as NodeJS.Timeout | undefined),
};
const deadlineOf = (limitMs: number, signal?: AbortSignal) => new Deadline(times, limitMs, signal);

describe('Deadline', () => {
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    times = new TimerHeap(clock);
  });
  afterEach(() => {
    expect(times.items()).toEqual([]);
    // Without waiters, a timer does not keep the process alive.
    times.set({ heapIndex: -1, group: undefined, onDue: () => undefined }, times.clock.now());
    expect(last?.hasRef()).toBe(false);
    jest.runOnlyPendingTimers();
    expect(jest.getTimerCount()).toBe(0);
    jest.useRealTimers();
  });

  it('resolves with OVER when time is up, and undoes the waiting', async () => {
    const deadline = deadlineOf(100);
    const stop = jest.fn();
    const waiting = deadline.wait(() => stop);
    jest.advanceTimersByTime(99);
    expect(stop).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1);
    expect(await waiting).toBe(OVER);
    expect(stop).toHaveBeenCalledTimes(1);
    expect(deadline.remainingMs).toBe(0);
    expect(deadline.waitedMs).toBe(100);
  });

  it('is not over before its time, also when that is no whole millisecond', async () => {
    const stop = jest.fn();
    const waiting = deadlineOf(99.5).wait(() => stop);
    jest.advanceTimersByTime(99);
    expect(stop).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1);
    expect(await waiting).toBe(OVER);
  });

  it('is one limit for all the things that a call waits for one after the other', async () => {
    const deadline = deadlineOf(100);
    const first = deadline.race(new Promise((resolve) => setTimeout(resolve, 70, 'first')));
    jest.advanceTimersByTime(70);
    expect(await first).toBe('first');
    expect(deadline.remainingMs).toBe(30);
    const second = deadline.wait(never);
    jest.advanceTimersByTime(30);
    expect(await second).toBe(OVER);
    const third = deadline.wait(never);
    jest.advanceTimersByTime(0);
    expect(await third).toBe(OVER);
  });

  it('undoes the waiting once, whatever ends it', async () => {
    for (const end of ['resolve', 'reject', 'abort', 'time'] as const) {
      const abort = new AbortController();
      const deadline = deadlineOf(100, abort.signal);
      const stop = jest.fn();
      let settle = { resolve: (_: string) => {}, reject: (_: Error) => {} };
      const waiting = deadline.wait<string>((resolve, reject) => {
        settle = { resolve, reject };
        return stop;
      });
      const outcome = waiting.catch((error: unknown) => error);
      if (end === 'resolve') settle.resolve('done');
      if (end === 'reject') settle.reject(new Error('broken'));
      if (end === 'abort') abort.abort(new Error('no time'));
      jest.advanceTimersByTime(100);
      if (end === 'time') await outcome;
      // Too late for anything else.
      abort.abort(new Error('late'));
      settle.resolve('late');
      settle.reject(new Error('late'));
      const expected = {
        resolve: 'done',
        reject: Error('broken'),
        abort: Error('no time'),
        time: OVER,
      };
      expect(await outcome).toEqual(expected[end]);
      expect(stop).toHaveBeenCalledTimes(1);
      expect(getEventListeners(abort.signal, 'abort')).toEqual([]);
    }
  });

  it('takes what was there in time, but is read only after the timer', async () => {
    let answer = (_: string) => {};
    const waiting = deadlineOf(100).wait<string>((resolve) => {
      answer = resolve;
      return () => undefined;
    });
    jest.advanceTimersByTime(100);
    answer('read late');
    expect(await waiting).toBe('read late');
  });

  it('copes with a start that settles before it has returned', async () => {
    const deadline = deadlineOf(100);
    const stop = jest.fn();
    const waiting = deadline.wait<number>((resolve) => {
      resolve(1);
      return stop;
    });
    expect(await waiting).toBe(1);
    expect(stop).toHaveBeenCalledTimes(1);
  });

  it('throws the reason of a signal that is aborted already', async () => {
    const reason = new Error('no time');
    expect(() => deadlineOf(100, AbortSignal.abort(reason))).toThrow(reason);
    const abort = new AbortController();
    const deadline = deadlineOf(100, abort.signal);
    abort.abort(reason);
    const start = jest.fn(never);
    await expect(deadline.wait(start)).rejects.toBe(reason);
    expect(start).not.toHaveBeenCalled();
  });

  it('refuses a signal that cannot be listened to, and leaves nothing armed', async () => {
    const broken = new Error('broken');
    const signal = Object.assign(new AbortController().signal, {
      addEventListener: () => {
        throw broken;
      },
    });
    const start = jest.fn(never);
    for (const deadline of [1, 2].map(() => deadlineOf(100, signal))) {
      const refused = await deadline.wait(start).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(LockArgumentError);
      expect(refused).toMatchObject({ cause: broken });
    }
    expect(start).not.toHaveBeenCalled();
    expect(times.items()).toEqual([]);
  });

  it('listens once to a signal that is used again as it is listened to', async () => {
    const { signal } = new AbortController();
    const add = signal.addEventListener.bind(signal);
    let inner: Promise<unknown> | undefined;
    const listen = jest.spyOn(signal, 'addEventListener');
    listen.mockImplementationOnce((...args: Parameters<typeof add>) => {
      add(...args);
      inner = deadlineOf(100, signal).wait(never);
    });
    const outer = deadlineOf(100, signal).wait(never);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    jest.advanceTimersByTime(100);
    expect(await Promise.all([inner, outer])).toEqual([OVER, OVER]);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('hears a signal that was used again as it was listened to, and threw then', async () => {
    const abort = new AbortController();
    const { signal } = abort;
    const reason = new Error('left');
    const waits: Promise<unknown>[] = [];
    const wait = () => waits.push(deadlineOf(100, signal).wait(never));
    const add = signal.addEventListener.bind(signal);
    const listen = jest.spyOn(signal, 'addEventListener');
    listen.mockImplementationOnce((...args: Parameters<typeof add>) => {
      add(...args);
      wait();
      throw new Error('broken');
    });
    await expect(deadlineOf(100, signal).wait(never)).rejects.toThrow(LockArgumentError);
    wait();
    abort.abort(reason);
    jest.advanceTimersByTime(100);
    const outcomes = await Promise.allSettled(waits);
    expect(outcomes).toEqual([1, 2].map(() => ({ status: 'rejected', reason })));
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('ends as it would with a signal that lets no listener leave', async () => {
    const signal = Object.assign(new AbortController().signal, {
      removeEventListener: () => {
        throw new Error('broken');
      },
    });
    const deadline = deadlineOf(100, signal);
    const first = deadline.wait<number>((resolve) => {
      resolve(1);
      return () => undefined;
    });
    const second = deadline.wait(never);
    jest.advanceTimersByTime(100);
    expect(await Promise.all([first, second])).toEqual([1, OVER]);
  });

  it('has an AbortError for a signal that gives no reason', async () => {
    const signal = { aborted: true, addEventListener: never, removeEventListener: never };
    const open = () => deadlineOf(100, signal as unknown as AbortSignal);
    expect(open).toThrow(DOMException);
    expect(open).toThrow('This operation was aborted');
    signal.aborted = false;
    const deadline = open();
    signal.aborted = true;
    const reason: unknown = await deadline.wait(never).catch((error: unknown) => error);
    expect(reason).toMatchObject({ name: 'AbortError' });
    expect(isAbort(deadline.signal, reason)).toBe(true);
  });

  it('keeps the process alive while it waits', async () => {
    const deadline = deadlineOf(100);
    let resolve = (_: number) => {};
    const waiting = deadline.wait<number>((settle) => {
      resolve = settle;
      return () => undefined;
    });
    expect(last?.hasRef()).toBe(true);
    resolve(1);
    expect(last?.hasRef()).toBe(false);
    expect(await waiting).toBe(1);
  });

  it('never ends with an infinite limit, and keeps the process alive', async () => {
    const deadline = deadlineOf(Infinity);
    let resolve = (_: number) => {};
    const waiting = deadline.wait<number>((settle) => {
      resolve = settle;
      return () => undefined;
    });
    expect(last?.hasRef()).toBe(true);
    jest.advanceTimersByTime(10_000_000);
    expect(deadline.remainingMs).toBe(Infinity);
    resolve(1);
    expect(await waiting).toBe(1);
  });

  it('listens once to a signal that ends the waiting of many', async () => {
    const abort = new AbortController();
    const wait = () => deadlineOf(100, abort.signal).wait(never);
    const listeners = () => getEventListeners(abort.signal, 'abort').length;
    const inTime = Array.from({ length: 20 }, wait);
    expect(listeners()).toBe(1);
    jest.advanceTimersByTime(100);
    expect(new Set(await Promise.all(inTime))).toEqual(new Set([OVER]));
    expect(listeners()).toBe(0);

    const aborted = Array.from({ length: 20 }, () => wait().catch((reason: unknown) => reason));
    expect(listeners()).toBe(1);
    abort.abort('enough');
    expect(new Set(await Promise.all(aborted))).toEqual(new Set(['enough']));
    expect(listeners()).toBe(0);
  });
});
