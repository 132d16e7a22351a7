import type { Redis } from 'ioredis';
import type { AcquireOptions, Lease, LockService } from 'nestjs-redis-lock';

import type { Random } from '../../support/random.js';
import type { Work } from './crowd.js';
import { pause } from './pace.js';
import { attempt, confirm, passThrough, type Recorder, type Visit } from './visit.js';

/** A caller may do this with a lock, so often relative to the rest. */
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
  /** Releases the lock twice, while it asks for a renewal. */
  hasty?: number;
  /** Stays for longer than all other callers. */
  slow?: number;
  /** Stays until it learns that its lease is over; no watchdog renews that lease. */
  staying?: number;
  /** Waits for a moment only. */
  impatient?: number;
  aborting?: number;
}

export interface Place {
  locks: LockService;
  /** A Redis of its own, that no fault touches and that knows nothing of locks. */
  referee: Redis;
  /** A way to the Redis of the locks that no fault touches. */
  witness: Redis;
}

export interface Tally {
  readonly recorder: Recorder;
  /** A section went through, from its beginning to its end. */
  readonly passed: (lock: string) => void;
  readonly left: () => void;
  readonly violated: (text: string, owner?: string) => void;
}

type Way = (lock: string, random: Random) => Promise<unknown>;

class Ways {
  constructor(
    private readonly place: Place,
    private readonly work: Work,
    private readonly tally: Tally,
  ) {}

  readonly all: Record<keyof Manners, Way> = {
    plain: (lock, random) => this.#using(lock, random, (visit) => this.#section(visit)),

    fenced: (lock, random) =>
      this.#using(lock, random, (visit) => this.#section(visit), { fenced: true }),

    slow: (lock, random) =>
      this.#using(lock, random, (visit) =>
        this.#section(visit, () => pause(random.int(0, this.work.slowMs ?? 0))),
      ),

    staying: (lock, random) =>
      this.#using(lock, random, (visit) => this.#section(visit, () => this.#stay(visit)), {
        leaseTimeMs: this.work.stayMs,
      }),

    multi: (lock, random) => {
      const { place, work } = this;
      const both = place.locks.multi([lock, random.pick(work.locks)]);
      return this.#attempt(lock, random, (granted) =>
        both.using((lease) => this.#section(granted(lease)), this.#options(random)),
      );
    },

    nested: (lock, random) =>
      this.#using(lock, random, (visit) =>
        this.#section(visit, async () => {
          await this.#expectHolds(lock, visit.lease, 1);
          await this.#inside(lock, async (middle) => {
            await this.#expectHolds(lock, middle, 2);
            await this.#inside(lock, (inner) => this.#expectHolds(lock, inner, 3));
            await this.#expectHolds(lock, middle, 2);
          });
          await this.#expectHolds(lock, visit.lease, 1);
        }),
      ),

    siblings: (lock, random) =>
      this.#using(lock, random, (visit) =>
        this.#section(visit, async () => {
          let busy = 0;
          const sibling = () =>
            this.#inside(lock, async (lease) => {
              if (++busy !== 1) this.tally.violated(`${String(busy)} siblings inside ${lock}`);
              try {
                await this.#expectHolds(lock, lease, 2);
              } finally {
                busy--;
              }
            });
          // All of them settle before the parent leaves, as in any Promise.all that succeeds.
          const settled = await Promise.allSettled([sibling(), sibling(), sibling()]);
          for (const result of settled) if (result.status === 'rejected') throw result.reason;
        }),
      ),

    outliving: (lock, random) =>
      this.#attempt(lock, random, async (granted) => {
        const { locks } = this.place;
        const options = this.#options(random);
        let child: Lease | undefined;
        const beget = async (parent: Lease) => {
          child = await locks.acquire(lock, options);
          await this.#expectHolds(lock, parent, 2);
        };
        try {
          await locks.using(lock, beget, options);
        } catch (error) {
          await child?.release().catch(() => undefined);
          throw error;
        }
        if (child !== undefined) await this.#leaving(granted(child));
      }),

    bare: (lock, random) =>
      this.#attempt(lock, random, async (granted) => {
        await this.#leaving(granted(await this.place.locks.acquire(lock, this.#options(random))));
      }),

    hasty: (lock, random) =>
      this.#attempt(lock, random, async (granted) => {
        const visit = granted(await this.place.locks.acquire(lock, this.#options(random)));
        const { lease } = visit;
        const renew = () => lease.renew().catch(() => undefined);
        const release = () => lease.release();
        await this.#leaving(visit, async () => {
          const calls = random.shuffle([renew, release, release]).map((call) => call());
          for (const result of await Promise.allSettled(calls)) {
            if (result.status === 'rejected') throw result.reason;
          }
        });
      }),

    try: (lock, random) =>
      this.#attempt(lock, random, async (granted) => {
        const { fenced } = this.#options(random);
        const lease = await this.place.locks.tryAcquire(lock, { fenced });
        if (lease !== null) await this.#leaving(granted(lease));
      }),

    impatient: (lock, random) =>
      this.#using(lock, random, (visit) => this.#section(visit), {
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
        await this.#using(lock, random, (visit) => this.#section(visit), {
          signal: abort.signal,
        });
      } finally {
        clearTimeout(timer);
      }
    },
  };

  #using(
    lock: string,
    random: Random,
    work: (visit: Visit) => Promise<void>,
    options: AcquireOptions = {},
  ): Promise<void> {
    const all = { ...this.#options(random), ...options };
    return this.#attempt(lock, random, (granted) =>
      this.place.locks.using(lock, (lease) => work(granted(lease)), all),
    );
  }

  #attempt(
    lock: string,
    random: Random,
    work: (granted: (lease: Lease) => Visit) => Promise<void>,
  ): Promise<void> {
    return attempt(this.tally.recorder, { lock, random }, work);
  }

  #inside(lock: string, work: (lease: Lease) => Promise<void>): Promise<void> {
    return this.place.locks.using(lock, work, { waitTimeMs: this.work.waitTimeMs });
  }

  #options(random: Random) {
    const { waitTimeMs, fenced = 0 } = this.work;
    // No draw where there is nothing to decide.
    return { waitTimeMs, fenced: fenced > 0 && random.chance(fenced) };
  }

  async #leaving(visit: Visit, leave = () => visit.lease.release()): Promise<void> {
    try {
      await this.#section(visit);
    } finally {
      await leave();
    }
  }

  async #stay(visit: Visit): Promise<never> {
    for (;;) {
      confirm(visit);
      await pause(1);
    }
  }

  async #section(visit: Visit, inner?: () => Promise<void>): Promise<void> {
    const { recorder, violated, passed, left } = this.tally;
    const { workMs = 0, guard = 'lock' } = this.work;
    const { referee } = this.place;
    try {
      await passThrough({ referee, guard, recorder, workMs, violated }, visit, inner);
      passed(visit.lock);
    } finally {
      left();
    }
  }

  /** The holds in Redis must be those of this owner, unless `assertHeld()` reports a loss. */
  async #expectHolds(lock: string, lease: Lease, holds: number): Promise<void> {
    const seen = await this.place.witness.hget(lock, lease.owner);
    lease.assertHeld();
    if (Number(seen) !== holds) {
      const text = `${String(seen)} holds of ${lock} in Redis instead of ${String(holds)}`;
      this.tally.violated(text, lease.owner);
    }
  }
}

/** The ways of callers, by the name of their manners. */
export function waysOf(place: Place, work: Work, tally: Tally): Record<keyof Manners, Way> {
  return new Ways(place, work, tally).all;
}

/** The reason of a caller that aborts its waiting. */
export class GaveUp extends Error {
  override readonly name = 'GaveUp';
}
