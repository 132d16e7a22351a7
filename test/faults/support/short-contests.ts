import { LOCKS, type ContestPlan, type PlannedPost } from './contest-plan.js';
import { ROUND_TRIP_MS } from './lab.js';

/**
 * The contest of contended.spec.ts in small: 2 processes with 2 applications each. Each contest has only
 * the work and faults of one kind of bug. The longest part is to wait until no caller can get in any
 * more. So the leases are as short, or as long, as that allows.
 */
type Times = ContestPlan['settings'] & { longestLeaseMs: number; promptMs?: number };
type Differences = Omit<ContestPlan, 'settings' | 'limits' | 'longestLeaseMs' | 'pace'> & {
  readonly apartMs: readonly [number, number];
};

function plan(
  { longestLeaseMs, promptMs = 0, ...settings }: Times,
  { apartMs, ...more }: Differences,
): ContestPlan {
  const { pollIntervalMs, watchdogLeaseMs: leaseMs } = settings;
  const freeMs = 5 * (ROUND_TRIP_MS + (promptMs > 0 ? promptMs : pollIntervalMs));
  const idleMs = promptMs > 0 ? freeMs : freeMs + 5 * longestLeaseMs;
  const pace = { apartMs, storm: [1, 1], calmSections: [0, 0] } as const;
  return { settings, longestLeaseMs, pace, limits: { freeMs, idleMs, leaseMs }, ...more };
}

function post(
  proxy: 0 | 1,
  manners: PlannedPost['work']['manners'],
  work: Partial<PlannedPost['work']> = {},
  applications = 2,
): PlannedPost {
  const common = { locks: ['product_0'], callers: 4, sections: Infinity, waitTimeMs: 15_000 };
  return { proxy, applications, work: { ...common, workMs: 0, fenced: 0.5, ...work, manners } };
}

/** Replies and requests get lost, and what was sent is sent again. */
const CUTS = plan(
  { watchdogLeaseMs: 1_000, pollIntervalMs: 100, claimTimeMs: 500, longestLeaseMs: 1_000 },
  {
    posts: [
      post(0, { plain: 2, nested: 4 }, { locks: LOCKS }),
      post(1, { plain: 2, nested: 4 }, { locks: LOCKS }),
    ],
    faults: {
      'lost reply': { times: 6 },
      'lost request': { times: 1 },
      'reply cut in the middle': { times: 1, bytes: [1, 60] },
    },
    apartMs: [20, 40],
  },
);

/** The lock is taken away from those who are inside, some of whom stay for long. */
const TAKINGS = plan(
  { watchdogLeaseMs: 300, pollIntervalMs: 50, claimTimeMs: 500, longestLeaseMs: 300 },
  {
    posts: [
      post(0, { plain: 8, slow: 4 }, { workMs: 30, slowMs: 1_000 }),
      post(1, { plain: 8, slow: 4 }, { workMs: 30, slowMs: 1_000 }),
    ],
    faults: { 'lock deleted': { times: 1 } },
    apartMs: [20, 40],
  },
);

/** Some stay for longer than a lease, or for as long as one is good, by clocks that are set back. */
const STAYS = plan(
  { watchdogLeaseMs: 150, pollIntervalMs: 50, claimTimeMs: 500, longestLeaseMs: 150 },
  {
    posts: [
      post(0, { plain: 6, slow: 2, staying: 2 }, { slowMs: 400, stayMs: 150 }),
      post(1, { plain: 6, slow: 2, staying: 2 }, { slowMs: 400, stayMs: 150 }),
    ],
    faults: { 'scripts flushed': { times: 1 }, 'messages repeated': { times: 1, ms: [5, 30] } },
    apartMs: [50, 100],
    isSetBack: true,
  },
);

/** Some processes get the message of a grant when the grant is over. */
const LATE = plan(
  { watchdogLeaseMs: 100, pollIntervalMs: 50, claimTimeMs: 500, longestLeaseMs: 100 },
  {
    posts: [
      post(0, { plain: 1 }, { workMs: 10 }),
      post(1, { plain: 0, nested: 1 }, { callers: 1, waitTimeMs: 2_000, fenced: 0 }, 4),
    ],
    faults: { 'scripts flushed': { times: 1 } },
    apartMs: [50, 100],
    prevailing: ([, late]) => late.delay('toClient', 130),
  },
);

/** Nothing polls, and subscriptions come late: what was missed meanwhile is asked for. */
const MESSAGES = plan(
  {
    ...{ watchdogLeaseMs: 20_000, pollIntervalMs: 60_000, claimTimeMs: 20_000 },
    ...{ longestLeaseMs: 0, promptMs: 100 },
  },
  {
    posts: [
      post(0, { plain: 1 }, { callers: 1, sections: 6, workMs: 20 }),
      post(1, { plain: 1 }, { callers: 1, sections: 6, workMs: 20 }),
    ],
    faults: { 'subscribers killed': { times: 1 } },
    apartMs: [200, 400],
    prevailing: (proxies) => {
      for (const proxy of proxies) proxy.delay('toServer', 100, { containing: 'subscribe' });
    },
  },
);

/** A waiter cannot wait for these leases to end: a caller has to use each grant, or release it. */
const LEASES = plan(
  {
    ...{ watchdogLeaseMs: 20_000, pollIntervalMs: 100, claimTimeMs: 20_000 },
    ...{ longestLeaseMs: 0, promptMs: 100 },
  },
  {
    posts: [
      post(0, { plain: 4, impatient: 2, aborting: 2 }),
      post(1, { plain: 4, impatient: 2, aborting: 2 }),
    ],
    faults: {
      'replies come late': { times: 4, ms: [10, 60] },
      'grants forged': { times: 2 },
      'dead process in the queue': { times: 1, ms: [20_000, 20_000] },
    },
    apartMs: [10, 30],
    prevailing: ([deaf]) => deaf.drop('toClient', { containing: '\r\nmessage\r\n' }),
  },
);

export const SHORT_CONTESTS = { CUTS, TAKINGS, STAYS, LATE, MESSAGES, LEASES };
