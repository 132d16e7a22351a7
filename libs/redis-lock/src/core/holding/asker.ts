import type { Reply } from '../redis/connection.js';
import type { AcquireAnswer, Claim, OwnerId } from './protocol.js';

/** The channels of a key's waiters. */
export interface Channels {
  /** Wake-ups: the lock may be free. */
  readonly wakeUp: string;
  /** No messages: its listeners are the processes that are no outsiders. */
  readonly nodes?: string | undefined;
  /** Grants; the wake-up channel where each owner has a channel of its own. */
  readonly grants?: string | undefined;
}

/** A hold, permits without leases, or a latch: what a waiter waits for, and the scripts that ask for it. */
export interface Asker {
  readonly key: string;
  /** Waiters with the same id share a queue: the key, or the owner where each asks for itself. */
  readonly queueId: string;
  /** Each has an entry of its own in Redis' queue, and the first of a process asks for all of them. */
  readonly isLed?: boolean;
  /** A grant keeps others out for this time. */
  readonly leaseTimeMs: number;
  /** The number of permits that an attempt sets where nobody has. */
  readonly capacity?: number | undefined;
  /** A refused attempt leaves an entry in Redis. */
  readonly leavesTrace?: boolean;
  /** A holder hands the lock over to its waiters. */
  readonly isHandedOver?: boolean;
  /** The owner that acquires, and how a grant becomes effective; undefined where nothing is held. */
  readonly owner?: OwnerId;
  readonly mode?: 'start' | 'enter';
  /** Computed when a waiter has to wait. */
  channels(): Channels;
  /** Asks, always for the same owner or request: a repeated attempt changes nothing. */
  ask(claim?: Claim): Promise<Reply<AcquireAnswer>>;
  /** The answer to `ask`, or to the release that named this one, has come. */
  answered?(): void;
  /** A release that is on its way may make this one the next owner. */
  named?(): void;
  /** Cancels what an attempt got, or may still get, and deletes its entry. Never rejects. */
  cancel(): Promise<void>;
  /** Deletes the entry of another owner of this process, which has left. Never rejects. */
  cancelStray?(owner: OwnerId): Promise<void>;
}
