import type { LeaseLostError } from './errors.js';

/** The kinds of things that callers wait for or hold. */
export type LockKind =
  'lock' | 'fair' | 'read' | 'write' | 'red' | 'semaphore' | 'counting-semaphore' | 'latch';

/** The subject of an event. */
export interface LockSubject {
  /** The lock's name, as the caller wrote it. It may contain text of users. */
  readonly name: string;
  readonly kind: LockKind;
  /** The option `label` of the call: one of few texts, such as the key template of `@WithLock`. */
  readonly label?: string | undefined;
}

/**
 * The events of locks, for logs and metrics. No event carries an owner id but `force-released`: an audit
 * needs the holder, which holds nothing any more.
 */
export type LockEvent =
  | (LockSubject & {
      readonly type: 'acquired';
      readonly waitedMs: number;
      readonly holdCount: number;
    })
  /**
   * A caller has been waiting for more than a second; sent once for each wait. `error`: it waits
   * because Redis cannot be asked, and not for another holder or for a latch to open. `unset`: nobody
   * has set the permits of the semaphore.
   */
  | (LockSubject & {
      readonly type: 'waiting';
      readonly waitedMs: number;
      readonly error?: unknown;
      readonly blockedBy?: 'unset';
    })
  | (LockSubject & { readonly type: 'timed-out'; readonly waitedMs: number })
  /**
   * The last lease of its owner was released. `unknown`: the connection was cut, and Redis no
   * longer knew the owner. `failed`: Redis could not be asked, and the lock expires. A hold ends
   * with this event or with `lost`, once.
   */
  | (LockSubject & {
      readonly type: 'released';
      readonly outcome: 'done' | 'unknown' | 'failed';
      readonly heldMs: number;
    })
  /** `leased`: an unreleased hold expires; without it, only an operator can free it. */
  | (LockSubject & {
      readonly type: 'release-failed';
      readonly leased: boolean;
      readonly error: unknown;
    })
  /** The lock is free, but the wake-up was not sent: the waiters find it by polling. */
  | (LockSubject & { readonly type: 'wake-up-failed' })
  | (LockSubject & { readonly type: 'suspect'; readonly error: unknown })
  /** A suspect lease was confirmed again. */
  | (LockSubject & { readonly type: 'recovered' })
  | (LockSubject & {
      readonly type: 'lost';
      readonly reason: LeaseLostError['reason'];
      readonly heldMs: number;
      /** The error that its holder gets, with all that is known about the loss. */
      readonly error: LeaseLostError;
    })
  /** A grant arrived after its caller had given up, and was given back. */
  | (LockSubject & { readonly type: 'late-grant' })
  /**
   * `forceRelease` has taken it away from these holders. `remainingMs`: the rest of their longest lease
   * at that moment, `Infinity` without an end. `reason`: the text of the caller.
   */
  | (LockSubject & {
      readonly type: 'force-released';
      readonly holders: readonly { readonly owner: string; readonly holdCount: number }[];
      readonly remainingMs: number;
      readonly reason?: string;
    })
  /** One renewal script went through for this many leases, or failed. */
  | { readonly type: 'renewed'; readonly leases: number }
  | { readonly type: 'renewal-failed'; readonly leases: number; readonly error: unknown }
  /**
   * Redis cannot be reached by a connection that this library opened, or refuses the database of
   * any connection; sent once for each outage.
   */
  | { readonly type: 'connection-failed'; readonly error: unknown }
  /** The outage of `connection-failed` is over, as the next attempt has shown. */
  | { readonly type: 'connection-restored' }
  /** Wake-up messages cannot be received; waiting goes on by polling. */
  | { readonly type: 'messages-failed'; readonly error: unknown }
  /** The set-up works, with a weaker guarantee than it seems to give. */
  | { readonly type: 'warning'; readonly message: string };

/** Gets every event. An error or rejection of it never reaches a caller of the lock. */
export interface LockObserver {
  observe(event: LockEvent): unknown;
}

/** Delivers events; a broken observer must not break the lock. */
export function tell(observer: LockObserver | undefined, event: LockEvent): void {
  if (observer === undefined) return;
  try {
    // A rejection of an observer has no receiver.
    const told = observer.observe(event);
    if (typeof told === 'object') Promise.resolve(told).catch(() => undefined);
  } catch {
    // As above.
  }
}
