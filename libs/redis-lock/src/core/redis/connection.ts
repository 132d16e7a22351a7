import type { Script } from './script.js';

/** After this time, a missing answer counts as a failure. */
export const ANSWER_MS = 1_000;

/** An answer of Redis, and how far it can be trusted. */
export interface Reply<R> {
  readonly value: R;
  /** When the first byte of the request may have left, by the monotonic clock. */
  readonly sentAt: number;
  /** The connection broke meanwhile, so the script may have run more than once. */
  readonly resent: boolean;
}

/** The place of a key. Keys of one slot may share a script; nodes fail one by one. */
export interface KeyPlace {
  readonly node: string;
  readonly slot: number;
}

export interface ChannelListener {
  /** A message arrived: a hint, after which the receiver checks with Redis, or a grant. */
  message(payload: string): void;
  /** From now on no message is missed until the connection breaks. Earlier ones may have been. */
  confirmed(): void;
  /** The subscription ended with its connection. Messages are missed until the next `confirmed`. */
  lost?(): void;
}

/** The port to Redis: everything that locks need from a client. */
export interface RedisConnection {
  /** Whether commands can be sent, as far as the client knows. */
  readonly isUp: boolean;
  /**
   * Grows before anything is sent. While it stays the same, a script that was run is not sent yet.
   */
  readonly sendCount?: number | undefined;
  /** Whether messages of all channels arrive. Undefined if messages cannot fail. */
  readonly isHearing?: boolean;

  /**
   * Runs one script. While the connection is down, it rejects at once and sends nothing.
   * @param minReplicas resolves only when this many replicas have the writes of the script
   * @throws {LockBackendError} Redis did not answer, or refused
   * @throws {LockReplicationError} too few replicas confirmed it
   * @throws {LockStateError} a key holds another type
   */
  run<K extends string, A extends string, R>(
    script: Script<K, A, R>,
    keys: readonly string[],
    args: readonly (string | number)[],
    minReplicas?: number,
  ): Promise<Reply<R>>;

  /**
   * Sends at once what was run without replicas. Redis executes it even if the event loop stands
   * still from now on. Otherwise it is sent at the end of this turn of the event loop. A connection
   * without this method sends each script at once.
   */
  flush?(): void;

  /** Listens on a channel until the returned function is called. Survives reconnects by itself. */
  listen(channel: string, listener: ChannelListener): () => void;

  /** Calls back each time that commands can be sent again. The returned function ends this. */
  onUp(listener: () => void): () => void;

  place(key: string): KeyPlace;

  /**
   * Redis has refused a script because the slot of this key is moving, a moment ago. A connection
   * without this method has no slots.
   */
  isMoving?(key: string): boolean;

  /** Closes only the clients that this connection opened. */
  close(): Promise<void>;
}
