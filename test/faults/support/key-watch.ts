import type { Redis } from 'ioredis';

import type { FreeTime } from './contest-history.js';
import { nowUs } from './history.js';
import { pause } from './pace.js';

const EVERY_MS = 5;
/** The watch counts a gap between two looks as seen up to here: its process may stand still as well. */
const MOST_BETWEEN_US = 100_000;
/** Shorter times without a holder are part of handing a lock over. */
const WORTH_TELLING_US = 100_000;

interface Absence extends FreeTime {
  lastLookUs: number;
}

/** Looks at locks in Redis all the time, and tells when they were free. */
export class KeyWatch {
  readonly #absences = new Map<string, Absence>();
  readonly #looking: Promise<void>;
  #isOver = false;

  constructor(
    private readonly redis: Redis,
    private readonly locks: readonly string[],
    private readonly tell: (free: FreeTime) => void,
  ) {
    this.#looking = this.#look();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#looking;
    for (const lock of this.locks) this.#end(lock);
  }

  async #look(): Promise<void> {
    while (!this.#isOver) {
      const askedUs = nowUs();
      const present = await Promise.all(this.locks.map((lock) => this.redis.exists(lock)));
      this.locks.forEach((lock, i) => {
        if (present[i] === 0) this.#seeAbsent(lock, askedUs, nowUs());
        else this.#end(lock);
      });
      await pause(EVERY_MS);
    }
  }

  /** It was absent at some time between the question and the answer. */
  #seeAbsent(lock: string, askedUs: number, answeredUs: number): void {
    const absence = this.#absences.get(lock);
    if (absence === undefined) {
      const times = { atUs: answeredUs, untilUs: answeredUs, lastLookUs: answeredUs };
      this.#absences.set(lock, { kind: 'free', lock, ...times, lookedUs: 0 });
      return;
    }
    absence.lookedUs += Math.min(MOST_BETWEEN_US, Math.max(0, askedUs - absence.lastLookUs));
    absence.untilUs = Math.max(absence.untilUs, askedUs);
    absence.lastLookUs = Math.max(absence.lastLookUs, askedUs);
  }

  #end(lock: string): void {
    const absence = this.#absences.get(lock);
    this.#absences.delete(lock);
    if (absence === undefined || absence.lookedUs < WORTH_TELLING_US) return;
    const { lastLookUs, ...free } = absence;
    this.tell(free);
  }
}
