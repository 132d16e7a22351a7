import { Counter, Gauge, Histogram, register as globalRegister, type Registry } from 'prom-client';

import { describeValue, LockConfigurationError } from '../../core/api/errors.js';
import type { LockEventMessage } from '../../family/event-channel.js';
import {
  BUCKETS_S,
  countOf,
  labelsOf,
  listenToLocks,
  type LockAcquisition,
  type LockLabels,
  type LockListener,
} from '../../family/lock-telemetry.js';

const CONNECTION = ['connection'] as const;
const LOCK = ['connection', 'kind', 'lock'] as const;

type EventType = LockEventMessage['type'];

/** The counters of events: the metric, its labels, and its help text. */
const COUNTED: Partial<Record<EventType, [name: string, labels: readonly string[], help: string]>> =
  {
    lost: ['lost_total', [...LOCK, 'reason'], 'Locks that were lost while they were held'],
    'late-grant': ['late_grants_total', LOCK, 'Grants that arrived after their caller left'],
    'release-failed': ['release_failures_total', LOCK, 'Releases that did not reach Redis'],
    'wake-up-failed': [
      'wake_up_failures_total',
      LOCK,
      'Releases without a message: waiters find them by polling',
    ],
    'force-released': ['forced_releases_total', LOCK, 'Locks that were force-released'],
    renewed: ['renewals_total', CONNECTION, 'Leases that were renewed'],
    'renewal-failed': ['renewal_failures_total', CONNECTION, 'Leases that could not be renewed'],
    'messages-failed': ['message_failures_total', CONNECTION, 'Subscriptions that were refused'],
  };

/** The events that show whether Redis is available. */
const SIGNS: Partial<Record<EventType, 0 | 1>> = {
  ...{ acquired: 1, renewed: 1, 'connection-restored': 1 },
  'connection-failed': 0,
};

/** The metrics of all locks in one process. */
class LockMetrics implements LockListener<undefined> {
  readonly #names: string[] = [];
  readonly #acquisitions: Counter;
  readonly #waits: Histogram;
  readonly #holds: Histogram;
  readonly #waiting: Gauge;
  readonly #held: Gauge;
  readonly #up: Gauge;
  readonly #info: Gauge;
  readonly #counters = new Map<EventType, Counter>();

  constructor(private readonly register: Registry) {
    const about = (metric: string, labelNames: readonly string[], help: string) => {
      const name = `redis_lock_${metric}`;
      this.#names.push(name);
      return { name, labelNames, help, registers: [register] };
    };
    const outcomes = about('acquisitions_total', [...LOCK, 'outcome'], 'Calls, by their outcome');
    this.#acquisitions = new Counter(outcomes);
    const waits = about('wait_seconds', LOCK, 'How long calls waited, with or without success');
    this.#waits = new Histogram({ ...waits, buckets: BUCKETS_S });
    const holds = about('hold_seconds', LOCK, 'How long locks were held');
    this.#holds = new Histogram({ ...holds, buckets: BUCKETS_S });
    this.#waiting = new Gauge(about('waiting', LOCK, 'Calls that still wait'));
    this.#held = new Gauge(about('held', LOCK, 'Locks that are held'));
    this.#up = new Gauge(
      about('connection_up', CONNECTION, 'Whether Redis was last seen available'),
    );
    const info = [...CONNECTION, 'client', 'host', 'pid'];
    this.#info = new Gauge(about('info', info, 'The process whose owners begin with the client'));
    for (const [type, [name, labels, help]] of Object.entries(COUNTED)) {
      this.#counters.set(type as EventType, new Counter(about(name, labels, help)));
    }
  }

  static isIn(register: Registry): boolean {
    return register.getSingleMetric('redis_lock_held') !== undefined;
  }

  asked(labels: LockLabels): undefined {
    this.#waiting.inc(labels);
  }

  answered(_: undefined, labels: LockLabels, { outcome, waitedMs }: LockAcquisition): void {
    this.#waiting.dec(labels);
    this.#acquisitions.inc({ ...labels, outcome });
    this.#waits.observe(labels, waitedMs / 1_000);
  }

  held(labels: LockLabels, change: 1 | -1): void {
    this.#held.inc(labels, change);
  }

  happened(event: LockEventMessage): void {
    const [count, labels] = countOf(event);
    this.#counters.get(event.type)?.inc(labels, count);
    if ('heldMs' in event) this.#holds.observe(labelsOf(event), event.heldMs / 1_000);
    if (event.type === 'opened') {
      const { connection, clients, host, pid } = event;
      for (const client of clients) this.#info.set({ connection, client, host, pid }, 1);
    }
    const isUp = SIGNS[event.type];
    if (isUp !== undefined) this.#up.set({ connection: event.connection }, isUp);
  }

  /** Removes the metrics from the registry, once: metrics that others add later stay. */
  remove(): void {
    for (const name of this.#names.splice(0)) this.register.removeSingleMetric(name);
  }
}

/**
 * The registry contains the metrics of all locks in this process from now on, for every connection.
 * Call it before the first lock is acquired.
 * @param register the global one of prom-client unless given
 * @returns a function that ends it, and removes the metrics from the registry
 * @throws {LockConfigurationError} the registry has the metrics already, or is no registry
 */
export function collectLockMetrics(register: Registry = globalRegister): () => void {
  check(register);
  const metrics = new LockMetrics(register);
  const stop = listenToLocks(metrics);
  return () => {
    stop();
    metrics.remove();
  };
}

function check(register: Registry): void {
  if (!isRegistry(register)) {
    throw new LockConfigurationError(
      `collectLockMetrics() takes a Registry of prom-client, not ${describeValue(register)}`,
    );
  }
  if (!LockMetrics.isIn(register)) return;
  throw new LockConfigurationError(
    'The registry has the metrics of locks already. Call collectLockMetrics() once in a process, ' +
      'or first call the function that it returned',
  );
}

function isRegistry(register: unknown): boolean {
  const { getSingleMetric } = (register ?? {}) as Partial<Registry>;
  return typeof getSingleMetric === 'function';
}
