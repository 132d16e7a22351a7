/**
 * The titles of the columns. With `less`, smaller is better.
 * @type {Record<string, { title: string, digits: number, less?: boolean }>}
 */
export const MEASURES = {
  opsPerS: { title: 'ops/s', digits: 0 },
  ordersPerS: { title: 'orders/s', digits: 0 },
  firstMs: { title: 'first 1,000, ms', digits: 0, less: true },
  p50Us: { title: 'p50 µs', digits: 0, less: true },
  p90Us: { title: 'p90 µs', digits: 0 },
  p99Us: { title: 'p99 µs', digits: 0 },
  longestUs: { title: 'max µs', digits: 0 },
  clientUsPerRenewal: { title: 'client µs/renewal', digits: 1, less: true },
  servedPct: { title: 'served %', digits: 0 },
  neverPct: { title: 'never served %', digits: 0 },
  busiestPct: { title: 'busiest %', digits: 1 },
  overtakenPct: { title: 'overtaken %', digits: 1 },
  processRatio: { title: 'process max/min', digits: 1 },
  waitMs: { title: 'wait p50 ms', digits: 2 },
  longestWaitMs: { title: 'longest wait ms', digits: 1 },
  waitRatio: { title: 'longest/p50', digits: 2 },
  readsPerOp: { title: 'reads/op', digits: 2 },
  commandsPerOp: { title: 'cmds/op', digits: 1 },
  callsPerOp: { title: 'calls/op', digits: 2 },
  redisUsPerOp: { title: 'redis µs/op', digits: 1 },
  clientUsPerOp: { title: 'client µs/op', digits: 1, less: true },
  renewalsPerS: { title: 'renewals/s', digits: 0 },
  callsPerS: { title: 'calls/s', digits: 0 },
  commandsPerS: { title: 'cmds/s', digits: 0 },
  redisUsPerRenewal: { title: 'redis µs/renewal', digits: 1 },
  silentUs: { title: 'no events CPU µs', digits: 2 },
  unheardUs: { title: 'no listener CPU µs', digits: 2 },
  heardUs: { title: 'one listener CPU µs', digits: 2 },
  countedUs: { title: '/prometheus CPU µs', digits: 2 },
  addedUs: { title: 'added CPU µs', digits: 2, less: true },
  decoratedUs: { title: 'decorated CPU µs', digits: 2 },
  plainUs: { title: 'by hand CPU µs', digits: 2 },
  addedMs: { title: 'added CPU ms', digits: 1, less: true },
  decoratedMs: { title: 'decorated CPU ms', digits: 1 },
  plainMs: { title: 'plain CPU ms', digits: 1 },
  sharePct: { title: '% of steady', digits: 0 },
  steadyPerS: { title: 'steady ops/s', digits: 0 },
  collectedPerS: { title: 'collected ops/s', digits: 0 },
  promisesPerOp: { title: 'promises/op', digits: 1, less: true },
  timersPerOp: { title: 'timers/op', digits: 1 },
  kibPerOp: { title: 'garbage KiB/op', digits: 1 },
  heapKiBPerLock: { title: 'heap KiB/lock', digits: 2 },
  rssKiBPerLock: { title: 'RSS KiB/lock', digits: 2 },
  overlaps: { title: 'overlaps', digits: 0 },
  oversold: { title: 'oversold', digits: 0 },
  late: { title: 'late', digits: 0 },
  missed: { title: 'missed', digits: 0 },
  lost: { title: 'lost', digits: 0 },
};

/** Counts of events that must not happen. The figure of several rounds is their sum, not their median. */
export const FAULTS = ['overlaps', 'oversold', 'late', 'missed', 'lost'];

/** Faults that show that a lock did not lock. They must not happen on a slow machine either. */
export const BREAKAGES = ['overlaps', 'oversold', 'missed'];
