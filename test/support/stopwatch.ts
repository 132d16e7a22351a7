import { afterAll } from '@jest/globals';
import { isTimeMade } from './virtual-time.js';

const TICK_MS = 5;

let seenAt = performance.now();
let stalledMs = 0;
const timer = setInterval(look, TICK_MS).unref();
afterAll(() => {
  clearInterval(timer);
});

/** A tick that comes late says how long this process was given no time. */
function look(): void {
  const now = performance.now();
  if (!isTimeMade()) stalledMs += Math.max(0, now - seenAt - 2 * TICK_MS);
  seenAt = now;
}

/**
 * Measures how long something took in the time that this process was given. On a machine that is busy
 * with something else every timer is late. The code that set the timer is not at fault.
 */
export class Stopwatch {
  readonly #startedAt = performance.now();
  readonly #stalledMs: number;

  constructor() {
    look();
    this.#stalledMs = stalledMs;
  }

  /** For upper bounds. */
  get ms(): number {
    look();
    return this.realMs - (stalledMs - this.#stalledMs);
  }

  /** For lower bounds. */
  get realMs(): number {
    return performance.now() - this.#startedAt;
  }
}
