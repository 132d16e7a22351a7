import type { Redis, RedisOptions } from 'ioredis';

import { LockBackendError } from '../core/api/errors.js';
import { helperKey } from '../core/redis/key-names.js';
import { outOfScope } from '../core/holding/scope.js';
import type { ScriptCall } from '../core/redis/script.js';
import { disconnect } from './redis-client.js';
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
import type { Ordinary } from './replicated-connections.js';
import { runIdIn } from './set-up-warnings.js';

/** Two of them are less than `ANSWER_MS`: whoever wants one answer hears it behind others, too. */
const WAIT_MS = 450;
const CONNECT_MS = 3_000;

/** What a script has answered that enough replicas have. */
export interface Replicated {
  readonly raw: unknown;
  readonly sentAt: number;
  readonly resent: boolean;
}

interface Job {
  readonly call: ScriptCall;
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
 * A connection to one master, for scripts that replicas must have: WAIT counts what its own connection
 * has written, and keeps that from everything else meanwhile. What is asked for while one group of
 * scripts waits for its replicas travels as the next group, and waits once. After a cut scripts and
 * WAIT are sent again, once, over a new connection.
 */
export class ReplicatedConnection {
  #jobs: Job[] = [];
  #isRunning = false;
  #client: Redis | undefined;
  #runId: string | undefined;
  #database = 0;
  /** Nothing was written over this connection, and so nothing confirmed. */
  #isFresh = true;
  #isClosed = false;

  constructor(
    private readonly open: (overrides: RedisOptions) => Redis,
    private readonly ordinary: Ordinary,
  ) {}

  run(call: ScriptCall, minReplicas: number, isAsked = false): Promise<Replicated> {
    return new Promise((resolve, reject) => {
      this.#jobs.push({
        ...{ call, minReplicas, isAsked, resolve, reject },
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
    // Whatever is asked for in this turn of the event loop travels together.
    await Promise.resolve();
    for (let [first] = this.#jobs; first !== undefined; [first] = this.#jobs) {
      const { minReplicas } = first;
      const group = this.#jobs.filter((job) => job.minReplicas === minReplicas);
      this.#jobs = this.#jobs.filter((job) => job.minReplicas !== minReplicas);
      await this.#deliver(group, minReplicas);
    }
    this.#isRunning = false;
  }

  async #deliver(group: readonly Job[], minReplicas: number): Promise<void> {
    let client: Redis;
    try {
      client = await this.#ready();
    } catch (error) {
      const why = error instanceof LockBackendError ? error : noConnectionError(error);
      for (const job of group) job.reject(job.isResent ? brokenError() : why);
      return;
    }
    const replies = Promise.allSettled(group.map((job) => this.#send(client, job)));
    const mark = this.#isFresh ? this.#mark(client, group[0] as Job) : undefined;
    const count = client.wait(minReplicas, WAIT_MS);
    const [marked, counted] = await Promise.allSettled([mark, count]);
    const confirmed = marked.status === 'rejected' ? marked : counted;
    if (confirmed.status === 'fulfilled') this.#isFresh = false;
    const again: Job[] = [];
    for (const [i, reply] of (await replies).entries()) {
      const job = group[i] as Job;
      if (reply.status === 'rejected') this.#onRefused(job, reply.reason, again);
      else if (confirmed.status === 'rejected') this.#onUnconfirmed(job, confirmed.reason, again);
      else if (confirmed.value < minReplicas) {
        job.reject(shortOfReplicasError(minReplicas, confirmed.value));
        // They may have another master by now, to whom the next connection leads.
        this.#drop();
      } else job.resolve({ raw: reply.value, sentAt: job.sentAt ?? 0, resent: job.isResent });
    }
    // In their order, and before what was asked for meanwhile.
    this.#jobs.unshift(...again);
  }

  #send(client: Redis, job: Job): Promise<unknown> {
    const { lua, sha1, keys, args } = job.call;
    job.sentAt ??= performance.now();
    if (job.isAsked) client.asking().catch(() => undefined);
    return job.needsText
      ? client.eval(lua, keys.length, ...keys, ...args)
      : client.evalsha(sha1, keys.length, ...keys, ...args);
  }

  /**
   * The script may find its work done by its first delivery, over a connection that is gone: without
   * a write of its own, WAIT would count replicas that do not have it yet.
   */
  #mark(client: Redis, { call, isAsked }: Job): Promise<unknown> {
    if (isAsked) client.asking().catch(() => undefined);
    return client.set(helperKey('nestjs_replicated', call.keys[0] ?? ''), '', 'PX', 1);
  }

  #onRefused(job: Job, error: unknown, again: Job[]): void {
    if (isNoScript(error)) {
      job.needsText = true;
      again.push(job);
    } else if (isReply(error)) {
      // The next connection is to whoever is the master.
      if (isOfReplica(error)) this.#drop();
      job.reject(lockErrorOf(error, job.isResent));
    } else {
      this.#again(job, again);
    }
  }

  /** The script was executed. */
  #onUnconfirmed(job: Job, error: unknown, again: Job[]): void {
    if (isReply(error)) job.reject(lockErrorOf(error, true));
    else this.#again(job, again);
  }

  #again(job: Job, again: Job[]): void {
    if (job.isResent || this.#isClosed) {
      job.reject(brokenError());
      return;
    }
    job.isResent = true;
    again.push(job);
  }

  /** The connection, in the database of the ordinary one, which may have moved. */
  async #ready(): Promise<Redis> {
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

  async #connect(): Promise<Redis> {
    const client = this.open({
      ...{ lazyConnect: true, db: 0, enableOfflineQueue: false, enableAutoPipelining: false },
      ...{ connectTimeout: CONNECT_MS, socketTimeout: CONNECT_MS },
      // It is replaced, not repaired: only so a WAIT is known to have counted its own scripts.
      ...{ retryStrategy: () => null, sentinelRetryStrategy: () => null, reconnectOnError: null },
    });
    this.#client = client;
    this.#isFresh = true;
    this.#database = 0;
    client.on('error', () => undefined);
    client.on('end', () => {
      if (this.#client === client) this.#client = undefined;
    });
    // ioredis waits for ever for a server that accepts a connection and never says a word.
    const silent = setTimeout(disconnect, CONNECT_MS, client).unref();
    try {
      await outOfScope(() => client.connect());
      await this.#agree(client);
    } finally {
      clearTimeout(silent);
    }
    return client;
  }

  /**
   * After a failover the old master may go on answering. What one server has granted, the other knows
   * nothing of: nothing is sent while the connections lead to two.
   */
  async #agree(client: Redis): Promise<void> {
    this.#runId = undefined;
    const runId = await this.ordinary.runId();
    if (runId === undefined) return;
    this.#runId = runIdIn(await client.info('server'));
    if (this.#runId === undefined || this.#runId === runId) return;
    this.#drop();
    this.ordinary.disagree();
    throw twoServersError();
  }

  #drop(): void {
    const client = this.#client;
    this.#client = undefined;
    if (client !== undefined) disconnect(client);
  }
}
