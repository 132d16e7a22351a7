import type { Random } from '../support/random.js';

/** One request of a visitor, so long after the one before. All times are in milliseconds. */
export interface Visit {
  readonly afterMs: number;
  readonly ttl: number;
  readonly limit: number;
  readonly block: number;
}

/** So many requests, by one rule; most of them at once, others up to seven minutes later. */
export function visitsOf(random: Random, count: number): Visit[] {
  const rule = {
    ttl: random.pick([505_000, 1_005_000, 2_005_000]),
    limit: random.pick([1, 2, 3]),
    block: random.pick([0, 205_000, 1_005_000, 3_005_000]),
  };
  // Nothing ends within five seconds of a visit: a slow machine must not see another order.
  const pauses = [0, 0, 0, 110_000, 230_000, 390_000];
  return Array.from({ length: count }, () => ({ ...rule, afterMs: random.pick(pauses) }));
}
