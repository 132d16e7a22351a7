import type { Redis } from 'ioredis';
import {
  LeaseLostError,
  LockBackendError,
  LockTimeoutError,
  type Lease,
  type LockService,
} from 'nestjs-redis-lock';

import type { Random } from '../../support/random.js';
import { History, nowUs, type PackedHistory } from './history.js';

/** What a caller may do with a lock, and how often relative to the rest. */
export interface Manners {
  plain: number;
  nested?: number;
  siblings?: number;
  /** A child that is released after its parent. */
  outliving?: number;
  bare?: number;
  fenced?: number;
  /** Two locks as one; the section is that of either of them. */
  multi?: number;
  try?: number;
  /** Waits for a moment only. */
  impatient?: number;
  aborting?: number;
}

export interface Work {
  locks: readonly string[];
  callers: number;
  /** Sections of all callers together; the last ones to finish may exceed it by a few. */
  sections: number;
  manners: Manners;
  waitTimeMs: number;
  /** The longest work inside a section; 0 is as fast as the referee. */
  workMs?: number;
}

export interface Report {
  history: PackedHistory;
  sections: number;
  /** Increments of the unguarded counters that went through. */
  increments: Record<string, number>;
  /** Sections during which the lease was lost, and said so. */
  lost: number;
  timeouts: number;
  backendErrors: number;
  /** Whatever must never be, in words. */
  violations: string[];
}

export interface Place {
  locks: LockService;
  /** A Redis of its own, that no fault touches and that knows nothing of locks. */
  referee: Redis;
  /** A way to the Redis of the locks that no fault touches. */
  witness: Redis;
}

/** Callers of one application that enter critical sections, and record what they see there. */
export class Crowd {
  readonly #history = new History();
  readonly #report: Omit<Report, 'history'> = {
    sections: 0,
    increments: {},
    lost: 0,
    timeouts: 0,
    backendErrors: 0,
    violations: [],
  };
  #isStopped = false;

  constructor(
    private readonly place: Place,
    private readonly work: Work,
    private readonly random: Random,
  ) {}

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
    const ways = Object.entries(manners) as [keyof Manners, number][];
    const total = ways.reduce((sum, [, weight]) => sum + weight, 0);
    while (!this.#isStopped && this.#report.sections < sections) {
      let dice = random.next() * total;
      const [way] = ways.find(([, weight]) => (dice -= weight) < 0) ?? ['plain'];
      await this.#judge(this.#ways[way](random.pick(locks), random));
    }
  }

  async #judge(attempt: Promise<unknown>): Promise<void> {
    try {
      await attempt;
    } catch (error) {
      if (error instanceof LeaseLostError) this.#report.lost++;
      else if (error instanceof LockTimeoutError) this.#report.timeouts++;
      else if (error instanceof LockBackendError) this.#report.backendErrors++;
      else if (!(error instanceof GaveUp)) this.#violation(`unexpected ${describe(error)}`);
    }
  }

  readonly #ways: Record<keyof Manners, (lock: string, random: Random) => Promise<unknown>> = {
    plain: (lock, random) => this.#using(lock, (lease) => this.#section(lock, lease, random)),

    fenced: (lock, random) =>
      this.#using(lock, (lease) => this.#section(lock, lease, random), { fenced: true }),

    multi: (lock, random) => {
      const { place, work } = this;
      const { waitTimeMs } = work;
      const both = place.locks.multi([lock, random.pick(work.locks)]);
      return both.using((lease) => this.#section(lock, lease, random), { waitTimeMs });
    },

    nested: (lock, random) =>
      this.#using(lock, (outer) =>
        this.#section(lock, outer, random, async () => {
          await this.#expectHolds(lock, outer, 1);
          await this.#using(lock, async (middle) => {
            await this.#expectHolds(lock, middle, 2);
            await this.#using(lock, (inner) => this.#expectHolds(lock, inner, 3));
            await this.#expectHolds(lock, middle, 2);
          });
          await this.#expectHolds(lock, outer, 1);
        }),
      ),

    siblings: (lock, random) =>
      this.#using(lock, (parent) =>
        this.#section(lock, parent, random, async () => {
          let busy = 0;
          const sibling = () =>
            this.#using(lock, async (lease) => {
              if (++busy !== 1) this.#violation(`${String(busy)} siblings inside ${lock}`);
              await this.#expectHolds(lock, lease, 2);
              busy--;
            });
          // All of them settle before the parent leaves, as in any Promise.all that succeeds.
          const settled = await Promise.allSettled([sibling(), sibling(), sibling()]);
          for (const result of settled) if (result.status === 'rejected') throw result.reason;
        }),
      ),

    outliving: async (lock, random) => {
      let child: Lease | undefined;
      await this.#using(lock, async (parent) => {
        child = await this.place.locks.acquire(lock);
        await this.#expectHolds(lock, parent, 2);
      });
      await this.#leaving(child, (lease) => this.#section(lock, lease, random));
    },

    bare: async (lock, random) => {
      const { waitTimeMs } = this.work;
      const lease = await this.place.locks.acquire(lock, { waitTimeMs });
      await this.#leaving(lease, () => this.#section(lock, lease, random));
    },

    try: async (lock, random) => {
      const lease = await this.place.locks.tryAcquire(lock);
      await this.#leaving(lease, (held) => this.#section(lock, held, random));
    },

    impatient: (lock, random) =>
      this.#using(lock, (lease) => this.#section(lock, lease, random), {
        waitTimeMs: random.int(1, 20),
      }),

    aborting: async (lock, random) => {
      const abort = new AbortController();
      const timer = setTimeout(
        () => {
          abort.abort(new GaveUp());
        },
        random.int(0, 20),
      );
      try {
        await this.#using(lock, (lease) => this.#section(lock, lease, random), {
          signal: abort.signal,
        });
      } finally {
        clearTimeout(timer);
      }
    },
  };

  #using(
    lock: string,
    work: (lease: Lease) => Promise<void>,
    options: { fenced?: boolean; waitTimeMs?: number; signal?: AbortSignal } = {},
  ): Promise<void> {
    return this.place.locks.using(lock, work, { waitTimeMs: this.work.waitTimeMs, ...options });
  }

  async #leaving(
    lease: Lease | null | undefined,
    work: (lease: Lease) => Promise<void>,
  ): Promise<void> {
    if (lease === null || lease === undefined) return;
    try {
      await work(lease);
    } finally {
      await lease.release();
    }
  }

  /**
   * The unguarded counter: read, work, write. Two at a time would lose an increment, and would show
   * in the history. The section ends where the lease was last known to be held.
   */
  async #section(
    lock: string,
    lease: Lease,
    random: Random,
    inner?: () => Promise<void>,
  ): Promise<void> {
    const { referee } = this.place;
    const startUs = nowUs();
    let endUs = startUs;
    try {
      lease.assertHeld();
      const counter = `count:${lock}`;
      const count = Number(await referee.get(counter));
      lease.assertHeld();
      endUs = nowUs();
      await inner?.();
      const { workMs = 0 } = this.work;
      if (workMs > 0) await pause(random.int(0, workMs));
      lease.assertHeld();
      await referee.set(counter, count + 1);
      lease.assertHeld();
      endUs = nowUs();
      const { increments } = this.#report;
      increments[lock] = (increments[lock] ?? 0) + 1;
    } finally {
      this.#history.add(lock, startUs, endUs, lease.fencingToken);
      this.#report.sections++;
    }
  }

  /** What Redis says must be what this owner knows, unless the lease is lost and says so. */
  async #expectHolds(lock: string, lease: Lease, holds: number): Promise<void> {
    const seen = await this.place.witness.hget(lock, lease.owner);
    lease.assertHeld();
    if (Number(seen) !== holds) {
      this.#violation(`${String(seen)} holds of ${lock} in Redis instead of ${String(holds)}`);
    }
  }

  #violation(text: string): void {
    this.#report.violations.push(text);
  }
}

/** The reason of a caller that aborts its waiting. */
class GaveUp extends Error {}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
