/** The part of a client of node-redis that this adapter uses, alike in 5 and 6. */
export interface RedisClient {
  readonly isOpen: boolean;
  readonly isReady: boolean;
  readonly options?: RedisOptions | undefined;
  connect(): Promise<unknown>;
  destroy(): void;
  duplicate(overrides: object): RedisClient;
  sendCommand(words: readonly string[]): Promise<unknown>;
  subscribe(channels: readonly string[], listener: MessageListener): Promise<unknown>;
  sSubscribe(channels: readonly string[], listener: MessageListener): Promise<unknown>;
  unsubscribe(channels: readonly string[], listener: MessageListener): Promise<unknown>;
  sUnsubscribe(channels: readonly string[], listener: MessageListener): Promise<unknown>;
  on(event: string, listener: (...details: never[]) => void): unknown;
}

export interface RedisOptions {
  readonly url?: string | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly credentialsProvider?: unknown;
  readonly database?: number | undefined;
  readonly RESP?: 2 | 3 | undefined;
  readonly keyPrefix?: string | undefined;
  readonly readonly?: boolean | undefined;
  readonly socket?: SocketOptions | undefined;
}

export interface SocketOptions {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly path?: string | undefined;
  readonly tls?: boolean | undefined;
}

/** A client that is copied for each connection, and another server than its own. */
export interface Target {
  readonly client: RedisClient;
  readonly at?: Pick<SocketOptions, 'host' | 'port'> | undefined;
}

export type MessageListener = (payload: string, channel: string) => void;

const CONNECT_MS = 3_000;
/** For a client that only looks: node-redis would wait without a limit for a silent server. */
export const QUICK = { connectTimeout: CONNECT_MS, socketTimeout: CONNECT_MS } as const;
/** It would also wait without a limit for a server that is gone. */
export const ONCE = { ...QUICK, reconnectStrategy: false } as const;

/**
 * A client for locks alone, with the address and the credentials of another one. It connects once,
 * and rejects commands while it is not connected.
 * @param onOver called as soon as the connection is over, or could not be opened
 * @param signal ends the socket. node-redis forgets one that is not open yet, and keeps it
 */
export function ownClient(
  { client, at }: Target,
  onOver: (error: unknown) => void,
  signal: AbortSignal,
): RedisClient {
  const { options = {} } = client;
  return client.duplicate({
    // A url would win over the other options, which have its parts. The database is chosen later:
    // node-redis would not connect at all while Redis refuses it.
    ...{ url: undefined, database: 0 },
    // Version 5 would take RESP2, and a server that refuses every client for ready.
    RESP: options.RESP ?? 3,
    // node-redis sets a timer for each command that has a time limit.
    ...{ commandOptions: { timeout: undefined }, commandsQueueMaxLength: undefined },
    ...{ disableOfflineQueue: true, pingInterval: undefined },
    ...{ clientSideCache: undefined, emitInvalidate: undefined, keyPrefix: undefined },
    // From Redis 7.2 on this needs a right of its own.
    disableClientInfo: true,
    // Maintenance replaces the socket without an event.
    maintNotifications: 'disabled',
    socket: {
      ...{ ...options.socket, ...at, connectTimeout: CONNECT_MS, socketTimeout: undefined, signal },
      reconnectStrategy: (_: number, cause: unknown) => {
        onOver(cause);
        return false;
      },
    },
  });
}
