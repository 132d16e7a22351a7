import type { LockSettings } from '../api/settings.js';
import { ByKey } from '../holding/by-key.js';
import type { Session } from '../session.js';
import { LAST_BACKOFF_MS } from '../time/polls.js';
import { Moment, type TimerHeap } from '../time/timer-heap.js';

/** How long the queue stands back for an outsider that received a wake-up. */
export const STAND_BACK_MS = 20;

/** Wakes outsiders that sleep until an older, longer lease ends. Redisson reads it as `0`. */
export const SHORTER = '00';

/** While outsiders were seen at a key so recently, each caller of it queues. */
const BESIDE_MS = 1_000;

/**
 * The number of sections that outsiders get after a batch: as many as it contained. 0 is never.
 */
export function dueTo({ interop }: Pick<LockSettings, 'interop'>, batchCount = 0): number {
  return interop === 'none' ? 0 : batchCount + 1;
}

/**
 * Outsiders that poll get no messages. So a process that polls as well leaves the lock free after
 * its release. It stands back for the longest pause of Redisson's spin lock.
 */
export function isAmongPolls(settings: Pick<LockSettings, 'interop' | 'wakeUp'>): boolean {
  return settings.wakeUp === 'poll' && settings.interop !== 'none';
}

/** Ids that are marked for a time each. */
export class Marks extends ByKey<Moment> {
  /** @param onOver is called with an id when its time is over */
  constructor(
    private readonly times: TimerHeap,
    private readonly onOver?: (id: string) => void,
  ) {
    super();
  }

  has(id: string): boolean {
    return this.get(id) !== undefined;
  }

  /** Marks the id from now on. Replaces an earlier mark. */
  set(id: string, forMs: number): void {
    let moment = this.get(id);
    if (moment === undefined) {
      moment = new Moment(() => {
        this.delete(id);
        this.onOver?.(id);
      });
      this.add(id, moment);
    }
    this.times.set(moment, this.times.clock.now() + forMs);
  }

  /** Marks stay from now on: no timer ends them. */
  close(): void {
    for (const moment of this.values()) this.times.delete(moment);
  }
}

/** Keys at which outsiders were seen a moment ago. */
export class Outsiders extends Marks {
  readonly #areAmongPolls: boolean;

  /** @param onOver is called with a key once the time of outsiders that poll is over */
  constructor({ settings, times }: Session, onOver: (key: string) => void) {
    const areAmongPolls = isAmongPolls(settings);
    super(times, areAmongPolls ? onOver : undefined);
    this.#areAmongPolls = areAmongPolls;
  }

  /** A release left the lock to them, or an attempt was refused for them. */
  seen(key: string): void {
    this.set(key, this.#areAmongPolls ? LAST_BACKOFF_MS : BESIDE_MS);
  }

  /** They poll, and may acquire it first. The queue sends its attempt when their time is over. */
  areFirst(key: string): boolean {
    return this.#areAmongPolls && this.has(key);
  }
}
