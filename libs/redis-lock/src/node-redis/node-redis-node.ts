import {
  NotSentError,
  type ChannelKind,
  type Evaluated,
  type NodeClient,
  type Route,
  type Traffic,
  type Word,
} from '../connection/client.js';
import { Connection, type ConnectionListener } from './connection.js';
import type { Target } from './own-client.js';
import { Reconnecting } from './reconnecting.js';

/** Where a node connects to. */
export interface Place {
  readonly topology: 'server' | 'sentinel';
  readonly route: Route;
  /** The server as far as it is known by now. */
  readonly known: Target | undefined;
  /** Host and port by which a Cluster knows it. */
  readonly address?: string;
  /** The server for the next connection. */
  find(): Target | Promise<Target>;
  /** Calls back when another server has taken the place of the known one, or the search fails. */
  follow?(moved: () => void, failed: (error: unknown) => void): void;
  close?(): void;
}

/** One server over node-redis. A connection that broke is replaced by another one. */
export class NodeRedisNode extends Reconnecting implements NodeClient {
  readonly isReplica = false;
  readonly endsSilence = false;
  #connection: Connection | undefined;
  readonly #listener: ConnectionListener = {
    connected: () => {
      this.status = 'arriving';
      this.tell('connected');
    },
    ready: () => {
      this.becomeReady();
    },
    message: (payload, channel) => {
      this.tell('message', channel, payload);
    },
    astray: () => {
      this.tell('astray');
    },
    over: (error) => {
      this.#onOver(error);
    },
  };

  /** @param isOnce it does not connect again */
  constructor(
    private readonly place: Place,
    private readonly isOnce = false,
  ) {
    super();
    if (!isOnce) place.follow?.(this.reconnect.bind(this), this.onFailed);
  }

  get topology(): 'server' | 'sentinel' {
    return this.place.topology;
  }

  get route(): Route {
    return this.place.route;
  }

  get reconnects(): boolean {
    return !this.isOnce;
  }

  get address(): string {
    const { known, address } = this.place;
    if (address !== undefined) return address;
    const { client, at } = known ?? {};
    const { host = 'localhost', port = 6379 } = at ?? client?.options?.socket ?? {};
    return `${host}:${String(port)}`;
  }

  /** Each connection begins in database 0. */
  get database(): number {
    return this.place.known?.client.options?.database ?? 0;
  }

  get writesLate(): boolean {
    return this.#connection?.writesLate === true;
  }

  get traffic(): Traffic | undefined {
    return this.#connection?.traffic;
  }

  reconnect(): void {
    this.#connection?.end();
  }

  cutOff(reason: string): void {
    this.#connection?.end(new Error(reason));
  }

  send(command: string, ...words: Word[]): Promise<unknown> {
    return this.#over((connection) => connection.send([command, ...words.map(String)]));
  }

  evaluate(command: 'eval' | 'evalsha', words: Evaluated): Promise<unknown> {
    return this.send(command, ...words);
  }

  select(database: number): Promise<unknown> {
    return this.send('select', database);
  }

  subscribe(kind: ChannelKind, channels: readonly string[]): Promise<unknown> {
    return this.#over((connection) => connection.subscribe(kind, channels));
  }

  unsubscribe(kind: ChannelKind, channels: readonly string[]): Promise<unknown> {
    return this.#over((connection) => connection.unsubscribe(kind, channels));
  }

  another(): NodeRedisNode {
    return new NodeRedisNode(this.place, true);
  }

  protected override async attempt(): Promise<void> {
    try {
      const target = await this.place.find();
      if (this.hasEnded()) return;
      this.#connection = new Connection(target, this.#listener);
    } catch (error) {
      this.#onOver(error);
    }
  }

  protected override close(): void {
    this.#connection?.end();
    if (!this.isOnce) this.place.close?.();
  }

  #over<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    if (this.#connection !== undefined) return work(this.#connection);
    return Promise.reject(new NotSentError('The client is not connected'));
  }

  #onOver(error: unknown): void {
    const { status } = this;
    this.#connection = undefined;
    if (this.hasEnded()) return;
    this.becomeAway();
    // A call that is rejected after this counts as one whose connection broke.
    if (status !== 'away') this.tell('broken');
    // A connection that breaks is most often back in a moment.
    if (error !== undefined && status !== 'ready') this.onFailed(error);
    if (this.isOnce) this.end();
    else if (!this.hasEnded()) this.beginAgain();
  }
}
