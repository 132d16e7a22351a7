/** The shape of `inspect --json`. Every time is in milliseconds. */
export interface Inspection {
  /** The server, or the Cluster. */
  readonly node: string;
  readonly key: string;
  readonly kind: Kind;
  /** The Redis type of the key; `none` when it is absent. */
  readonly type: string;
  /** What is left of the key; null when it is absent or has no end. */
  readonly ttlMs: number | null;
  readonly holders: readonly Holder[];
  /** Of a read-write lock. */
  readonly mode?: 'read' | 'write';
  /** Of a semaphore whose permits are leases. */
  readonly permits?: Permits;
  /** Of a counting semaphore, of a latch, or of a semaphore of which nothing is in use. */
  readonly count?: number;
  readonly token?: Token;
  /** Who waits, by the order in which they are served; without those that are empty. */
  readonly queues: readonly Queue[];
}

/** `unknown`: the key holds something that is no lock. */
export type Kind =
  'free' | 'lock' | 'fair lock' | 'read-write lock' | 'semaphore' | 'count' | 'unknown';

export interface Holder {
  /** `<client>:<number>`. */
  readonly owner: string;
  readonly client: string;
  readonly number: string;
  /** How often it has the lock; 0 was handed the lock, and has yet to enter. */
  readonly count: number;
  readonly side?: 'read' | 'write';
  /** What is left of this hold alone, of a reader; null when it is over. */
  readonly ttlMs?: number | null;
}

export interface Permits {
  /** Null when nobody has set how many there are. */
  readonly available: number | null;
  readonly used: number;
  /** Of the used ones, those whose lease is over: the next one who asks gets them. */
  readonly expired: number;
  /** Those that end first; null never ends. */
  readonly leases: readonly { readonly id: string; readonly ttlMs: number | null }[];
}

export interface Token {
  readonly key: string;
  readonly value: string;
  readonly ttlMs: number | null;
}

export interface Queue {
  readonly what:
    | 'fair queue'
    | 'line of processes'
    | 'line of writing processes'
    | 'writers'
    | 'readers'
    | 'readers whose turn it is'
    | 'a request for several permits';
  readonly key: string;
  readonly length: number;
  /** The first of them. */
  readonly waiters: readonly Waiter[];
}

export interface Waiter {
  /** From 1. */
  readonly position: number;
  /** An owner, or the client id of a process. */
  readonly who: string;
  readonly waitedMs?: number;
  /** After so long without a sign of it, it is passed over or forgotten. */
  readonly forgottenInMs?: number;
}
