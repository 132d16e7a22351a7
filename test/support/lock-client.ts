import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { systemClock, type Clock } from '../../libs/redis-lock/src/core/time/clock.js';
import { queueKeys, type QueueKind } from '../../libs/redis-lock/src/primitives/lua/hand-off.js';
import { LockContext } from '../../libs/redis-lock/src/core/lock-context.js';
import type { LockEvent } from '../../libs/redis-lock/src/core/api/observer.js';
import type { LockSettings } from '../../libs/redis-lock/src/core/api/settings.js';
import type { RedisConnection } from '../../libs/redis-lock/src/core/redis/connection.js';
import { openOverClient } from './open-connection.js';
import { eventually } from './eventually.js';
import { FaultProxy } from './fault-proxy.js';
import { FOREIGN_PERMIT, permitIdsIn } from './redisson-permits.js';
import { FOREIGN_CLIENT } from './redisson.js';
import { useRealRedis, useRedis, type RedisFixture } from './redis-server.js';

export interface LockClientOptions extends Partial<LockSettings> {
  /** A url, ioredis options or a client; the server of the spec. */
  connection?: unknown;
  publish?: LockSettings['publish'];
  clock?: Clock;
}

/** One client of the lock, as one process of an application is: its services and what it heard. */
export interface LockClient<Locks> {
  readonly locks: Locks;
  readonly context: LockContext;
  readonly connection: RedisConnection;
  /** Every event so far. */
  readonly events: readonly LockEvent[];
  eventsOf<Type extends LockEvent['type']>(type: Type): Extract<LockEvent, { type: Type }>[];
  close(): Promise<void>;
}

export type OpenLocks<Locks> = (options?: LockClientOptions) => LockClient<Locks>;

/** Waits for a part of the checks after a spec, on a noisy machine too; what is left then is a leak. */
const LEFTOVER_MS = 10_000;

/**
 * Opens clients of a lock for the specs of a file. After each of them everything is closed, and the
 * spec fails if a key, a subscription, a connection or a rejected promise of ours is left.
 */
export function useLocks<Locks>(
  redis: RedisFixture,
  serviceOf: (context: LockContext) => Locks,
): OpenLocks<Locks> {
  const opened = new Set<LockClient<Locks>>();

  afterEach(async () => {
    redis.resume();
    const clients = [...opened];
    opened.clear();
    await Promise.all(clients.map((client) => client.close()));
    await eventually(() => expectNothingLeft(redis), { withinMs: LEFTOVER_MS });
  });

  return ({ connection = redis.url, publish, clock = systemClock, ...settings } = {}) => {
    const events: LockEvent[] = [];
    const observer = {
      observe: (event: LockEvent) => {
        events.push(event);
        void settings.observer?.observe(event);
      },
    };
    const port = openOverClient(connection, observer, publish);
    const context = contextOn(port, { ...settings, observer }, clock);
    const client: LockClient<Locks> = {
      locks: serviceOf(context),
      context,
      connection: port,
      events,
      eventsOf: (type) => events.filter((event) => event.type === type) as never,
      close: () => context.close(),
    };
    opened.add(client);
    return client;
  };
}

/** Resolves once a waiter of each client stands in the queue for the lock, and not only asks for it. */
export async function untilQueued(
  redis: RedisFixture,
  name: string,
  clients: readonly LockClient<unknown>[],
  kind: QueueKind = 'lock',
): Promise<void> {
  await eventually(async () => {
    const queue = await redis.admin.zrange(queueKeys(name, kind).queue, 0, '-1');
    return clients.every(({ context: { id } }) => queue.includes(id));
  });
}

function contextOn(port: RedisConnection, settings: Partial<LockSettings>, clock: Clock) {
  try {
    return new LockContext(port, settings, clock);
  } catch (error) {
    void port.close();
    throw error;
  }
}

/** The last token of a lock: Java's INCR would prolong no TTL. */
export const ENDLESS = /^redisson_lock_token:/;

/**
 * Redis keeps some of these keys to compare a repeated request, a later grant or a later write with.
 * Other keys record processes and waiters that died, or count requests. Each key ends by itself.
 */
const LASTS =
  /^(nestjs_client|nestjs_fence|nestjs_\w+_request|nestjs_fair_waiting|nestjs_throttle|nestjs_rwlock_patience|nestjs_(lock|rwlock)_opened):/;

/** Keys of other clients, such as a Java service, may stay. */
export async function expectNothingLeft(redis: RedisFixture): Promise<void> {
  const channels = (await redis.admin.pubsub('CHANNELS')) as string[];
  if (channels.length > 0) throw new Error(`Subscriptions are left: ${channels.join(', ')}`);
  const clients = await redis.clients();
  if (clients.length > 0) throw new Error(`Connections are left: ${clients.join(', ')}`);
  // All at once: a spec may leave thousands of foreign keys.
  const keys = await redis.admin.keys('*');
  await Promise.all(keys.map((key) => expectNotLeft(redis, key)));
}

async function expectNotLeft(redis: RedisFixture, key: string): Promise<void> {
  const ttl = await redis.admin.pttl(key);
  if (LASTS.test(key) && ttl !== -1) return;
  if (key.startsWith('nestjs_') || (await isOurs(redis, key))) {
    throw new Error(`The key ${key} is left, with a TTL of ${ttl} ms`);
  }
}

const UUID = /^[0-9a-f-]{36}:/;

/** Whether an owner that is no Java service holds a lock or a permit in this key. */
async function isOurs({ admin }: RedisFixture, key: string): Promise<boolean> {
  const type = await admin.type(key);
  if (type === 'hash') {
    const owners = await admin.hkeys(key);
    return owners.some((owner) => UUID.test(owner) && !owner.startsWith(FOREIGN_CLIENT));
  }
  if (type !== 'zset' || !key.endsWith(':timeout')) return false;
  // Permits whose lease is over are free: the next one who asks takes them back.
  const ids = await permitIdsIn(admin, key, Date.now());
  return ids.some((id) => !id.startsWith(FOREIGN_PERMIT));
}

/**
 * A fault proxy before the server of a file. Call it before `useLocks`: every fault is healed
 * before the clients of a spec are closed.
 */
export function useProxy(redis: RedisFixture): { readonly current: FaultProxy } {
  let proxy: FaultProxy | undefined;
  beforeAll(async () => {
    proxy = await FaultProxy.start(redis);
  });
  afterEach(() => proxy?.heal());
  afterAll(() => proxy?.close());
  return {
    get current() {
      if (proxy === undefined) throw new Error('The proxy is there from beforeAll on');
      return proxy;
    },
  };
}

type ServiceOf<Locks> = new (context: LockContext) => Locks;

/** A server for the specs of a file, and clients of the service on it. */
export function useClients<Locks>(Service: ServiceOf<Locks>) {
  return useClientsOf(useRedis(), Service);
}

/** The same with a real server. */
export function useRealClients<Locks>(Service: ServiceOf<Locks>) {
  return useClientsOf(useRealRedis(), Service);
}

/** The same with a fault proxy before a real server, for clients that are to be cut off. */
export function useProxiedClients<Locks>(Service: ServiceOf<Locks>) {
  const clients = useRealClients(Service);
  return { ...clients, proxy: useProxy(clients.redis) };
}

function useClientsOf<Locks>(redis: RedisFixture, Service: ServiceOf<Locks>) {
  return { redis, open: useLocks(redis, (context) => new Service(context)) };
}
