import type { Script } from './script.js';

/** After this time without an answer, Redis owes one. */
export const ANSWER_MS = 1_000;
/** Slots of a Cluster often move one after the other: 10 s are assumed after each. */
export const MOVING_MS = 10_000;

/** An answer of Redis, and how far it can be trusted. */
export interface Reply<R> {
  readonly value: R;
  /** When the first byte of the request may have left, by the monotonic clock. */
  readonly sentAt: number;
  /** The connection broke meanwhile, so that the script may have run more than once. */
  readonly resent: boolean;
}

/** The place of a key. Keys of one slot may share a script; nodes fail one by one. */
export interface KeyPlace {
  readonly node: string;
  readonly slot: number;
}

export interface ChannelListener {
  /** A message arrived. It is a hint: its receiver asks Redis before it acts. */
  message(payload: string): void;
  /** From now on no message is missed, until the connection breaks. Earlier ones may have been. */
  confirmed(): void;
  /** The subscription ended with its connection: messages are missed until the next `confirmed`. */
  lost?(): void;
}

/** The port to Redis: everything that locks ask of a client. */
export interface RedisConnection {
  /** Whether commands can be sent, as far as the client knows. */
  readonly isUp: boolean;
  /** Rises before anything is sent: while it is the same, a script that was run is not sent yet. */
  readonly sendCount?: number | undefined;
  /** Whether messages of all channels arrive; absent where messages cannot fail. */
  readonly isHearing?: boolean;

  /**
   * Runs one script. Rejects at once, without sending anything, while the connection is down.
   * @param minReplicas resolves only when this number of replicas has the writes of the script
   * @throws {LockBackendError} Redis could not be asked, or refused
   * @throws {LockReplicationError} too few replicas have it
   * @throws {LockStateError} a key holds another type
   */
  run<K extends string, A extends string, R>(
    script: Script<K, A, R>,
    keys: readonly string[],
    args: readonly (string | number)[],
    minReplicas?: number,
  ): Promise<Reply<R>>;

  /** Listens on a channel until the returned function is called; survives reconnects by itself. */
  listen(channel: string, listener: ChannelListener): () => void;

  /** Calls back every time commands can be sent again; the returned function ends it. */
  onUp(listener: () => void): () => void;

  place(key: string): KeyPlace;

  /** Closes the clients that this connection opened, and no other. */
  close(): Promise<void>;
}
