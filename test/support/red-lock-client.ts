import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { systemClock, type Clock } from '../../libs/redis-lock/src/core/time/clock.js';
import { LockBackendError } from '../../libs/redis-lock/src/core/api/errors.js';
import { LockContext } from '../../libs/redis-lock/src/core/lock-context.js';
import type { LockEvent } from '../../libs/redis-lock/src/core/api/observer.js';
import {
  DEFAULT_SETTINGS,
  type LockSettings,
} from '../../libs/redis-lock/src/core/api/settings.js';
import type { RedisConnection, Reply } from '../../libs/redis-lock/src/core/redis/connection.js';
import { openOverClient } from './open-connection.js';
import { QuorumConnection } from '../../libs/redis-lock/src/primitives/red-lock/quorum-connection.js';
import { RedLockService } from '../../libs/redis-lock/src/primitives/red-lock/red-lock-service.js';
import {
  IDENTIFY,
  type ServerIdentity,
} from '../../libs/redis-lock/src/primitives/red-lock/red-lock.scripts.js';
import { eventually } from './eventually.js';
import { FaultProxy } from './fault-proxy.js';
import { expectNothingLeft, type LockClient } from './lock-client.js';
import { PassThrough } from './pass-through.js';
import { useRealRedis, type RedisFixture } from './redis-server.js';

export interface RedLockClientOptions extends Partial<LockSettings> {
  /** Urls, ioredis options or clients; the servers of the spec. */
  nodes?: readonly unknown[];
  longestLeaseMs?: number;
  clock?: Clock;
  /** Stands between the library and its adapter. */
  decorate?: (connection: RedisConnection, node: number) => RedisConnection;
}

export interface RedLockClient extends LockClient<RedLockService> {
  readonly connection: QuorumConnection;
}

/** The specs do not wait 30 s for servers that were started for them: these answers make a server older. */
export class AgedServer extends PassThrough {
  protected override async around<R>(script: string, run: () => Promise<Reply<R>>) {
    const reply = await run();
    if (script !== IDENTIFY.name) return reply;
    const identity = reply.value as ServerIdentity;
    return { ...reply, value: { ...identity, uptimeMs: identity.uptimeMs + 48 * 3_600_000 } as R };
  }
}

/** The way to an aged server, of which nothing gets through while it is shut. */
export class Gate extends AgedServer {
  constructor(
    inner: RedisConnection,
    private readonly isShut: () => boolean,
  ) {
    super(inner);
  }

  protected override around<R>(script: string, run: () => Promise<Reply<R>>) {
    if (!this.isShut()) return super.around(script, run);
    const nothing = { retryable: true, outcome: 'none' } as const;
    return Promise.reject(new LockBackendError('out of reach', nothing));
  }
}

/** Private servers of a spec file, independent of each other. */
export function useServers(count: number): readonly RedisFixture[] {
  return Array.from({ length: count }, () => useRealRedis());
}

/** A fault proxy before each of the servers. Call it before `useRedLocks`. */
export function useProxies(servers: readonly RedisFixture[]): readonly FaultProxy[] {
  const proxies: FaultProxy[] = [];
  beforeAll(async () => {
    proxies.push(...(await Promise.all(servers.map((server) => FaultProxy.start(server)))));
  });
  afterEach(() => Promise.all(proxies.map((proxy) => proxy.heal())));
  afterAll(() => Promise.all(proxies.map((proxy) => proxy.close())));
  return proxies;
}

/** The client has found out who each of its servers is, and that all of them may vote. */
export async function everyNodeVotes({ connection }: RedLockClient): Promise<void> {
  await eventually(() => Promise.all(connection.nodes.map((node) => node.admit(1_000))));
}

/** As `useLocks`, for a lock on several servers. */
export function useRedLocks(servers: readonly RedisFixture[]) {
  const opened = new Set<RedLockClient>();

  afterEach(async () => {
    for (const server of servers) server.resume();
    const clients = [...opened];
    opened.clear();
    await Promise.all(clients.map((client) => client.close()));
    await Promise.all(servers.map((server) => eventually(() => expectNothingLeft(server))));
  });

  return (options: RedLockClientOptions = {}): RedLockClient => {
    const client = openRedLocks(options.nodes ?? servers.map(({ url }) => url), options);
    opened.add(client);
    return client;
  };
}

export function openRedLocks(
  nodes: readonly unknown[],
  {
    clock = systemClock,
    decorate = (connection) => new AgedServer(connection),
    longestLeaseMs = DEFAULT_SETTINGS.watchdogLeaseMs,
    ...settings
  }: Omit<RedLockClientOptions, 'nodes'> = {},
): RedLockClient {
  const events: LockEvent[] = [];
  const observer = {
    observe: (event: LockEvent) => {
      events.push(event);
      void settings.observer?.observe(event);
    },
  };
  const connections = nodes.map((node, i) => decorate(openOverClient(node, observer), i));
  const connection = new QuorumConnection(connections, { longestLeaseMs, clock, observer });
  const context = new LockContext(connection, { ...settings, observer }, clock);
  return {
    locks: new RedLockService(context, connection),
    context,
    connection,
    events,
    eventsOf: (type) => events.filter((event) => event.type === type) as never,
    close: () => context.close(),
  };
}
