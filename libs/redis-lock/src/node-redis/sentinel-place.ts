import type { Route } from '../connection/client.js';
import { within } from '../connection/within.js';
import { systemClock } from '../core/time/clock.js';
import type { Place } from './node-redis-node.js';
import { QUICK, type RedisClient, type RedisOptions, type Target } from './own-client.js';

/** The part of a sentinel client of node-redis that this adapter uses. */
export interface RedisSentinel {
  readonly isOpen: boolean;
  connect(): Promise<unknown>;
  destroy(): Promise<void>;
  /** Not in version 5. */
  duplicate?(overrides: object): RedisSentinel;
  getMasterNode(): { readonly host: string; readonly port: number } | undefined;
  /** Hands out the client of the present master. */
  _execute(
    isReadonly: boolean,
    work: (client: RedisClient) => Promise<RedisClient>,
  ): Promise<RedisClient>;
  on(event: string, listener: (detail: never) => void): unknown;
  off(event: string, listener: (detail: never) => void): unknown;
}

interface TopologyChange {
  readonly type: string;
  readonly node: { readonly host: string; readonly port: number };
}

/** node-redis may miss a message of a sentinel whose connection is silent. */
const LOOK_MS = 5_000;
const PING_MS = 1_000;
/** Longer than an attempt at a sentinel that is silent. */
const SEARCH_MS = 5_000;

/** For a sentinel client of our own. */
export function quick({ socket, ...options }: RedisOptions = {}, limits: object = QUICK) {
  return { ...options, pingInterval: PING_MS, socket: { ...socket, ...limits } };
}

/** Options for a sentinel client of our own. */
export const OF_SENTINEL = {
  ...{ masterPoolSize: 1, replicaPoolSize: 0, reserveClient: false },
  // A search that gives up is an unhandled rejection in version 5.
  ...{ scanInterval: LOOK_MS, maxCommandRediscovers: Infinity },
  ...{ clientSideCache: undefined, commandOptions: undefined },
  // As the cause of an error, what is wrong with the master.
  passthroughClientErrorEvents: true,
};

/**
 * The present master of sentinels. Nothing is sent through the sentinel client: it would repeat a
 * script silently, also on another master.
 */
export class SentinelPlace implements Place {
  readonly topology = 'sentinel';
  known: Target | undefined;
  #opening: Promise<unknown> | undefined;
  #search: Promise<Target> | undefined;
  #client: RedisClient | undefined;
  #hasMoved = false;
  #leave = (): void => undefined;

  /** @param isOurs it is not of the application, which connects and ends its own */
  constructor(
    private readonly sentinel: RedisSentinel,
    readonly route: Route,
    private readonly isOurs: boolean,
  ) {}

  /** node-redis says nothing while sentinels know no master that answers. It goes on searching. */
  async find(): Promise<Target> {
    this.#search ??= this.#find().finally(() => {
      this.#search = undefined;
    });
    const found = await within(SEARCH_MS, this.#search, systemClock);
    if (found === undefined) throw new Error('The sentinels have led to no master within 5 s');
    return found;
  }

  async #find(): Promise<Target> {
    const { sentinel } = this;
    if (this.isOurs) await (this.#opening ??= sentinel.connect());
    // Before the application connects it, and after it has ended it.
    if (sentinel.isOpen) {
      this.#client ??= await sentinel._execute(false, (client) => Promise.resolve(client));
      const at = sentinel.getMasterNode();
      // The old master may still answer.
      if (at === undefined && this.#hasMoved) throw new Error('The new master is not ready yet');
      this.#hasMoved = false;
      if (at !== undefined) this.known = { client: this.#client, at };
    }
    if (this.known === undefined)
      throw new Error('The sentinel client is not connected, or knows no master');
    return this.known;
  }

  follow(moved: () => void, failed: (error: unknown) => void): void {
    const { sentinel } = this;
    const onChange = ({ type, node }: TopologyChange) => {
      const { host, port } = this.known?.at ?? {};
      // Also when it has the same master again.
      const isSame = node.host === host && node.port === port;
      if (type !== 'MASTER_CHANGE' || isSame) return;
      this.#hasMoved = true;
      moved();
    };
    const onError = (error: { readonly cause?: unknown }) => {
      failed(error.cause ?? error);
    };
    sentinel.on('error', onError);
    sentinel.on('topology-change', onChange);
    this.#leave = () => {
      sentinel.off('topology-change', onChange);
      // An error of ours without a listener would end the process.
      if (!this.isOurs) sentinel.off('error', onError);
    };
  }

  close(): void {
    this.#leave();
    // Before its first use it is not open.
    if (this.#opening !== undefined) void this.sentinel.destroy().catch(() => undefined);
  }
}
