/** The shape of `inspect --json`. Every time is in milliseconds. */
export interface Inspection {
  /** The server, or the Cluster. */
  readonly node: string;
  readonly key: string;
  readonly kind: Kind;
  /** The Redis type of the key; `none` when it is absent. */
  readonly type: string;
  /** The rest of the key's TTL; null when it is absent or has no end. */
  readonly ttlMs: number | null;
  readonly holders: readonly Holder[];
  /** For a read-write lock. */
  readonly mode?: 'read' | 'write';
  /** For a semaphore whose permits are leases. */
  readonly permits?: Permits;
  /** For a counting semaphore, a latch, or a semaphore without permits in use. */
  readonly count?: number;
  readonly token?: Token;
  /** The waiters, in the order in which they are served; without empty queues. */
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
  /** The hold count; 0 was handed the lock, and has yet to acquire it. */
  readonly count: number;
  readonly side?: 'read' | 'write';
  /** The rest of this hold alone, for a reader; null when it is over. */
  readonly ttlMs?: number | null;
}

export interface Permits {
  /** Null when the number was never set. */
  readonly available: number | null;
  readonly used: number;
  /** Used permits whose lease is over: the next caller gets them. */
  readonly expired: number;
  /** The leases that end first; null never ends. */
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
  /** The first waiters. */
  readonly waiters: readonly Waiter[];
}

export interface Waiter {
  /** Begins with 1. */
  readonly position: number;
  /** An owner, or the client id of a process. */
  readonly who: string;
  readonly waitedMs?: number;
  /** After this time without a sign of life, it is passed over or forgotten. */
  readonly forgottenInMs?: number;
}
