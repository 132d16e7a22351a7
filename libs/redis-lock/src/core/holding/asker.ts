import type { Reply } from '../redis/connection.js';
import type { AcquireAnswer, Claim, OwnerId } from './protocol.js';

/** The channels of a key's waiters. */
export interface Channels {
  /** Wake-ups: the lock may be free. */
  readonly wakeUp: string;
  /** No messages. Its listeners are the processes that are no outsiders. */
  readonly nodes?: string | undefined;
  /** Grants. The same as the wake-up channel if each owner has its own channel. */
  readonly grants?: string | undefined;
}

/**
 * The subject of a wait, with the scripts that request it: a hold, permits without leases, or a
 * latch.
 */
export interface Asker {
  readonly key: string;
  /**
   * Waiters with the same id share a queue: the key, or the owner if each sends its own attempts.
   */
  readonly queueId: string;
  /**
   * Each waiter has its own entry in Redis' queue. The first of a process sends the attempts for
   * all.
   */
  readonly isLed?: boolean;
  /** A grant keeps others out for this time. */
  readonly leaseTimeMs: number;
  /** The number of permits that an attempt sets if they are not set. */
  readonly capacity?: number | undefined;
  /** A refused attempt leaves an entry in Redis. */
  readonly leavesTrace?: boolean;
  /** A holder hands the lock over to its waiters. */
  readonly isHandedOver?: boolean;
  /** The owner that acquires, and how a grant becomes effective. Undefined if nothing is held. */
  readonly owner?: OwnerId;
  /** The owner of an enclosing hold of another kind, which admits this one. */
  readonly companion?: OwnerId | undefined;
  readonly mode?: 'start' | 'enter';
  /** Computed when a waiter has to wait. */
  channels(): Channels;
  /** Sends an attempt, always for the same owner or request: a repeated attempt changes nothing. */
  ask(claim?: Claim): Promise<Reply<AcquireAnswer>>;
  /** Redis answered `ask`, or the release that named this one. */
  answered?(): void;
  /** A release that is on its way may make this one the next owner. */
  named?(): void;
  /**
   * Cancels what an attempt received, or may still receive, and deletes its entry. Never rejects.
   */
  cancel(): Promise<void>;
  /** Releases the grant of another owner of this process, which has left. Never rejects. */
  cancelStray?(owner: OwnerId): Promise<void>;
  /** Deletes the entries of owners of this process that no longer wait. Never rejects. */
  cancelStrays?(owners: readonly OwnerId[]): Promise<void>;
}
