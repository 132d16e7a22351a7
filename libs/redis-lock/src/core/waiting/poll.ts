import type { Clock, Timer } from '../time/clock.js';
import type { LastAnswer } from './contender.js';
import type { LockSettings } from '../api/options.js';
import { outOfScope } from '../holding/scope.js';

/** After an answer that a lease is about to end, Redis is asked again no sooner than this. */
const SHORTEST_POLL_MS = 20;
/** Without messages, polls become rarer from the first to the second, or to the poll interval. */
const FIRST_BACKOFF_MS = 2;
export const LAST_BACKOFF_MS = 128;
/** While Redis answers with passing errors. */
const RETRY_MS = 250;
/** For how long one who waits, and does not ask any more, is believed to wait, at least. */
const ALIVE_MS = 5_000;
/** Of whom every third poll gets through, that is believed. */
const POLLS_WHILE_ALIVE = 3;

/** How long Redis takes somebody for alive who polls at this interval. */
export function aliveMs(pollIntervalMs: number): number {
  return Math.max(ALIVE_MS, POLLS_WHILE_ALIVE * pollIntervalMs);
}

/** When those who wait for a key ask Redis again, should nothing wake them before. */
export class Poll {
  #backoffMs = FIRST_BACKOFF_MS;
  #dueAt = 0;
  #timerAt = 0;
  #timer: Timer | undefined;

  constructor(
    private readonly settings: LockSettings,
    private readonly clock: Clock,
    private readonly onDue: () => void,
  ) {}

  /** After this answer of Redis. */
  after(last: LastAnswer): void {
    const { pollIntervalMs, wakeUp } = this.settings;
    if (last.kind !== 'busy') {
      this.in(jittered(Math.min(pollIntervalMs, RETRY_MS)));
      return;
    }
    const pollMs = wakeUp === 'message' ? pollIntervalMs : this.#nextBackoff();
    this.in(Math.min(jittered(pollMs), Math.max(SHORTEST_POLL_MS, last.remainingMs + 1)));
  }

  /** A timer that is armed too early is left alone, and looks again when it fires. */
  in(delayMs = this.settings.pollIntervalMs): void {
    this.#dueAt = this.clock.now() + delayMs;
    if (this.#timer !== undefined && this.#timerAt <= this.#dueAt) return;
    this.clock.cancel(this.#timer);
    this.#timerAt = this.#dueAt;
    this.#timer = outOfScope(() =>
      this.clock.after(delayMs, () => {
        this.#timer = undefined;
        const early = this.#dueAt - this.clock.now();
        if (early > 0) this.in(early);
        else this.onDue();
      }),
    );
  }

  stop(): void {
    this.clock.cancel(this.#timer);
    this.#timer = undefined;
  }

  /** The lock was had: whoever waits now waits for another holder. */
  restart(): void {
    this.#backoffMs = FIRST_BACKOFF_MS;
  }

  #nextBackoff(): number {
    const backoffMs = this.#backoffMs;
    this.#backoffMs = Math.min(2 * backoffMs, LAST_BACKOFF_MS);
    return Math.min(backoffMs, this.settings.pollIntervalMs);
  }
}

/** Downwards, so that processes do not ask in step and nobody waits longer than was said. */
function jittered(delayMs: number): number {
  return delayMs * (0.8 + Math.random() * 0.2);
}
