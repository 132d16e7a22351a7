import { LockBackendError } from '../core/api/errors.js';
import type { LockObserver } from '../core/api/observer.js';
import { outOfScope, systemClock, type Clock } from '../core/time/clock.js';
import { systemRandom, type Random } from '../core/time/random.js';
import type {
  ChannelListener,
  KeyPlace,
  RedisConnection,
  Reply,
} from '../core/redis/connection.js';
import { textIn, type PublishMode, type Script, type ScriptCall } from '../core/redis/script.js';
import { watchOver, type AnswerWatch } from './answer-watch.js';
import { isCluster, type Client, type ClientChoice, type ClusterClient } from './client.js';
import { ClusterMessages } from './cluster-messages.js';
import { ConnectionEvents } from './connection-events.js';
import { Database } from './database.js';
import { hashSlot } from './hash-slot.js';
import type { PublishOption } from './publish-mode.js';
import { noConnectionError } from './reply-error.js';
import { ReplicatedConnections } from './replicated-connections.js';
import { ScriptBatches } from './script-batches.js';
import { ServerTrial } from './server-trial.js';
import { askServers, clientWarnings, runIdIn, warningsIn } from './set-up-warnings.js';
import { Subscriber } from './subscriber.js';

const EVERYWHERE: KeyPlace = { node: '', slot: 0 };
const NOBODY = Promise.resolve(undefined);
/** The pause between two tries to find the master, while there is none. */
const LEAVE_AGAIN_MS = 500;

/** The time and the chance of a process. */
export interface Surroundings {
  readonly clock?: Clock;
  readonly random?: Random;
}

/**
 * Redis over this client. Nothing is opened before `open` or the first script.
 * @param publish how releases are announced in a Cluster
 */
export function connectionOver(
  { client, isOurs }: ClientChoice,
  observer?: LockObserver,
  publish: PublishOption = 'auto',
  onEviction: 'warn' | 'refuse' = 'warn',
  { clock = systemClock, random = systemRandom }: Surroundings = {},
): ClientConnection {
  const events = new ConnectionEvents(observer);
  const onTrouble = events.messagesFailed.bind(events);
  const messages = isCluster(client)
    ? new ClusterMessages(client, publish, onTrouble, clock, random)
    : new Subscriber(() => client.another('messages'), onTrouble, clock);
  const warn = events.warn.bind(events);
  const trial = onEviction === 'refuse' ? new ServerTrial(client, warn, clock) : undefined;
  return new ClientConnection(client, isOurs, messages, events, clock, trial);
}

/** How releases are announced and received. */
interface Messages {
  readonly mode: PublishMode;
  readonly isHearing: boolean;
  listen(channel: string, listener: ChannelListener): () => void;
  /** Connects anew: the server may no longer be the right one. */
  renew?(): void;
  close(): void;
}

/**
 * Redis over a client, with up to three connections. Commands use the caller's connection or our
 * own. Messages have one that opens for the first waiter, and replicated scripts have one. In a
 * Cluster each master may have one of the latter two.
 */
export class ClientConnection implements RedisConnection {
  readonly #upListeners = new Set<() => void>();
  readonly #batches: ScriptBatches;
  readonly #watch: AnswerWatch | undefined;
  readonly #replicated: ReplicatedConnections;
  readonly #cluster: ClusterClient | undefined;
  /** A Cluster has only one. */
  readonly #database: Database | undefined;
  /** The last error of our client while it is not connected. */
  #trouble: unknown;
  #isClosed = false;
  /** The run id of the server that gets the commands, if the user may read it. */
  #runId: Promise<string | undefined> = NOBODY;
  #leftAt = -Infinity;

  constructor(
    private readonly client: Client,
    private readonly isOurs: boolean,
    private readonly messages: Messages,
    private readonly events: ConnectionEvents,
    private readonly clock: Clock,
    private readonly trial?: ServerTrial,
  ) {
    if (isCluster(client)) this.#cluster = client;
    else
      this.#database = new Database(client, {
        confirmed: this.#onUp,
        refused: events.outage.bind(events),
      });
    this.#watch = watchOver(client, isOurs, events, clock);
    this.#batches = new ScriptBatches(client, clock, this.#watch, {
      prepare: this.prepare,
      // A client may send again before it selects the database.
      mayGoAstray: () => this.#database !== undefined && this.#database.number !== 0,
      demoted: this.#leaveServer,
    });
    this.#replicated = new ReplicatedConnections(client, clock, {
      database: () => this.#database?.number ?? 0,
      runId: () => this.#runId,
      disagree: this.#leaveServer,
    });
    client.on('ready', this.#onReady);
    client.on('broken', this.#onBroken);
    events.warn(...clientWarnings(client));
    if (client.isReady) this.#lookAtServer();
    if (!isOurs) return;
    // Some clients print an error that has no listener.
    client.on('failed', this.#onFailed);
    client.on('ended', this.#onEnded);
  }

  /** The kind of the client: one server, the master that a Sentinel names, or a Cluster. */
  get topology(): 'server' | 'sentinel' | 'cluster' {
    return this.client.topology;
  }

  get isUp(): boolean {
    // Calls that wait for the connection must not be overtaken by one that waits for its database.
    return this.client.isReady && this.#database?.isArriving !== true;
  }

  get sendCount(): number {
    return this.#batches.sendCount;
  }

  get isHearing(): boolean {
    return this.messages.isHearing;
  }

  /** Connects, unless the client connects already. */
  open(): void {
    if (!this.#isClosed && this.client.status === 'idle')
      outOfScope(() => this.client.connect()).catch(() => undefined);
  }

  run<K extends string, A extends string, R>(
    script: Script<K, A, R>,
    keys: readonly string[],
    args: readonly (string | number)[],
    minReplicas = 0,
  ): Promise<Reply<R>> {
    const text = textIn(script, this.messages.mode);
    if (minReplicas === 0) return this.#batches.run(script, text, keys, args);
    return this.#runReplicated(script, { ...text, keys, args }, minReplicas);
  }

  flush(): void {
    this.#batches.flush(true);
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
    return { node: this.#cluster.masterOf(slot) ?? '', slot };
  }

  isMoving(key: string): boolean {
    return this.#batches.isMoving(key);
  }

  close(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#isClosed = true;
    this.#upListeners.clear();
    this.events.close();
    this.messages.close();
    this.#replicated.close();
    this.#watch?.close();
    this.client.off('ready', this.#onReady);
    this.client.off('broken', this.#onBroken);
    if (this.isOurs) this.client.end();
    return Promise.resolve();
  }

  async #runReplicated<R>(
    script: Script<string, string, R>,
    call: ScriptCall,
    minReplicas: number,
  ): Promise<Reply<R>> {
    await this.prepare();
    this.#batches.sendCount += 1;
    const { raw, ...reply } = await this.#replicated.run(call, minReplicas);
    return { value: script.decode(raw), ...reply };
  }

  /**
   * @throws {LockBackendError} there is no connection
   * @throws {LockConfigurationError} a server may evict locks
   */
  readonly prepare = (): Promise<void> | undefined => {
    const isChosen = this.#database?.isConfirmed !== false;
    if (!(isChosen ? this.client.isReady : this.isUp)) {
      this.open();
      throw this.#notConnected();
    }
    if (this.trial?.isOver === false) return this.trial.pass().then(this.prepare);
    return isChosen ? undefined : this.#chosenDatabase(this.#database);
  };

  async #chosenDatabase(database: Database): Promise<void> {
    await database.confirm();
    // The connection broke, or the caller has selected another database.
    if (!database.isConfirmed) throw this.#notConnected();
  }

  readonly #onUp = (): void => {
    if (this.#isClosed) return;
    this.events.restored();
    for (const listener of [...this.#upListeners]) listener();
  };

  /**
   * Connects anew: behind one address, or by a Sentinel, another server may be the master by now. A
   * demoted server keeps its connections. A client that would not reconnect is left alone.
   */
  readonly #leaveServer = (): void => {
    const { client } = this;
    const now = this.clock.now();
    if (isCluster(client) || !client.reconnects) return;
    if (!this.client.isReady || now - this.#leftAt < LEAVE_AGAIN_MS) return;
    this.#leftAt = now;
    client.reconnect();
  };

  readonly #onReady = (): void => {
    this.#trouble = undefined;
    // Only now: messages must not come from a server that this connection has left. It has become a
    // replica, and repeats a grant that its master took back because no subscriber was there.
    this.messages.renew?.();
    this.#lookAtServer();
    // The database reports a refusal itself.
    if (this.#database?.isConfirmed === false) this.#database.confirm().catch(() => undefined);
    else this.#onUp();
  };

  readonly #onFailed = (error: unknown): void => {
    this.#trouble = error;
    // A broken connection is most often back in a moment; otherwise another error or the end
    // follows.
    if (!this.client.isReady) this.events.outage(error);
  };

  readonly #onEnded = (): void => {
    this.events.outage(this.#trouble ?? this.#notConnected());
  };

  readonly #onBroken = (): void => {
    this.#runId = NOBODY;
    this.#batches.onBreak();
    this.#database?.forget();
  };

  /** The server may be another one after a failover. */
  #lookAtServer(): void {
    this.events.warn(...clientWarnings(this.client));
    if (!this.client.readsInfo) return;
    const told = askServers(this.client).then((infos) => {
      this.events.warn(...infos.flatMap(warningsIn));
      const runId = this.#cluster ? undefined : runIdIn(infos[0]);
      this.#replicated.agreeOn(runId);
      return runId;
    });
    this.#runId = told.catch(() => undefined);
  }

  #notConnected(): LockBackendError {
    if (this.#isClosed || this.client.status === 'ended') {
      const over = { retryable: false, outcome: 'none' } as const;
      return new LockBackendError('the connection to Redis is closed', over);
    }
    return noConnectionError(this.#trouble);
  }
}
