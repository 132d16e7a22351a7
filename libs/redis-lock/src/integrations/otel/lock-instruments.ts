import {
  SpanStatusCode,
  ValueType,
  type Counter,
  type Histogram,
  type Meter,
  type Span,
  type Tracer,
  type UpDownCounter,
} from '@opentelemetry/api';

import { LockError } from '../../core/api/errors.js';
import type { LockEventMessage } from '../../family/event-channel.js';
import {
  BUCKETS_S,
  countOf,
  labelsOf,
  type LockAcquisition,
  type LockLabels,
  type LockListener,
} from '../../family/lock-telemetry.js';

type EventType = LockEventMessage['type'];

/** The counters of events. */
const COUNTED: Partial<Record<EventType, [name: string, unit: string, description: string]>> = {
  lost: ['lost', '{lock}', 'Locks that were lost while they were held'],
  'late-grant': ['late_grants', '{grant}', 'Grants that arrived after their caller left'],
  'release-failed': ['release.failures', '{release}', 'Releases that did not reach Redis'],
  'wake-up-failed': [
    'wake_up.failures',
    '{release}',
    'Releases without a message: waiters find them by polling',
  ],
  'force-released': ['forced_releases', '{lock}', 'Locks that were force-released'],
  renewed: ['renewals', '{lease}', 'Leases that were renewed'],
  'renewal-failed': ['renewal.failures', '{lease}', 'Leases that could not be renewed'],
  'messages-failed': ['message.failures', '{subscription}', 'Subscriptions that were refused'],
  'connection-failed': ['connection.failures', '{outage}', 'Times that Redis became unavailable'],
};

const SECONDS = {
  ...{ unit: 's', valueType: ValueType.DOUBLE },
  advice: { explicitBucketBoundaries: BUCKETS_S },
};

/** The attributes of spans and measurements. */
function attributesOf(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(labels).map(([label, value]) => [ATTRIBUTES[label] ?? label, value]),
  );
}

const ATTRIBUTES: Partial<Record<string, string>> = {
  ...{ connection: 'lock.connection', kind: 'lock.type', lock: 'lock.name' },
  ...{ client: 'lock.client', host: 'host.name', pid: 'process.pid' },
};

/** The instruments, and the spans, of all locks in one process. */
export class LockInstruments implements LockListener<Span> {
  readonly #acquisitions: Histogram;
  readonly #holds: Histogram;
  readonly #waiting: UpDownCounter;
  readonly #held: UpDownCounter;
  readonly #info: UpDownCounter;
  readonly #counters = new Map<EventType, Counter>();

  constructor(
    meter: Meter,
    private readonly tracer: Tracer,
    private readonly recordNames: boolean,
  ) {
    const seconds = (name: string, description: string) =>
      meter.createHistogram(`redis_lock.${name}.duration`, { ...SECONDS, description });
    const upDown = (name: string, unit: string, description: string) =>
      meter.createUpDownCounter(`redis_lock.${name}`, { unit, description });
    this.#acquisitions = seconds('acquire', 'How long calls waited, by their outcome');
    this.#holds = seconds('hold', 'How long locks were held');
    this.#waiting = upDown('waiting', '{call}', 'Calls that still wait');
    this.#held = upDown('held', '{lock}', 'Locks that are held');
    this.#info = upDown('info', '{client}', 'The process whose owners begin with the client');
    for (const [type, [name, unit, description]] of Object.entries(COUNTED)) {
      const counter = meter.createCounter(`redis_lock.${name}`, { unit, description });
      this.#counters.set(type as EventType, counter);
    }
  }

  asked(labels: LockLabels, name: string): Span {
    this.#waiting.add(1, attributesOf(labels));
    const key = this.recordNames ? { 'lock.key': name } : {};
    const attributes = { ...attributesOf(labels), ...key };
    return this.tracer.startSpan(`lock.acquire ${labels.lock}`, { attributes });
  }

  answered(span: Span, labels: LockLabels, { outcome, waitedMs, error }: LockAcquisition): void {
    const attributes = attributesOf(labels);
    this.#waiting.add(-1, attributes);
    this.#acquisitions.record(waitedMs / 1_000, { ...attributes, outcome });
    span.setAttribute('outcome', outcome);
    if (error !== undefined && outcome !== 'aborted') {
      // Messages contain the name of the lock.
      const code = error instanceof LockError ? error.code : '_OTHER';
      span.setAttribute('error.type', code);
      span.setStatus({ code: SpanStatusCode.ERROR, message: code });
    }
    span.end();
  }

  held(labels: LockLabels, change: 1 | -1): void {
    this.#held.add(change, attributesOf(labels));
  }

  happened(event: LockEventMessage): void {
    const [count, labels] = countOf(event);
    this.#counters.get(event.type)?.add(count, attributesOf(labels));
    if (event.type === 'opened') {
      const { connection, host, pid } = event;
      for (const client of event.clients) {
        this.#info.add(1, attributesOf({ connection, client, host, pid: String(pid) }));
      }
    }
    if ('heldMs' in event) this.#holds.record(event.heldMs / 1_000, attributesOf(labelsOf(event)));
  }
}
