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

/** The counters of events: the metric, its labels, and what it means. */
const COUNTED: Partial<Record<EventType, [name: string, labels: readonly string[], help: string]>> =
  {
    lost: ['lost_total', [...LOCK, 'reason'], 'Locks that were lost while somebody held them'],
    'late-grant': ['late_grants_total', LOCK, 'Grants whose caller had left before'],
    'release-failed': ['release_failures_total', LOCK, 'Releases that Redis did not hear of'],
    'wake-up-failed': ['wake_up_failures_total', LOCK, 'Releases that waiters find by polling'],
    'force-released': ['forced_releases_total', LOCK, 'Locks that were taken from their holders'],
    renewed: ['renewals_total', CONNECTION, 'Leases that were renewed'],
    'renewal-failed': ['renewal_failures_total', CONNECTION, 'Leases that could not be renewed'],
    'messages-failed': ['message_failures_total', CONNECTION, 'Subscriptions that were refused'],
  };

/** Whether Redis could be used, as an event tells. */
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
  readonly #counters = new Map<EventType, Counter>();

  constructor(private readonly register: Registry) {
    const about = (metric: string, labelNames: readonly string[], help: string) => {
      const name = `redis_lock_${metric}`;
      this.#names.push(name);
      return { name, labelNames, help, registers: [register] };
    };
    const outcomes = about('acquisitions_total', [...LOCK, 'outcome'], 'Calls, by their outcome');
    this.#acquisitions = new Counter(outcomes);
    const waits = about('wait_seconds', LOCK, 'How long calls waited, also in vain');
    this.#waits = new Histogram({ ...waits, buckets: BUCKETS_S });
    const holds = about('hold_seconds', LOCK, 'How long locks were held');
    this.#holds = new Histogram({ ...holds, buckets: BUCKETS_S });
    this.#waiting = new Gauge(about('waiting', LOCK, 'Calls that have not been answered yet'));
    this.#held = new Gauge(about('held', LOCK, 'Locks that are held'));
    this.#up = new Gauge(about('connection_up', CONNECTION, 'Whether Redis could be used last'));
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
    const isUp = SIGNS[event.type];
    if (isUp !== undefined) this.#up.set({ connection: event.connection }, isUp);
  }

  /** Takes them out of the registry, once: those that others put there later stay. */
  remove(): void {
    for (const name of this.#names.splice(0)) this.register.removeSingleMetric(name);
  }
}

/**
 * From now on the registry has the metrics of all locks in this process, of every connection. Begin
 * before the application takes its first lock.
 * @param register the global one of prom-client unless given
 * @returns ends it, and takes the metrics out of the registry
 * @throws {LockConfigurationError} the registry has them already, or is none
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
    'The registry has the metrics of locks already: call collectLockMetrics() once in a process, or ' +
      'stop the first by the function that it has returned',
  );
}

function isRegistry(register: unknown): boolean {
  const { getSingleMetric } = (register ?? {}) as Partial<Registry>;
  return typeof getSingleMetric === 'function';
}
