import type { Cluster, Redis } from 'ioredis';

import { LockBackendError } from '../core/errors.js';
import { tell, type LockObserver } from '../core/observer.js';
import type {
  ChannelListener,
  KeyPlace,
  RedisConnection,
  Reply,
} from '../core/redis-connection.js';
import {
  callOf,
  type PublishMode,
  type Script,
  type ScriptArgs,
  type ScriptCall,
  type ScriptKeys,
} from '../core/script.js';
import { ClusterMessages } from './cluster-messages.js';
import { Database } from './database.js';
import { hashSlot } from './hash-slot.js';
import { publishOption } from './publish-option.js';
import { another, chooseClient, disconnect, isCluster } from './redis-client.js';
import { brokenError, isNoScript, lockErrorOf, noConnectionError } from './reply-error.js';
import { ReplicatedLines } from './replicated-lines.js';
import { Subscriber } from './subscriber.js';

const EVERYWHERE: KeyPlace = { node: '', slot: 0 };

/**
 * Redis through ioredis: one connection for commands, the caller's or our own, one for messages,
 * which is opened when somebody first waits, and one for what replicas must have. In a Cluster there
 * may be one of the latter two for each master.
 * @param publish how releases are announced in a Cluster
 * @throws {LockConfigurationError} the client cannot be used for locks
 */
export function openIoredisConnection(
  connection: unknown,
  observer?: LockObserver,
  publish?: unknown,
): RedisConnection {
  const prepared = prepareIoredisConnection(connection, observer, publish);
  prepared.open();
  return prepared;
}

/** As `openIoredisConnection`, but nothing is opened before `open` or the first script. */
export function prepareIoredisConnection(
  connection: unknown,
  observer?: LockObserver,
  publish: unknown = 'auto',
): IoredisConnection {
  const option = publishOption(publish);
  const { client, isOurs } = chooseClient(connection);
  const onTrouble = (error: unknown) => {
    tell(observer, { type: 'messages-failed', error });
  };
  const messages = isCluster(client)
    ? new ClusterMessages(client, option, onTrouble)
    : new Subscriber((overrides) => another(client, overrides), onTrouble);
  return new IoredisConnection(client, isOurs, messages, observer);
}

/** How releases are announced, and heard. */
interface Messages {
  readonly mode: PublishMode;
  listen(channel: string, listener: ChannelListener): () => void;
  close(): void;
}

export class IoredisConnection implements RedisConnection {
  readonly #upListeners = new Set<() => void>();
  readonly #replicated: ReplicatedLines;
  readonly #cluster: Cluster | undefined;
  /** A Cluster has only one. */
  readonly #database: Database | undefined;
  /** Counts the connections that broke: what was on its way then may have been sent twice. */
  #breaks = 0;
  /** Why our client is not connected, as far as it says so. */
  #trouble: unknown;
  #isOutageTold = false;
  #isClosed = false;

  constructor(
    private readonly client: Redis | Cluster,
    private readonly isOurs: boolean,
    private readonly messages: Messages,
    private readonly observer: LockObserver | undefined,
  ) {
    if (isCluster(client)) this.#cluster = client;
    else this.#database = this.#databaseOf(client);
    this.#replicated = new ReplicatedLines(client, () => this.#database?.number ?? 0);
    client.on('ready', this.#onReady);
    client.on('close', this.#onClose);
    this.#cluster?.on('+node', this.#watchNode);
    this.#cluster?.nodes('all').forEach(this.#watchNode);
    if (!isOurs) return;
    // ioredis prints the errors of a client that nobody listens to.
    client.on('error', this.#onError);
    client.on('end', this.#onEnd);
  }

  /** What the client was made for: one server, whichever Sentinel names, or a Cluster. */
  get topology(): 'server' | 'sentinel' | 'cluster' {
    if (isCluster(this.client)) return 'cluster';
    return this.client.options.sentinels ? 'sentinel' : 'server';
  }

  get isUp(): boolean {
    // ioredis goes on saying "ready" for a moment after a disconnect.
    return this.client.status === 'ready' && !(this.#isClosed && this.isOurs);
  }

  /** Begins to connect, if nobody has. */
  open(): void {
    if (!this.#isClosed && this.client.status === 'wait')
      this.client.connect().catch(() => undefined);
  }

  async run<K extends string, A extends string, R>(
    script: Script<K, A, R>,
    keys: ScriptKeys<K>,
    args: ScriptArgs<A>,
    minReplicas = 0,
  ): Promise<Reply<R>> {
    if (!this.isUp) {
      this.open();
      throw this.#notConnected();
    }
    if (this.#database?.isConfirmed === false) await this.#chosenDatabase(this.#database);
    const call = callOf(script, keys, args, this.messages.mode);
    if (minReplicas > 0) {
      const { raw, ...reply } = await this.#replicated.run(call, minReplicas);
      return { value: script.decode(raw), ...reply };
    }
    const breaks = this.#breaks;
    const sentAt = performance.now();
    const wasResent = () => this.#breaks !== breaks;
    let raw: unknown;
    try {
      raw = await this.#evaluate(call, wasResent);
    } catch (error) {
      throw this.#isAstray(wasResent()) ? brokenError() : error;
    }
    if (this.#isAstray(wasResent())) throw brokenError();
    return { value: script.decode(raw), sentAt, resent: wasResent() };
  }

  listen(channel: string, listener: ChannelListener): () => void {
    return this.messages.listen(channel, listener);
  }

  onUp(listener: () => void): () => void {
    this.#upListeners.add(listener);
    return () => {
      this.#upListeners.delete(listener);
    };
  }

  place(key: string): KeyPlace {
    if (this.#cluster === undefined) return EVERYWHERE;
    const slot = hashSlot(key);
    return { node: this.#cluster.slots[slot]?.[0] ?? '', slot };
  }

  close(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#isClosed = true;
    this.#upListeners.clear();
    this.messages.close();
    this.#replicated.close();
    this.client.off('ready', this.#onReady);
    this.client.off('close', this.#onClose);
    this.#cluster?.off('+node', this.#watchNode);
    this.#cluster?.nodes('all').forEach((node) => node.off('close', this.#onClose));
    if (this.isOurs) disconnect(this.client);
    return Promise.resolve();
  }

  /** EVALSHA; a server that has forgotten the script gets it with EVAL, which cannot be refused so. */
  async #evaluate(
    { lua, sha1, keys, args }: ScriptCall,
    wasResent: () => boolean,
  ): Promise<unknown> {
    try {
      return await this.client.evalsha(sha1, keys.length, ...keys, ...args);
    } catch (error) {
      if (!isNoScript(error)) throw lockErrorOf(error, wasResent());
    }
    try {
      return await this.client.eval(lua, keys.length, ...keys, ...args);
    } catch (error) {
      throw lockErrorOf(error, wasResent());
    }
  }

  #databaseOf(client: Redis): Database {
    return new Database(client, {
      confirmed: () => {
        this.#onUp();
      },
      refused: (error) => {
        this.#tellOutage(error);
      },
    });
  }

  async #chosenDatabase(database: Database): Promise<void> {
    await database.confirm();
    // The connection broke, or the caller has moved on.
    if (!database.isConfirmed) throw this.#notConnected();
  }

  /** ioredis sends again before anybody can ask for the database: the answer may be another one's. */
  #isAstray(wasResent: boolean): boolean {
    return wasResent && this.#database !== undefined && this.#database.number !== 0;
  }

  #onUp(): void {
    if (this.#isClosed) return;
    if (this.#isOutageTold) tell(this.observer, { type: 'connection-restored' });
    this.#isOutageTold = false;
    for (const listener of [...this.#upListeners]) listener();
  }

  readonly #onReady = (): void => {
    this.#trouble = undefined;
    // The database tells of a refusal itself.
    if (this.#database?.isConfirmed === false) this.#database.confirm().catch(() => undefined);
    else this.#onUp();
  };

  readonly #onError = (error: unknown): void => {
    this.#trouble = error;
    // One that breaks is most often back in a moment; if not, another error follows, or the end.
    if (this.client.status !== 'ready') this.#tellOutage(error);
  };

  readonly #onEnd = (): void => {
    this.#tellOutage(this.#trouble ?? this.#notConnected());
  };

  readonly #onClose = (): void => {
    this.#breaks++;
    this.#database?.forget();
  };

  readonly #watchNode = (node: Redis): void => {
    node.on('close', this.#onClose);
  };

  #tellOutage(error: unknown): void {
    if (this.#isClosed || this.#isOutageTold) return;
    this.#isOutageTold = true;
    tell(this.observer, { type: 'connection-failed', error });
  }

  #notConnected(): LockBackendError {
    if (this.#isClosed || this.client.status === 'end') {
      const over = { retryable: false, outcome: 'none' } as const;
      return new LockBackendError('the connection to Redis is closed', over);
    }
    return noConnectionError(this.#trouble);
  }
}
