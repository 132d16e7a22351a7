import type { LeaseLostReason } from './errors.js';

/** What somebody waits for or holds. */
export type LockedKind =
  'lock' | 'fair' | 'read' | 'write' | 'red' | 'semaphore' | 'counting-semaphore' | 'latch';

/** What an event is about. */
export interface Subject {
  /** The lock's name, as the caller wrote it. It may hold what users have typed. */
  readonly name: string;
  readonly kind: LockedKind;
  /** The option `label` of the call: one of few texts, such as the key template of `@WithLock`. */
  readonly label?: string | undefined;
}

/** What happens to locks, for logs and metrics. No event carries an owner id. */
export type LockEvent =
  | (Subject & {
      readonly type: 'acquired';
      readonly waitedMs: number;
      readonly holdCount: number;
    })
  /**
   * A caller has been waiting for more than a second; sent once for each wait. `error`: it waits
   * because Redis cannot be asked, and not for another holder or for a latch to open.
   */
  | (Subject & { readonly type: 'waiting'; readonly waitedMs: number; readonly error?: unknown })
  | (Subject & { readonly type: 'timed-out'; readonly waitedMs: number })
  /**
   * The last lease of its owner was given back. `unknown`: the connection was cut, and Redis no longer
   * knew the owner. `failed`: Redis could not be told, and it ends with its lease. A hold ends with
   * this or with `lost`, once.
   */
  | (Subject & {
      readonly type: 'released';
      readonly outcome: 'done' | 'unknown' | 'failed';
      readonly heldMs: number;
    })
  /** `leased`: what is still held ends with its lease; otherwise nothing but a person sets it right. */
  | (Subject & {
      readonly type: 'release-failed';
      readonly leased: boolean;
      readonly error: unknown;
    })
  /** The lock is free, but its waiters were not told: they find out by polling. */
  | (Subject & { readonly type: 'wake-up-failed' })
  | (Subject & { readonly type: 'suspect'; readonly error: unknown })
  /** A suspect lease was confirmed again. */
  | (Subject & { readonly type: 'recovered' })
  | (Subject & {
      readonly type: 'lost';
      readonly reason: LeaseLostReason;
      readonly heldMs: number;
    })
  /** A grant arrived after its caller had given up, and was given back. */
  | (Subject & { readonly type: 'late-grant' })
  | (Subject & { readonly type: 'force-released' })
  /** One renewal script went through for this many leases, or failed. */
  | { readonly type: 'renewed'; readonly leases: number }
  | { readonly type: 'renewal-failed'; readonly leases: number; readonly error: unknown }
  /**
   * Redis cannot be reached by a connection that this library opened, or refuses the database of any;
   * sent once for each outage.
   */
  | { readonly type: 'connection-failed'; readonly error: unknown }
  /** The outage that `connection-failed` told of is over, as the next attempt has shown. */
  | { readonly type: 'connection-restored' }
  /** Wake-up messages cannot be received; waiting goes on by polling. */
  | { readonly type: 'messages-failed'; readonly error: unknown }
  /** The set-up works, and gives less than it seems to. */
  | { readonly type: 'warning'; readonly message: string };

/** Hears of every event. What it throws, or rejects with, never reaches a caller of the lock. */
export interface LockObserver {
  observe(event: LockEvent): unknown;
}

/** Delivers events; a broken observer must not break the lock. */
export function tell(observer: LockObserver | undefined, event: LockEvent): void {
  if (observer === undefined) return;
  try {
    // An observer that fails, now or later, has nobody to complain to.
    const told = observer.observe(event);
    if (typeof told === 'object') Promise.resolve(told).catch(() => undefined);
  } catch {
    // As above.
  }
}
