/**
 * The part of a Redis client that locks need. `ioredis/` has it for ioredis and iovalkey, and
 * `node-redis/` for node-redis. Words of commands are those of Redis, and a client sends them as
 * they are.
 */
export type Client = NodeClient | ClusterClient;

export type Word = string | number;
/** A script or its digest, the number of keys, the keys and the arguments. */
export type Evaluated = [script: string, keyCount: number, ...words: Word[]];

/** Receives the answer of Redis to what was sent, or the error of the command. */
export interface AnswerListener<Sent> {
  answered(sent: Sent, raw: unknown): void;
  failed(sent: Sent, error: unknown): void;
}

export interface ClientEvents {
  /** A socket is open. The server has not accepted the client yet. */
  connected: [];
  ready: [];
  /** A connection broke, in a Cluster that to any node. Its commands may have been executed. */
  broken: [];
  failed: [error: unknown];
  /** The client opens no more connections. */
  ended: [];
  /** A node only: a message of a channel. */
  message: [channel: string, payload: string];
  /** A node only: it has removed a sharded channel, or another node has it. */
  astray: [];
  /** A Cluster only: the client has read which node has which slots. */
  refreshed: [];
}

/** The client has not sent the command. The cause says why it has no connection. */
export class NotSentError extends Error {}

/** `arriving`: connected, but not ready. `away`: it connects, now or after a pause. */
export type ClientStatus = 'idle' | 'arriving' | 'ready' | 'away' | 'ended';

/** The way to the servers, by the options of the client. */
export interface Route {
  readonly hosts: readonly string[];
  /** Empty for the default user. */
  readonly user: string;
  readonly hasPassword: boolean;
  readonly isEncrypted: boolean;
}

interface AnyClient {
  readonly status: ClientStatus;
  /** The same as the status `ready`, at less cost. */
  readonly isReady: boolean;
  /** Whether it opens a new connection after its own broke. */
  readonly reconnects: boolean;
  /** How its user makes it reconnect, as the end of a sentence. */
  readonly remedy: string;
  /** Whether it reads INFO before it is ready. Otherwise its user may lack that right. */
  readonly readsInfo: boolean;
  /** Whether it writes only at the next turn of the event loop, as far as it is known by now. */
  readonly writesLate?: boolean;
  readonly route: Route;

  /** Connects an idle client. Resolves when it is ready. */
  connect(): Promise<void>;
  /** Ends the client at once. A second call does nothing. */
  end(): void;
  on<Event extends keyof ClientEvents>(event: Event, listener: Listener<Event>): void;
  off<Event extends keyof ClientEvents>(event: Event, listener: Listener<Event>): void;

  /** Sends a command. A Cluster sends it to any node. */
  send(command: string, ...words: Word[]): Promise<unknown>;
  /** Sends a script to the node of its keys. */
  evaluate(command: 'eval' | 'evalsha', words: Evaluated): Promise<unknown>;
  /** As `evaluate` by the digest, without a promise. A client without this method has no such way. */
  evaluateFor?<Sent>(words: Evaluated, sent: Sent, listener: AnswerListener<Sent>): void;
}

export type Listener<Event extends keyof ClientEvents> = (...details: ClientEvents[Event]) => void;

/** The use of a second connection. */
export type Purpose = 'messages' | 'replicas' | 'probe';
export type ChannelKind = 'plain' | 'sharded';

/** A client of one server, or of the present master of sentinels. */
export interface NodeClient extends AnyClient {
  readonly topology: 'server' | 'sentinel';
  /** Host and port, by which a Cluster knows its nodes. */
  readonly address: string;
  readonly isReplica: boolean;
  /** The last choice of the client. */
  readonly database: number;
  /** Whether it ends a silent connection itself. */
  readonly endsSilence: boolean;
  /** Undefined while nothing waits for an answer, or without a connection. */
  readonly traffic: Traffic | undefined;

  select(database: number): Promise<unknown>;
  /** Ends the connection, and opens another one. */
  reconnect(): void;
  /** Destroys a silent connection, whose end the server would never confirm. */
  cutOff(reason: string): void;
  subscribe(kind: ChannelKind, channels: readonly string[]): Promise<unknown>;
  unsubscribe(kind: ChannelKind, channels: readonly string[]): Promise<unknown>;
  /** An idle client to the same server. It connects once, within 3 s, and never again. */
  another(purpose: Purpose): NodeClient;
}

/** A connection that owes answers. */
export interface Traffic {
  readonly connection: unknown;
  /** Grows with all that arrives. */
  readonly received: number;
  readonly pending: number;
  /** Undefined if the client does not know it. */
  readonly first: { readonly name: string; readonly args: readonly unknown[] } | undefined;
}

export interface ClusterClient extends AnyClient {
  readonly topology: 'cluster';
  /** The address of the master of a slot; undefined if there is none. */
  masterOf(slot: number): string | undefined;
  nodes(role: 'all' | 'master'): readonly NodeClient[];
  /** Reads which node has which slots. Never rejects. */
  refresh(): Promise<void>;
}

export function isCluster(client: Client): client is ClusterClient {
  return client.topology === 'cluster';
}

export function mastersOf(client: Client): readonly NodeClient[] {
  return isCluster(client) ? client.nodes('master') : [client];
}

export function nodeAt(
  cluster: ClusterClient,
  role: 'all' | 'master',
  address: string,
): NodeClient | undefined {
  return cluster.nodes(role).find((node) => node.address === address);
}

/** The pauses are short: waiters go on as soon as Redis is back. */
export const reconnectDelayMs = (attempt: number) => Math.min(50 * 2 ** (attempt - 1), 500);

/** A client, and whether this library opened it, and so has to end it. */
export interface ClientChoice {
  readonly client: Client;
  readonly isOurs: boolean;
}
