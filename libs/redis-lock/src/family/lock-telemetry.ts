import { subscribe, unsubscribe } from 'node:diagnostics_channel';

import type { LockAcquisitionMessage } from '../core/trace.js';
import type { LockKind, LockSubject } from '../core/api/observer.js';
import type { LockEventMessage } from './event-channel.js';

/** The labels of measurements. Each has few values, and none comes from a visitor. */
// Not an interface: other packages need a record of texts.
export type LockLabels = {
  readonly connection: string;
  readonly kind: LockKind;
  /** The `label` of the call, such as the key template of `@WithLock`. */
  readonly lock: string;
};

/** The outcome of one call for a lock. */
export type LockAcquisition = Required<Pick<LockAcquisitionMessage, 'outcome' | 'waitedMs'>> & {
  /** The error that the call rejected with. */
  readonly error?: unknown;
};

/** Receives the events of the locks of all connections in this process. */
export interface LockListener<Call> {
  /** A caller wants a lock; this runs in its context. `answered` receives the returned value. */
  asked(labels: LockLabels, name: string): Call;
  answered(call: Call, labels: LockLabels, acquisition: LockAcquisition): void;
  /** One hold more, or one fewer. */
  held(labels: LockLabels, change: 1 | -1): void;
  happened(event: LockEventMessage): void;
}

/** For histograms of seconds: from a free lock on a near server to the longest sensible wait. */
export const BUCKETS_S = [
  ...[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
];

/** The label of locks without a label: lock names are too many, and may be secret. */
const UNLABELLED = '(none)';

type Message = LockAcquisitionMessage & { readonly error?: unknown };

/**
 * Listens until the returned function is called. An error of a listener is dropped: Node would end
 * the process.
 */
export function listenToLocks<Call>(listener: LockListener<Call>): () => void {
  const changeOf = holdChanges();
  const calls = new WeakMap<object, Call>();
  const start = quietly((message: Message) => {
    calls.set(message, listener.asked(labelsOf(message), message.name));
  });
  const asyncEnd = quietly((message: Message) => {
    const { outcome, waitedMs } = message;
    // A call that began before this listener has only an end here.
    const isOurs = calls.has(message);
    if (!isOurs || outcome === undefined || waitedMs === undefined) return;
    const acquisition = { outcome, waitedMs, error: message.error };
    listener.answered(calls.get(message) as Call, labelsOf(message), acquisition);
  });
  const onEvent = quietly((event: LockEventMessage) => {
    listener.happened(event);
    const change = changeOf(event);
    if (change !== 0 && 'name' in event) listener.held(labelsOf(event), change);
  });
  const listeners = [
    ['tracing:nestjs-redis-lock:acquire:start', start],
    ['tracing:nestjs-redis-lock:acquire:asyncEnd', asyncEnd],
    ['nestjs-redis-lock:event', onEvent],
  ] as const;
  for (const [channel, hear] of listeners) subscribe(channel, hear);
  return () => {
    for (const [channel, hear] of listeners) unsubscribe(channel, hear);
  };
}

/** The count of an event and its labels. */
export function countOf(event: LockEventMessage): [count: number, labels: Record<string, string>] {
  const { connection } = event;
  const of = 'name' in event ? labelsOf(event) : { connection };
  const labels = 'reason' in event ? { ...of, reason: event.reason } : of;
  return ['leases' in event ? event.leases : 1, labels];
}

export function labelsOf({
  connection,
  kind,
  label,
}: LockSubject & { connection: string }): LockLabels {
  return { connection, kind, lock: label ?? UNLABELLED };
}

/** Ignores nested acquisitions, and the end of a hold that began before. */
function holdChanges(): (event: LockEventMessage) => 1 | -1 | 0 {
  const begun = new Map<string, number>();
  return (event) => {
    const isBegin = event.type === 'acquired' && event.holdCount === 1;
    if (!isBegin && event.type !== 'released' && event.type !== 'lost') return 0;
    const key = JSON.stringify([event.connection, event.kind, event.name]);
    const change = isBegin ? 1 : -1;
    const count = (begun.get(key) ?? 0) + change;
    if (count > 0) begun.set(key, count);
    else begun.delete(key);
    return count < 0 ? 0 : change;
  };
}

function quietly(listen: (message: never) => void): (message: unknown) => void {
  return (message) => {
    try {
      listen(message as never);
    } catch {
      // No caller can receive an error here.
    }
  };
}
