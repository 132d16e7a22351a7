/** The two clocks a lease is judged by, in milliseconds. */
export interface Clock {
  /** Monotonic. Linux stops it while a machine is suspended. */
  now(): number;
  /** Wall time. Goes on during a suspension, and jumps when somebody sets it. */
  wall(): number;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
};

/** Larger delays overflow Node's timers, which then fire at once. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/**
 * `setTimeout` that takes any delay: a callback due later than Node can count is simply not armed.
 * Never a whole millisecond early, although Node cuts fractions off: whoever is called back would
 * find that it is not time yet, again and again.
 */
export function after(delayMs: number, callback: () => void): NodeJS.Timeout | undefined {
  if (delayMs > LONGEST_TIMEOUT_MS) return undefined;
  return setTimeout(callback, Math.max(0, Math.ceil(delayMs)));
}
