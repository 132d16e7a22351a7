import { LeaseLostError } from '../../libs/redis-lock/src/core/api/errors.js';
import type { Lease } from '../../libs/redis-lock/src/core/api/lease.js';
import type { MultiLease } from '../../libs/redis-lock/src/primitives/multi-lock/multi-lease.js';
import type { Random } from '../support/random.js';
import { LONGEST_LEASE_MS, type Application } from './application.js';
import { CAPACITY, countingSemaphore } from './counting.js';
import { jobs } from './jobs.js';
import { latch } from './latches.js';
import { keysOf, type FaultName, type Primitive } from './plan.js';
import type { SimulatedServer } from './simulated-server.js';
import type { Simulation } from './simulation.js';
import { HASH, PERMITS, READ_WRITE, type State } from './states.js';
import { Caller } from './caller.js';
import type { Holdable, Way } from './ways.js';

/** One call of a caller, until all that it began is over. */
export type Visit = (key: string, random: Random) => Promise<void>;

/** How the callers of a primitive use it, and how its state is read. */
export interface Trial {
  readonly servers: number;
  readonly isFair: boolean;
  /** Faults from which nothing protects it. */
  readonly excludes?: readonly FaultName[];
  /** The longest lag of a replica. */
  readonly lagMs?: number;
  /** More time until the consequences of a fault are over. */
  readonly settleMs?: number;
  /** These keys stay for ever. */
  readonly keeps: RegExp;
  readonly open: (app: Application, simulation: Simulation) => Visit;
  /** How its holders are read from a server. */
  readonly state: State;
  /** That tells everything: one server decides, and holders have leases. */
  readonly isKnown: boolean;
  /** An owner has a hold count. */
  readonly isCounted: boolean;
  /** A release wakes a waiter. */
  readonly isTold: boolean;
  /** Processes that wait take turns. */
  readonly hasTurns: boolean;
  readonly isOfTwoSides?: boolean;
  readonly isFree: (server: SimulatedServer, key: string) => boolean;
  readonly losesBy: (fault: FaultName) => boolean;
  /** Whether that lasts: what is counted in one place may be held in another. */
  readonly losesForGood?: (fault: FaultName) => boolean;
  /** Whether the dead may have taken all that there is. */
  readonly mayBeUsedUp?: (simulation: Simulation) => boolean;
  /** Looks once more when all callers are gone. */
  readonly atEnd?: (app: Application, simulation: Simulation) => Promise<void>;
}

const isAbsent = (server: SimulatedServer, key: string) => server.store.typeOf(key) === undefined;

const LOSSES: readonly FaultName[] = [
  ...(['restart-old', 'restart-empty', 'failover', 'delete', 'eviction'] as const),
  ...(['force-release', 'redis-clock'] as const),
];
const losesBy = (fault: FaultName) => LOSSES.includes(fault);

/** A reader keeps a writer out. */
const READER = 0.001;

const EXCLUSIVE = {
  ...{ weight: 1, inOrder: true, isReentrant: true, canBeFenced: true, canBeKept: false },
};
const TOKENS = /^redisson_lock_token:/;
const LOCK = {
  ...{ servers: 1, isFair: false, keeps: TOKENS, isFree: isAbsent, losesBy },
  ...{ state: HASH, isKnown: true, isCounted: true, isTold: true, hasTurns: true },
};
const OTHER = { ...LOCK, hasTurns: false };

/** Callers that hold something for a lease, by one of several ways. */
function holders(waysOf: (app: Application, simulation: Simulation) => WayOf): Trial['open'] {
  return (app, simulation) => {
    const wayOf = waysOf(app, simulation);
    return (key, random) => new Caller(simulation, app, random).visit(wayOf(key, random));
  };
}
type WayOf = (key: string, random: Random) => Way;

const red = (servers: number): Trial => ({
  ...OTHER,
  servers,
  settleMs: 2 * LONGEST_LEASE_MS,
  // Its servers are independent masters.
  excludes: ['failover'],
  // A vote that was lost is made up for by the majority, or by the next renewal.
  ...{ isKnown: false, isCounted: false, isTold: false },
  losesBy: (fault) => ['delete', 'eviction', 'force-release', 'redis-clock'].includes(fault),
  open: holders((app) => {
    const locks = app.red();
    return (key) => ({ ...EXCLUSIVE, inOrder: false, key, holdable: locks.get(key) });
  }),
});

export const TRIALS: Record<Primitive, Trial> = {
  lock: {
    ...LOCK,
    open: holders((app) => {
      const locks = app.lock();
      return (key) => ({ ...EXCLUSIVE, canBeKept: true, key, holdable: locks.get(key) });
    }),
  },
  replicated: {
    ...OTHER,
    isTold: false,
    // Less than the shortest lease: the answer of a grant comes as late.
    lagMs: 10,
    losesBy: (fault) => losesBy(fault) && fault !== 'failover',
    open: holders((app) => {
      const locks = app.lock();
      const options = { minReplicas: 1 };
      return (key) => ({ ...EXCLUSIVE, inOrder: false, key, holdable: locks.get(key), options });
    }),
  },
  fair: {
    ...OTHER,
    isFair: true,
    open: holders((app) => {
      const locks = app.fair();
      return (key) => ({ ...EXCLUSIVE, key, holdable: locks.get(key) });
    }),
  },
  'read-write': {
    ...OTHER,
    ...{ state: READ_WRITE, isOfTwoSides: true },
    open: holders((app) => {
      const locks = app.readWrite();
      return (key, random) => {
        const { read, write } = locks.get(key);
        const shared = { ...EXCLUSIVE, inOrder: false, canBeFenced: false, key, holdable: read };
        // A writer may read.
        const inside = { ...shared, weight: 0 };
        if (random.chance(0.3)) return { ...EXCLUSIVE, key, holdable: write, inside };
        return { ...shared, weight: READER };
      };
    }),
  },
  multi: {
    ...OTHER,
    isTold: false,
    open: holders((app) => {
      const locks = app.lock();
      return (key, random) => {
        const names = random.shuffle([key, 'other', 'third']).slice(0, random.int(1, 3));
        const holdable = locks.multi(names);
        const parts = (lease: Lease) =>
          (lease as MultiLease).leases.map((one) => [one.name, one] as const);
        // It waits for one after the other.
        const [first = key] = names.toSorted();
        return { ...EXCLUSIVE, inOrder: false, key: first, holdable, parts };
      };
    }),
  },
  red: red(3),
  'red-5': red(5),
  semaphore: {
    ...OTHER,
    ...{ state: PERMITS, isCounted: false },
    // The next caller takes back what a dead one had.
    keeps: /^(key\d|\{key\d\}:timeout)$/,
    open: holders((app) => {
      const semaphores = app.semaphore();
      return (key, random) => {
        const permits = random.pick([1, 1, 1, 2, 3]);
        const holdable = semaphores.get(key) as Holdable;
        const options = { permits, capacity: CAPACITY };
        const none = { isReentrant: false, canBeFenced: false, inOrder: false };
        return { ...EXCLUSIVE, ...none, key, holdable, options, weight: permits / CAPACITY };
      };
    }),
    losesForGood: (fault) => ['eviction', 'restart-old', 'failover'].includes(fault),
    isFree: (server, key) =>
      server.store.find(key, 'string')?.text === String(CAPACITY) || isAbsent(server, key),
    atEnd: async (app, { plan, referee }) => {
      for (const key of keysOf(plan)) {
        const semaphore = app.semaphore().get(key);
        const [all, free] = [await semaphore.permits(), await semaphore.availablePermits()];
        if (all > 0 && (free !== all || all !== CAPACITY) && !referee.hasLostData(0)) {
          referee.broken('permits', `${semaphore.name} has ${String(free)} of ${String(all)} free`);
        }
      }
    },
  },
  'counting-semaphore': countingSemaphore({
    ...{ ...OTHER, isKnown: false, isCounted: false },
    // No lease returns them.
    losesForGood: () => true,
  }),
  latch: latch({ ...OTHER, isKnown: false, isCounted: false }),
  job: jobs({ ...OTHER, isKnown: false, isCounted: false }),
  guard: {
    ...LOCK,
    keeps: /^redisson_lock_token:|^guarded/,
    open: holders((app, { referee, world }) => {
      const [locks, guard] = [app.lock(), app.guard()];
      return (key) => {
        const options = { fenced: true };
        const work = async ({ fencingToken }: Lease) => {
          for (let writes = 0; writes < 2; writes += 1) {
            const since = world.now;
            const token = Number(fencingToken);
            const written = await guard
              .write(fencingToken, `guarded ${key}`, 'set', String(fencingToken))
              .catch((error: unknown) => error);
            if (written === true) referee.wrote(key, token, since);
            else if (written instanceof LeaseLostError) referee.overtaken(key, token);
          }
        };
        return { ...EXCLUSIVE, key, holdable: locks.get(key), options, work };
      };
    }),
  },
};
