import type { LeaseLostError } from './errors.js';

/** The kinds of things that callers hold or wait for. */
export type LockKind =
  'lock' | 'fair' | 'read' | 'write' | 'red' | 'semaphore' | 'counting-semaphore' | 'latch';

/** The subject of an event. */
export interface LockSubject {
  /** The lock's name, as the caller wrote it. It may contain user input. */
  readonly name: string;
  readonly kind: LockKind;
  /** The option `label` of the call: one of few texts, such as the key template of `@WithLock`. */
  readonly label?: string | undefined;
}

/** A process of a client. */
export interface LockProcess {
  /** The name of its machine, container or pod. */
  readonly host: string;
  readonly pid: number;
}

/**
 * The events of locks, for logs and metrics. Only `force-released` carries owner ids: an audit
 * needs to know the former holder.
 */
export type LockEvent =
  /**
   * The locks of a connection can be used from now on. `clients`: the owners of this process begin
   * with such a text. Red locks have their own.
   */
  | ({ readonly type: 'opened'; readonly clients: readonly string[] } & LockProcess)
  | (LockSubject & {
      readonly type: 'acquired';
      readonly waitedMs: number;
      readonly holdCount: number;
    })
  /**
   * A caller has waited for more than a second; sent once for each wait. `error`: Redis does not
   * answer, so the caller waits for Redis and not for another holder. `unset`: the semaphore has no
   * permits yet.
   */
  | (LockSubject & {
      readonly type: 'waiting';
      readonly waitedMs: number;
      readonly error?: unknown;
      readonly blockedBy?: 'unset';
    })
  | (LockSubject & { readonly type: 'timed-out'; readonly waitedMs: number })
  /**
   * The owner has released its last lease. `unknown`: the connection was cut, and Redis no longer
   * stored the owner. `failed`: Redis did not answer, and the lock expires. Each hold ends with
   * either this event or `lost`, once.
   */
  | (LockSubject & {
      readonly type: 'released';
      readonly outcome: 'done' | 'unknown' | 'failed';
      readonly heldMs: number;
    })
  /**
   * `leased`: the hold that was not released will expire. Without it, only an operator can free it.
   */
  | (LockSubject & {
      readonly type: 'release-failed';
      readonly leased: boolean;
      readonly error: unknown;
    })
  /** The lock is free, but the wake-up message was not sent. The waiters find it by polling. */
  | (LockSubject & { readonly type: 'wake-up-failed' })
  | (LockSubject & { readonly type: 'suspect'; readonly error: unknown })
  /** A suspect lease was confirmed again. */
  | (LockSubject & { readonly type: 'recovered' })
  | (LockSubject & {
      readonly type: 'lost';
      readonly reason: LeaseLostError['reason'];
      readonly heldMs: number;
      /** The error that its holder receives, with all that is known about the loss. */
      readonly error: LeaseLostError;
    })
  /** A grant arrived after its caller stopped waiting, and was released. */
  | (LockSubject & { readonly type: 'late-grant' })
  /**
   * `forceRelease` took the lock away from these holders. `remainingMs`: the rest of their longest
   * lease at that moment, `Infinity` without a lease. `reason`: the text of the caller.
   */
  | (LockSubject & {
      readonly type: 'force-released';
      readonly holders: readonly {
        readonly owner: string;
        readonly holdCount: number;
        /** Absent if Redis does not know it. */
        readonly process?: LockProcess;
      }[];
      readonly remainingMs: number;
      readonly reason?: string;
    })
  /** One renewal script succeeded for this many leases, or failed. */
  | { readonly type: 'renewed'; readonly leases: number }
  | { readonly type: 'renewal-failed'; readonly leases: number; readonly error: unknown }
  /**
   * A connection that this library opened does not reach Redis, or Redis refuses the database of
   * any connection. Sent once for each outage.
   */
  | { readonly type: 'connection-failed'; readonly error: unknown }
  /** The outage of `connection-failed` is over: an attempt has succeeded. */
  | { readonly type: 'connection-restored' }
  /** Wake-up messages do not arrive. Waiters poll instead. */
  | { readonly type: 'messages-failed'; readonly error: unknown }
  /** The set-up works, but guarantees less than it seems to. */
  | { readonly type: 'warning'; readonly message: string };

/** Receives every event. Its errors and rejections never reach a caller of the lock. */
export interface LockObserver {
  observe(event: LockEvent): unknown;
}

/** An observer of ours, between a session and the observers of the application. */
export interface InnerObserver extends LockObserver {
  /** Whether it wants `acquired` and `released`, which every call causes. */
  readonly hearsCalls: boolean;
}

/** Whether a call has to make its events. Without a listener, that is a tenth of its work. */
export function hearsCalls(observer: LockObserver | undefined): boolean {
  return observer !== undefined && (observer as Partial<InnerObserver>).hearsCalls !== false;
}

/** Delivers an event. A broken observer must not break the lock. */
export function tell(observer: LockObserver | undefined, event: LockEvent): void {
  if (observer === undefined) return;
  try {
    // Nothing waits for an observer's promise.
    const told = observer.observe(event);
    if (typeof told === 'object') Promise.resolve(told).catch(() => undefined);
  } catch {
    // As above.
  }
}
