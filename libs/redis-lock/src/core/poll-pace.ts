import type { LastAnswer } from './contender.js';

/** After an answer that a lease is about to end, Redis is asked again no sooner than this. */
const SHORTEST_POLL_MS = 20;
/** Without messages, polls become rarer from the first to the second, or to the poll interval. */
const FIRST_BACKOFF_MS = 2;
const LAST_BACKOFF_MS = 128;
/** While Redis answers with passing errors. */
const RETRY_MS = 250;

/** How long those who wait for a key let pass until Redis is asked again, when nothing wakes them. */
export class PollPace {
  #backoffMs = FIRST_BACKOFF_MS;

  constructor(
    private readonly pollIntervalMs: number,
    private readonly wakeUp: 'message' | 'poll',
  ) {}

  /** After this answer of Redis. */
  next(last: LastAnswer): number {
    if (last.kind !== 'busy') return jittered(Math.min(this.pollIntervalMs, RETRY_MS));
    const pollMs = this.wakeUp === 'message' ? this.pollIntervalMs : this.#nextBackoff();
    return Math.min(jittered(pollMs), Math.max(SHORTEST_POLL_MS, last.remainingMs + 1));
  }

  /** The lock was had: whoever waits now waits for another holder. */
  restart(): void {
    this.#backoffMs = FIRST_BACKOFF_MS;
  }

  #nextBackoff(): number {
    const backoffMs = this.#backoffMs;
    this.#backoffMs = Math.min(2 * backoffMs, LAST_BACKOFF_MS);
    return Math.min(backoffMs, this.pollIntervalMs);
  }
}

/** Downwards, so that processes do not ask in step and nobody waits longer than was said. */
function jittered(delayMs: number): number {
  return delayMs * (0.8 + Math.random() * 0.2);
}
