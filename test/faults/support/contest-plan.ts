import type { LockSettings } from '../../../libs/redis-lock/src/core/api/settings.js';
import type { FaultProxy } from '../../support/fault-proxy.js';
import type { Limits } from './contest-checks.js';
import type { Work } from './crowd.js';
import { FAULTS, type Pace, type Plans } from './fault-schedule.js';
import { ROUND_TRIP_MS } from './lab.js';
import type { Manners } from './ways.js';

/** The work of one process, and its way to Redis. */
export interface PlannedPost {
  readonly proxy: 0 | 1;
  /** Each with a client of its own; one unless given. */
  readonly applications?: number;
  readonly work: Omit<Work, 'guard'>;
}

/** The work of each process in a contest, and the faults meanwhile. */
export interface ContestPlan {
  readonly settings: Pick<LockSettings, 'watchdogLeaseMs' | 'pollIntervalMs' | 'claimTimeMs'>;
  readonly posts: readonly PlannedPost[];
  readonly faults: Plans;
  readonly pace: Pace;
  /** These faults last from the beginning to the end. */
  readonly prevailing?: (proxies: readonly [FaultProxy, FaultProxy]) => void;
  /** The wall clock of every process is set back again and again. */
  readonly isSetBack?: boolean;
  readonly limits: Limits;
  /** How long the dead may keep others out: by a lease, or by a claim to it. */
  readonly longestLeaseMs: number;
}

/** The first lock is the one that all callers want; two more are there to be taken along with it. */
export const LOCKS = ['product_0', 'product_1', 'product_2'] as const;
const WANTED = [...Array.from({ length: 18 }, () => 'product_0'), 'product_1', 'product_2'];

/** A request that comes late is executed as it stands: a hold count may be one of the past then. */
const WITHOUT_COUNTING: Manners = {
  ...{ plain: 60, bare: 20, hasty: 8, try: 8, impatient: 8, aborting: 8, multi: 4, slow: 0.04 },
};
const ALL_MANNERS: Manners = { ...WITHOUT_COUNTING, nested: 6, siblings: 2, outliving: 2 };

const LEASE_MS = 1_000;
const POLL_MS = 200;
const CLAIM_MS = 3_000;

const post = (proxy: 0 | 1): PlannedPost => ({
  proxy,
  work: {
    ...{ locks: WANTED, callers: 6, sections: Infinity, waitTimeMs: 15_000 },
    ...{ workMs: 0, slowMs: 2 * LEASE_MS, fenced: 0.8 },
    manners: proxy === 0 ? ALL_MANNERS : WITHOUT_COUNTING,
  },
});

/** Four processes, and every fault there is, in storms with some calm in between. */
export const LONG_CONTEST: ContestPlan = {
  settings: { watchdogLeaseMs: LEASE_MS, pollIntervalMs: POLL_MS, claimTimeMs: CLAIM_MS },
  posts: [post(0), post(0), post(1), post(1)],
  faults: FAULTS,
  pace: { apartMs: [0, 60], storm: [1, 15], calmSections: [50, 350] },
  limits: {
    freeMs: 5 * (POLL_MS + ROUND_TRIP_MS),
    idleMs: 5 * (CLAIM_MS + POLL_MS + ROUND_TRIP_MS),
    leaseMs: LEASE_MS,
  },
  longestLeaseMs: CLAIM_MS,
};
