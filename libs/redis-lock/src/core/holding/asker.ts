import type { Reply } from '../redis/connection.js';
import type { AcquireAnswer, Claim, OwnerId } from './protocol.js';

/** Where waiters of a key hear what. */
export interface Channels {
  /** That they should try again. */
  readonly wakeUp: string;
  /** Nothing: a listener here tells outsiders from processes of ours. */
  readonly nodes?: string | undefined;
  /** That a waiter was handed the lock; the wake-up channel itself where each owner has its own. */
  readonly grants?: string | undefined;
}

/** A hold, permits without leases or a latch that a waiter waits for, and how Redis is asked for it. */
export interface Asker {
  readonly key: string;
  /** Waiters with the same id share a queue: the key, or the owner where each asks for itself. */
  readonly queueId: string;
  /** Each has an entry of its own in Redis' queue, and the first of a process asks for all of them. */
  readonly isLed?: boolean;
  /** How long nobody else gets in after a grant. */
  readonly leaseTimeMs: number;
  /** An attempt that is refused leaves something in Redis. */
  readonly leavesTrace?: boolean;
  /** A holder hands the lock over to its waiters. */
  readonly isHandedOver?: boolean;
  /** The owner that acquires, and how a grant becomes effective; undefined where nothing is held. */
  readonly owner?: OwnerId;
  readonly mode?: 'start' | 'enter';
  /** Computed when somebody has to wait. */
  channels(): Channels;
  /** Asks, always for the same owner or request, so that a repeated attempt is the same one. */
  ask(claim?: Claim): Promise<Reply<AcquireAnswer>>;
  /** The answer to `ask`, or to the script of another owner that named this one, has come. */
  answered?(): void;
  /** A script of another owner, which is on its way now, may make this one the next. */
  named?(): void;
  /** Gives back what an attempt got, or may still get, and takes away its trace. Never rejects. */
  cancel(): Promise<void>;
  /** Takes away the entry of another owner of this process, which waits no more. Never rejects. */
  cancelStray?(owner: OwnerId): Promise<void>;
}
