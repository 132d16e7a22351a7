import { AsyncLocalStorage } from 'node:async_hooks';

/** A callback in the future. */
export interface Timer {
  /** Keeps the process alive. */
  ref(): unknown;
  /** Does not keep the process alive. */
  unref(): unknown;
}

/** The two clocks that measure a lease, in milliseconds, and their timers. */
export interface Clock {
  /** Monotonic. Linux stops it while a machine is suspended. */
  now(): number;
  /** Wall time. It goes on during a suspension, and jumps when it is set. */
  wall(): number;
  /**
   * Calls back after any delay. A delay too long for Node is not armed. Never a whole millisecond
   * early: the callback would be too early again and again.
   */
  after(delayMs: number, callback: () => void): Timer | undefined;
  cancel(timer: Timer | undefined): void;
  /** Calls back once Node has read all data that has arrived by now. */
  afterReading(callback: () => void): void;
}

/** The original: a test that fakes timers later must not stop the locks. */
export const { queueMicrotask } = globalThis;

/**
 * Runs the work for no caller, in the async context in which this module was loaded. Timers and
 * connections are shared. In a caller's context they would join its hold, and keep its request's
 * store. Costs 0.2 µs.
 */
export const outOfScope: <T>(work: () => T) => T = AsyncLocalStorage.snapshot();

/** Larger delays overflow Node's timers, which then fire at once. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after(delayMs, callback) {
    if (delayMs > LONGEST_TIMEOUT_MS) return undefined;
    // Node cuts fractions off.
    return setTimeout(callback, Math.max(0, Math.ceil(delayMs)));
  },
  cancel(timer) {
    clearTimeout(timer as NodeJS.Timeout | undefined);
  },
  afterReading(callback) {
    setImmediate(callback);
  },
};
