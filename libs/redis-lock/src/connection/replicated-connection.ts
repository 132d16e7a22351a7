import { LockBackendError } from '../core/api/errors.js';
import { helperKey } from '../core/redis/key-names.js';
import { outOfScope, type Clock, type Timer } from '../core/time/clock.js';
import type { ScriptCall } from '../core/redis/script.js';
import type { NodeClient } from './client.js';
import {
  brokenError,
  isNoScript,
  isOfReplica,
  isReply,
  lockErrorOf,
  noConnectionError,
  shortOfReplicasError,
  twoServersError,
  unconfirmedDatabaseError,
} from './reply-error.js';
import { runIdIn } from './set-up-warnings.js';

/**
 * Redis ends a wait at its next tick, one each 100 ms: after 490 ms at most. The wait of the next group
 * begins at a tick, and takes 400 ms. Together they are less than `ANSWER_MS`.
 */
const WAIT_MS = 390;
const CONNECT_MS = 3_000;

/** The ordinary connection. */
export interface Ordinary {
  database(): number;
  /**
   * The run id of its server. Undefined where Redis refuses INFO to the user, and in a Cluster,
   * which redirects.
   */
  runId(): Promise<string | undefined>;
  /** A replicated connection has found another server. */
  disagree(): void;
}

/** The answer of a script, confirmed by enough replicas. */
export interface Replicated {
  readonly raw: unknown;
  readonly sentAt: number;
  readonly resent: boolean;
}

interface ReplicatedCall {
  readonly script: ScriptCall;
  readonly minReplicas: number;
  /** The slot is on its way to this node. */
  readonly isAsked: boolean;
  readonly resolve: (outcome: Replicated) => void;
  readonly reject: (error: unknown) => void;
  sentAt: number | undefined;
  isResent: boolean;
  needsText: boolean;
}

/**
 * A connection to one master, for scripts that replicas must have. WAIT counts the writes of its
 * own connection, and blocks it meanwhile. Calls that arrive while one group waits for replicas
 * form the next group, and wait once. After a cut, scripts and WAIT are sent again, once, over a
 * new connection.
 */
export class ReplicatedConnection {
  #calls: ReplicatedCall[] = [];
  #isRunning = false;
  #client: NodeClient | undefined;
  #runId: string | undefined;
  #database = 0;
  /** Nothing was written over this connection yet, so nothing can be confirmed. */
  #isFresh = true;
  #isClosed = false;

  constructor(
    private readonly open: () => NodeClient,
    private readonly ordinary: Ordinary,
    private readonly clock: Clock,
  ) {}

  run(script: ScriptCall, minReplicas: number, isAsked = false): Promise<Replicated> {
    return new Promise((resolve, reject) => {
      this.#calls.push({
        ...{ script, minReplicas, isAsked, resolve, reject },
        ...{ sentAt: undefined, isResent: false, needsText: false },
      });
      if (!this.#isRunning) void this.#work();
    });
  }

  agreeOn(runId: string | undefined): void {
    const isOther = this.#runId !== undefined && runId !== undefined && this.#runId !== runId;
    if (isOther) this.#drop();
  }

  close(): void {
    this.#isClosed = true;
    this.#drop();
  }

  async #work(): Promise<void> {
    this.#isRunning = true;
    // The calls of one turn of the event loop travel together.
    await Promise.resolve();
    for (let [first] = this.#calls; first !== undefined; [first] = this.#calls) {
      const { minReplicas } = first;
      const group = this.#calls.filter((call) => call.minReplicas === minReplicas);
      this.#calls = this.#calls.filter((call) => call.minReplicas !== minReplicas);
      await this.#deliver(group, minReplicas);
    }
    this.#isRunning = false;
  }

  async #deliver(group: readonly ReplicatedCall[], minReplicas: number): Promise<void> {
    let client: NodeClient;
    try {
      client = await this.#ready();
    } catch (error) {
      const why = error instanceof LockBackendError ? error : noConnectionError(error);
      for (const call of group) call.reject(call.isResent ? brokenError() : why);
      return;
    }
    const silent = this.#endIfSilent(client);
    const replies = Promise.allSettled(group.map((call) => this.#send(client, call)));
    const mark = this.#isFresh ? this.#mark(client, group[0] as ReplicatedCall) : undefined;
    const count = client.send('wait', minReplicas, WAIT_MS).then(Number);
    const [marked, counted] = await Promise.allSettled([mark, count]);
    this.clock.cancel(silent);
    const confirmed = marked.status === 'rejected' ? marked : counted;
    if (confirmed.status === 'fulfilled') this.#isFresh = false;
    const again: ReplicatedCall[] = [];
    for (const [i, reply] of (await replies).entries()) {
      const call = group[i] as ReplicatedCall;
      if (reply.status === 'rejected') this.#onRefused(call, reply.reason, again);
      else if (confirmed.status === 'rejected') this.#onUnconfirmed(call, confirmed.reason, again);
      else if (confirmed.value < minReplicas) {
        call.reject(shortOfReplicasError(minReplicas, confirmed.value));
        // The replicas may have another master by now, to which the next connection leads.
        this.#drop();
      } else call.resolve({ raw: reply.value, sentAt: call.sentAt ?? 0, resent: call.isResent });
    }
    // In the order of the calls, and before later ones.
    this.#calls.unshift(...again);
  }

  #send(client: NodeClient, call: ReplicatedCall): Promise<unknown> {
    const { lua, sha1, keys, args } = call.script;
    call.sentAt ??= this.clock.now();
    if (call.isAsked) client.send('asking').catch(() => undefined);
    return call.needsText
      ? client.evaluate('eval', [lua, keys.length, ...keys, ...args])
      : client.evaluate('evalsha', [sha1, keys.length, ...keys, ...args]);
  }

  /**
   * The first delivery may have done the work of the script, over a connection that is gone.
   * Without a write of its own, WAIT would count replicas that do not have it yet.
   */
  #mark(client: NodeClient, { script, isAsked }: ReplicatedCall): Promise<unknown> {
    if (isAsked) client.send('asking').catch(() => undefined);
    return client.send('set', helperKey('nestjs_replicated', script.keys[0] ?? ''), '', 'PX', 1);
  }

  #onRefused(call: ReplicatedCall, error: unknown, again: ReplicatedCall[]): void {
    if (isNoScript(error)) {
      call.needsText = true;
      again.push(call);
    } else if (isReply(error)) {
      // The next connection leads to the new master.
      if (isOfReplica(error)) this.#drop();
      call.reject(lockErrorOf(error, call.isResent));
    } else {
      this.#again(call, again);
    }
  }

  /** The script was executed. */
  #onUnconfirmed(call: ReplicatedCall, error: unknown, again: ReplicatedCall[]): void {
    if (isReply(error)) call.reject(lockErrorOf(error, true));
    else this.#again(call, again);
  }

  #again(call: ReplicatedCall, again: ReplicatedCall[]): void {
    if (call.isResent || this.#isClosed) {
      call.reject(brokenError());
      return;
    }
    call.isResent = true;
    again.push(call);
  }

  /** The connection, in the database of the ordinary one, which may have changed. */
  async #ready(): Promise<NodeClient> {
    if (this.#isClosed) throw noConnectionError(undefined);
    const client = this.#client ?? (await this.#connect());
    const database = this.ordinary.database();
    if (database === this.#database) return client;
    try {
      await client.select(database);
    } catch (error) {
      this.#drop();
      throw unconfirmedDatabaseError(error);
    }
    this.#database = database;
    return client;
  }

  async #connect(): Promise<NodeClient> {
    const client = this.open();
    this.#client = client;
    this.#isFresh = true;
    this.#database = 0;
    client.on('failed', () => undefined);
    client.on('ended', () => {
      if (this.#client === client) this.#client = undefined;
    });
    const silent = this.#endIfSilent(client);
    try {
      await outOfScope(() => client.connect());
      await this.#agree(client);
    } finally {
      this.clock.cancel(silent);
    }
    return client;
  }

  /** A client waits without a limit for a server that accepts a connection and never answers. */
  #endIfSilent(client: NodeClient): Timer | undefined {
    const silent = this.clock.after(CONNECT_MS, () => {
      client.end();
    });
    silent?.unref();
    return silent;
  }

  /**
   * After a failover the old master may go on answering. Neither server has the locks of the other:
   * nothing is sent while the two connections lead to different servers.
   */
  async #agree(client: NodeClient): Promise<void> {
    this.#runId = undefined;
    const runId = await this.ordinary.runId();
    if (runId === undefined) return;
    this.#runId = runIdIn(String(await client.send('info', 'server')));
    if (this.#runId === undefined || this.#runId === runId) return;
    this.#drop();
    this.ordinary.disagree();
    throw twoServersError();
  }

  #drop(): void {
    const client = this.#client;
    this.#client = undefined;
    client?.end();
  }
}
