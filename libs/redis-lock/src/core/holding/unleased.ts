import { Idle } from '../time/idle.js';
import type { TimerHeap } from '../time/timer-heap.js';

/**
 * Permits that callers of this process have acquired without a lease. Their releases need the
 * connection.
 */
export class Unleased {
  #permits = 0;
  readonly #idle: Idle;

  constructor(times: TimerHeap) {
    this.#idle = new Idle(times, () => this.#permits === 0);
  }

  acquired(permits: number): void {
    this.#permits += permits;
  }

  /** Another process may have acquired these permits. */
  released(permits: number): void {
    this.#permits = Math.max(0, this.#permits - permits);
    this.#idle.check();
  }

  /** Resolves once as many are released as were acquired, or the time is up. */
  drain(timeoutMs: number): Promise<void> {
    return this.#idle.within(timeoutMs);
  }
}
