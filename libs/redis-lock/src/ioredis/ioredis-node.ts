import type { Redis, RedisOptions } from 'ioredis';

import type {
  AnswerListener,
  ChannelKind,
  Evaluated,
  NodeClient,
  Purpose,
  Route,
  Traffic,
} from '../connection/client.js';
import { IoredisClient, routeTo } from './ioredis-client.js';
import { packageOf } from './packages.js';
import { ScriptCommand, sendsScriptCommands } from './script-command.js';

/**
 * After a disconnect without a connection, as between two attempts, ioredis keeps the process alive
 * for this time. No command is on its way when this library disconnects.
 */
export const DISCONNECT_MS = 100;
const CONNECT_MS = 3_000;

const ONCE = {
  ...{ lazyConnect: true, enableAutoPipelining: false, connectTimeout: CONNECT_MS },
  ...{ retryStrategy: () => null, sentinelRetryStrategy: () => null },
} satisfies RedisOptions;

const SECOND: Readonly<Record<Purpose, RedisOptions>> = {
  messages: {
    ...{ autoResubscribe: false, enableReadyCheck: false },
    ...{ enableOfflineQueue: false, maxRetriesPerRequest: 0 },
  },
  // It is replaced, not repaired: WAIT covers only scripts of its own connection.
  replicas: {
    ...{ db: 0, enableOfflineQueue: false, socketTimeout: CONNECT_MS, reconnectOnError: null },
  },
  probe: { enableOfflineQueue: true, socketTimeout: CONNECT_MS, reconnectOnError: null },
};

const JOIN = { plain: 'subscribe', sharded: 'ssubscribe' } as const;
const LEAVE = { plain: 'unsubscribe', sharded: 'sunsubscribe' } as const;

/** As ioredis keeps it privately: the commands without an answer, in their order. */
interface CommandQueue {
  readonly length: number;
  peekFront(): { readonly command: Traffic['first'] } | undefined;
}

/** A `Redis` of ioredis: of one server, or of the master that sentinels name. */
export class IoredisNode extends IoredisClient<Redis> implements NodeClient {
  readonly remedy = 'set its retryStrategy and its socketTimeout';

  get topology(): 'server' | 'sentinel' {
    return this.inner.options.sentinels ? 'sentinel' : 'server';
  }

  get reconnects(): boolean {
    return typeof this.inner.options.retryStrategy === 'function';
  }

  get endsSilence(): boolean {
    return this.inner.options.socketTimeout !== undefined;
  }

  get isReplica(): boolean {
    return this.inner.options.readOnly === true;
  }

  get address(): string {
    const { host = '', port } = this.inner.options;
    return `${host}:${String(port)}`;
  }

  get database(): number {
    return this.inner.condition?.select ?? 0;
  }

  get route(): Route {
    const { host = '', path, sentinels } = this.inner.options;
    const hosts = path ? [] : (sentinels?.map((one) => one.host ?? '') ?? [host]);
    return routeTo(hosts, this.inner.options);
  }

  get traffic(): Traffic | undefined {
    const { status, stream } = this.inner;
    if (status !== 'connect' && status !== 'ready') return undefined;
    const { commandQueue: queue } = this.inner as unknown as { commandQueue?: CommandQueue };
    const first = queue?.peekFront()?.command;
    if (queue === undefined || first === undefined) return undefined;
    return { connection: stream, received: stream.bytesRead, pending: queue.length, first };
  }

  select(database: number): Promise<unknown> {
    return this.inner.select(database);
  }

  reconnect(): void {
    this.inner.disconnect(true);
  }

  cutOff(reason: string): void {
    this.inner.stream.destroy(new Error(reason));
  }

  subscribe(kind: ChannelKind, channels: readonly string[]): Promise<unknown> {
    return this.inner[JOIN[kind]](...channels);
  }

  unsubscribe(kind: ChannelKind, channels: readonly string[]): Promise<unknown> {
    return this.inner[LEAVE[kind]](...channels);
  }

  another(purpose: Purpose): IoredisNode {
    // A time limit for each command would hide that the connection is silent.
    const ours = { commandTimeout: undefined, readOnly: false, disconnectTimeout: DISCONNECT_MS };
    return new IoredisNode(this.inner.duplicate({ ...ONCE, ...SECOND[purpose], ...ours }));
  }
}

/** It sends scripts as commands of ours. */
class SwiftNode extends IoredisNode {
  evaluateFor<Sent>(words: Evaluated, sent: Sent, listener: AnswerListener<Sent>): void {
    void this.inner.sendCommand(new ScriptCommand(words, sent, listener) as never);
  }
}

export function nodeOf(client: Redis): IoredisNode {
  const from = packageOf(client);
  const isSwift = from !== undefined && sendsScriptCommands(client, from);
  return isSwift ? new SwiftNode(client) : new IoredisNode(client);
}
