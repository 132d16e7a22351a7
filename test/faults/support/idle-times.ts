import type { ContestHistory, Wait } from './contest-history.js';

export interface IdleLimits {
  /** A lock may be free for so long although a caller waits for it. */
  readonly freeMs: number;
  /** A caller may wait for so long while no caller gets in: the holder may be dead. */
  readonly idleMs: number;
}

interface Span {
  readonly atUs: number;
  readonly untilUs: number;
}

/** Every time in which a lock was of no use for too long, although a caller wanted it. */
export function idleTimesIn(history: ContestHistory, { freeMs, idleMs }: IdleLimits): string[] {
  const waits = new Waits(history);
  const locks = new Set(history.waits.map(({ lock }) => lock));
  return [...locks].flatMap((lock) => {
    const gaps = gapsOf(history, lock).filter((gap) => lengthOf(gap) > freeMs * 1_000);
    const idle = gaps.map((gap) => ({ what: 'no caller got in', ms: waits.longest(lock, gap) }));
    const free = history
      .of('free')
      .filter((time) => time.lock === lock)
      .flatMap((time) => {
        const unseenMs = (lengthOf(time) - time.lookedUs) / 1_000;
        return gaps.map((gap) => {
          const waitedMs = waits.longest(lock, both(gap, time));
          return { what: 'it was free', ms: waitedMs - unseenMs };
        });
      });
    return [...idle.filter(({ ms }) => ms > idleMs), ...free.filter(({ ms }) => ms > freeMs)].map(
      ({ what, ms }) => `${what} for ${String(Math.round(ms))} ms of waiting for ${lock}`,
    );
  });
}

class Waits {
  readonly #waits: readonly Wait[];
  readonly #still: readonly ({ process: number } & Span)[];

  constructor(history: ContestHistory) {
    this.#waits = history.waits;
    this.#still = history.of('stood-still');
  }

  /** The longest that one caller waited in this span; a process that stands still does not. */
  longest(lock: string, span: Span): number {
    let longest = 0;
    for (const { process, lock: wanted, fromUs, untilUs } of this.#waits) {
      if (wanted !== lock) continue;
      const waiting = both(span, { atUs: fromUs, untilUs });
      if (lengthOf(waiting) <= longest) continue;
      const isStill = this.#still.some(
        (still) => still.process === process && lengthOf(both(still, waiting)) > 0,
      );
      if (!isStill) longest = lengthOf(waiting);
    }
    return longest / 1_000;
  }
}

/** The times in which no caller was in the lock, as far as the callers inside know. */
function gapsOf(history: ContestHistory, lock: string): Span[] {
  const gaps: Span[] = [];
  let atUs = -Infinity;
  for (const { startUs, endUs } of history.stays.filter((stay) => stay.lock === lock)) {
    gaps.push({ atUs, untilUs: startUs });
    atUs = Math.max(atUs, endUs);
  }
  return [...gaps, { atUs, untilUs: Infinity }];
}

function both(a: Span, b: Span): Span {
  return { atUs: Math.max(a.atUs, b.atUs), untilUs: Math.min(a.untilUs, b.untilUs) };
}

function lengthOf({ atUs, untilUs }: Span): number {
  return untilUs - atUs;
}
