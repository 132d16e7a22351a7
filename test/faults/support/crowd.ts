import {
  LeaseLostError,
  LockArgumentError,
  LockBackendError,
  LockShutdownError,
  LockTimeoutError,
} from '../../../libs/redis-lock/src/core/api/errors.js';

import type { Random } from '../../support/random.js';
import type { Guard } from './counters.js';
import { History, type PackedHistory } from './history.js';
import type { Recorder } from './visit.js';
import { GaveUp, waysOf, type Manners, type Place } from './ways.js';

export interface Work {
  locks: readonly string[];
  callers: number;
  /** Sections of all callers together; the last ones to finish may exceed it by a few. */
  sections: number;
  manners: Manners;
  waitTimeMs: number;
  /** The longest work inside a section; 0 is as fast as the referee. */
  workMs?: number;
  /** The longest that the slow ones add to it. */
  slowMs?: number;
  /** The lease of those that stay until its end. */
  stayMs?: number;
  /** The guard of the counters; `lock` unless given. */
  guard?: Guard;
  /** How often a caller asks for a fencing token whose manners do not say; 0 unless given. */
  fenced?: number;
}

export interface Report {
  history: PackedHistory;
  sections: number;
  /** Increments of the unguarded counters that went through. */
  increments: Record<string, number>;
  /** Sections during which the lease was lost and reported it. */
  lost: number;
  timeouts: number;
  backendErrors: number;
  /** The violations, in words. */
  violations: string[];
}

/** Callers of one application that enter critical sections, and record what they see there. */
export class Crowd {
  readonly #history = new History();
  readonly #recorder: Recorder;
  readonly #report: Omit<Report, 'history'> = {
    sections: 0,
    increments: {},
    lost: 0,
    timeouts: 0,
    backendErrors: 0,
    violations: [],
  };
  #isStopped = false;

  /** @param recorder instead of the history in the report */
  constructor(
    private readonly place: Place,
    private readonly work: Work,
    private readonly random: Random,
    recorder?: Recorder,
  ) {
    this.#recorder = recorder ?? this.#history;
  }

  async run(): Promise<Report> {
    const callers = Array.from({ length: this.work.callers }, (_, i) =>
      this.#caller(this.random.fork(i)),
    );
    await Promise.all(callers);
    return { ...this.#report, history: this.#history.pack() };
  }

  get isBroken(): boolean {
    return this.#report.violations.length > 0;
  }

  /** Every caller finishes its section and goes home. */
  stop(): void {
    this.#isStopped = true;
  }

  async #caller(random: Random): Promise<void> {
    const { locks, sections, manners } = this.work;
    const ways = this.#ways();
    const weights = Object.entries(manners) as [keyof Manners, number][];
    const total = weights.reduce((sum, [, weight]) => sum + weight, 0);
    while (!this.#isStopped && this.#report.sections < sections) {
      let dice = random.next() * total;
      const [way] = weights.find(([, weight]) => (dice -= weight) < 0) ?? ['plain'];
      await this.#judge(ways[way](random.pick(locks), random));
    }
  }

  #ways() {
    const { increments } = this.#report;
    return waysOf(this.place, this.work, {
      recorder: this.#recorder,
      passed: (lock) => (increments[lock] = (increments[lock] ?? 0) + 1),
      left: () => this.#report.sections++,
      violated: (text, owner) => {
        this.#violated(text, owner);
      },
    });
  }

  async #judge(attempt: Promise<unknown>): Promise<void> {
    try {
      await attempt;
    } catch (error) {
      if (error instanceof LeaseLostError) this.#report.lost++;
      else if (error instanceof LockTimeoutError) this.#report.timeouts++;
      // On a slow machine, grants may come later than a short lease.
      else if (error instanceof LockArgumentError) this.#report.timeouts++;
      else if (error instanceof LockBackendError) this.#report.backendErrors++;
      else if (error instanceof LockShutdownError && this.#isStopped) return;
      else if (!(error instanceof GaveUp)) this.#violated(`unexpected ${describe(error)}`);
    }
  }

  #violated(text: string, owner?: string): void {
    this.#report.violations.push(text);
    this.#recorder.violated?.(text, owner);
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
