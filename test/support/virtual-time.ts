import { afterAll, beforeAll } from '@jest/globals';
import type { Timer } from '../../libs/redis-lock/src/core/time/clock.js';
import { ManualClock } from '../../libs/redis-lock/src/testing/manual-clock.js';

/**
 * For the specs of a file time is made: whenever nothing happens any more, the next timer is due, and
 * what waits for ten seconds has waited at once. Only for what waits for nothing outside of this process.
 */
export function useVirtualTime(): void {
  const { setTimeout, clearTimeout, setImmediate } = globalThis;
  const real = { setTimeout, clearTimeout, setImmediate };
  const realNow = { wall: Date.now, monotonic: performance.now };
  type Callback = (...args: unknown[]) => void;

  beforeAll(() => {
    const clock = new ManualClock();
    clock.run();
    const after = (callback: Callback, ms = 0, ...args: unknown[]) =>
      clock.after(ms, () => {
        callback(...args);
      });
    Object.assign(globalThis, {
      setTimeout: after,
      setImmediate: (callback: Callback, ...args: unknown[]) => after(callback, 0, ...args),
      clearTimeout: (timer: Timer | undefined) => {
        clock.cancel(timer);
      },
    });
    Date.now = () => clock.wall();
    performance.now = () => clock.now();
  });
  afterAll(() => {
    Object.assign(globalThis, real);
    Date.now = realNow.wall;
    performance.now = realNow.monotonic;
  });
}
