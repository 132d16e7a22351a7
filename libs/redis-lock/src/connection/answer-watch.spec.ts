import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createHook } from 'node:async_hooks';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { eventually } from '../../../../test/support/eventually.js';
import { FaultProxy } from '../../../../test/support/fault-proxy.js';
import { IOREDIS_VERSIONS } from '../../../../test/support/ioredis-versions.js';
import { useProxy } from '../../../../test/support/lock-client.js';
import type { ProxiedConnection } from '../../../../test/support/proxied-connection.js';
import { useRealRedis } from '../../../../test/support/redis-server.js';
import { ClusterGroup, type Node } from '../../../../test/support/topology.js';
import type { LockEvent } from '../core/api/observer.js';
import type { RedisConnection } from '../core/redis/connection.js';
import { defineScript } from '../core/redis/script.js';
import { systemClock, type Clock } from '../core/time/clock.js';
import { ManualClock } from '../testing/manual-clock.js';
import { prepareConnection } from '../../../../test/support/open-connection.js';

/** A connection is half open by then: no byte has arrived for so long. */
const SILENT_MS = 4_000;

/** The connection is silent until another one is tried and answered, and for two beats more. */
async function tried(proxy: FaultProxy, clock: ManualClock): Promise<void> {
  const { accepted } = proxy.counts;
  await clock.advance(SILENT_MS);
  // A client of a Cluster opens one for messages when it likes, and that one stays.
  const staying = () => proxy.connections.filter(({ index }) => index > accepted).length;
  await eventually(() => proxy.counts.accepted - accepted > staying());
  await clock.advance(2_000);
}

const ECHO = defineScript({
  ...{ name: 'echo', keys: ['key'], args: ['text'], body: 'return text' },
  reply: (raw) => raw,
});
/** In a Cluster, the slot of the key is on the first node. */
const run = (connection: RedisConnection) => connection.run(ECHO, ['b'], ['t']);

/** Opens connections, also over clients of the caller, and ends both after each spec. */
function useClients() {
  const opened: (() => unknown)[] = [];
  afterEach(async () => {
    for (const end of opened.splice(0)) await end();
  });
  return (to: string | RedisOptions | Redis | Cluster, clock: Clock = new ManualClock()) => {
    const [errors, warnings]: [string[], string[]] = [[], []];
    const observe = (event: LockEvent) => {
      if (event.type === 'warning') warnings.push(event.message);
    };
    const connection = prepareConnection(to, { observe }, 'auto', 'warn', { clock });
    opened.push(() => connection.close());
    if (typeof to === 'object' && 'disconnect' in to) {
      to.on('error', ({ message }: Error) => errors.push(message));
      opened.push(to.disconnect.bind(to));
    }
    connection.open();
    return { connection, clock: clock as ManualClock, errors, warnings };
  };
}

describe('a connection of our own', () => {
  const redis = useRealRedis();
  const proxy = useProxy(redis);
  const open = useClients();
  /** The timers that the work sets. */
  const timersOf = async (work: () => Promise<unknown>) => {
    const timers: NodeJS.Timeout[] = [];
    const init = (_: number, type: string, __: number, timer: object) => {
      if (type === 'Timeout') timers.push(timer as NodeJS.Timeout);
    };
    const hook = createHook({ init }).enable();
    await work().finally(() => hook.disable());
    return timers;
  };

  it('is replaced when it is half open, and what was asked for is asked again', async () => {
    const { connection, clock } = open(proxy.current.url);
    await eventually(() => run(connection));
    const half = proxy.current.connections;
    proxy.current.blackhole('both', { where: (one) => half.includes(one) });
    const reply = run(connection);
    await clock.advance(SILENT_MS);
    expect(await eventually(() => reply)).toMatchObject({ value: 't', resent: true });
    for (const one of half) one.cut('rst');
  });

  it('is replaced when Redis accepts it and never says a word', async () => {
    const silent = proxy.current.blackhole();
    const { connection, clock } = open(proxy.current.url);
    await eventually(() => proxy.current.connections.length > 0);
    const first = proxy.current.connections;
    const isReplaced = () => proxy.current.connections.some((one) => !first.includes(one));
    await eventually(() => clock.advance(1_000).then(isReplaced));
    silent.heal();
    const answer = () => clock.advance(1_000).then(() => run(connection));
    expect(await eventually(answer, { everyMs: 100 })).toMatchObject({ value: 't' });
  });

  it('sets one timer for many calls, which keeps no process alive', async () => {
    const { connection } = open(redis.url, systemClock);
    await eventually(() => connection.isUp);
    const timers = await timersOf(async () => {
      for (let i = 0; i < 100; i += 1) await run(connection);
    });
    expect(timers.length).toBeLessThanOrEqual(1);
    expect(timers.filter((timer) => timer.hasRef())).toEqual([]);
  });

  it('is left alone where it has a time limit of ioredis', async () => {
    const beatsOf = async (options: { socketTimeout?: number }) => {
      const timers = await timersOf(async () => {
        const { connection } = open({ port: redis.port, ...options }, systemClock);
        await eventually(() => run(connection));
      });
      return timers.filter(({ ['_idleTimeout' as never]: ms }) => ms === 1_000).length;
    };
    expect(await beatsOf({})).toBeGreaterThan(0);
    expect(await beatsOf({ socketTimeout: 60_000 })).toBe(0);
  });
});

describe('a client of the caller', () => {
  const redis = useRealRedis();
  const proxy = useProxy(redis);
  const open = useClients();
  const make = (options: { retryStrategy?: never } = {}, { Redis: Client } = { Redis }) =>
    new Client(proxy.current.url, options);
  const halfOpen = () => {
    const half = proxy.current.connections;
    return { where: (one: ProxiedConnection) => half.includes(one) };
  };

  it.each(IOREDIS_VERSIONS)('is connected anew when it is half open, %s', async (_, ioredis) => {
    const { connection, clock, errors, warnings } = open(make({}, ioredis));
    await eventually(() => run(connection));
    const half = proxy.current.connections;
    proxy.current.blackhole('both', halfOpen());
    const reply = run(connection);
    await tried(proxy.current, clock);
    expect(await eventually(() => reply)).toMatchObject({ value: 't', resent: true });
    expect(errors).toEqual(['Redis has not answered for 3 s']);
    expect(warnings).toEqual([]);
    for (const one of half) one.cut('rst');
  });

  it('is left alone, and told of once for each silence, where it would not reconnect', async () => {
    const { connection, clock, errors, warnings } = open(make({ retryStrategy: null as never }));
    await eventually(() => run(connection));
    for (let silences = 1; silences <= 2; silences++) {
      const silence = proxy.current.hold('toClient', halfOpen());
      const reply = run(connection);
      await tried(proxy.current, clock);
      expect(warnings).toHaveLength(silences);
      expect(warnings.at(-1)).toContain('set its retryStrategy and its socketTimeout');
      silence.heal();
      expect(await eventually(() => reply)).toMatchObject({ value: 't', resent: false });
    }
    expect(errors).toEqual([]);
  });

  it('is left alone while the whole server is silent', async () => {
    const { connection, clock, errors, warnings } = open(make());
    await eventually(() => run(connection));
    const { accepted } = proxy.current.counts;
    redis.pause();
    const reply = run(connection);
    // The server does not answer another connection either, twice.
    const isTriedTwice = () => proxy.current.counts.accepted >= accepted + 2;
    const looking = eventually(() => clock.advance(1_000).then(isTriedTwice));
    await looking.finally(redis.resume.bind(redis));
    expect(await eventually(() => reply)).toMatchObject({ value: 't', resent: false });
    await eventually(() => proxy.current.connections.length === 1);
    expect([errors, warnings]).toEqual([[], []]);
  });

  it.each<[string, string[], () => Promise<unknown>]>([
    ['BLPOP', ['list', '0'], () => redis.admin.rpush('list', 'a')],
    ['XREAD', ['BLOCK', '0', 'STREAMS', 's', '$'], () => redis.admin.xadd('s', '*', 'a', 'b')],
  ])('is left alone, and told of, while %s of the application blocks it', async (...row) => {
    const [name, args, unblock] = row;
    const client = make();
    const { connection, clock, errors, warnings } = open(client);
    await eventually(() => run(connection));
    const blocked = client.call(name, ...args);
    const reply = run(connection);
    await clock.advance(3 * SILENT_MS);
    await eventually(async () => /blocked_clients:1/.test(await redis.admin.info('clients')));
    await unblock();
    expect(await eventually(() => reply)).toMatchObject({ value: 't', resent: false });
    expect(await blocked).not.toBeNull();
    expect(warnings).toEqual([
      `${name} blocks the connection that locks use, and delays their renewals; use a separate client for the locks`,
    ]);
    expect(errors).toEqual([]);
  });
});

describe('a Cluster of the caller', () => {
  const open = useClients();
  let group: ClusterGroup;
  let proxy: FaultProxy;

  beforeAll(async () => {
    group = await ClusterGroup.start({ replicated: false });
    proxy = await FaultProxy.start((group.masters[0] as Node).server);
  });
  afterEach(() => proxy.heal());
  afterAll(async () => {
    await proxy.close();
    await group.stop();
  });

  const make = (
    options: { clusterRetryStrategy?: never } = {},
    { Cluster: Client } = { Cluster },
  ) => {
    const port = String(group.masters[0]?.server.port);
    const natMap = { [`127.0.0.1:${port}`]: { host: '127.0.0.1', port: proxy.port } };
    return new Client(group.addresses.slice(1), { natMap, ...options });
  };

  it.each(IOREDIS_VERSIONS)('has a half-open node connected anew, %s', async (_, ioredis) => {
    const client = make({}, ioredis);
    const { connection, clock, warnings } = open(client);
    await eventually(() => run(connection));
    const half = proxy.connections;
    const others = client.nodes('master').filter(({ options }) => options.port !== proxy.port);
    proxy.blackhole('both', { where: (one) => half.includes(one) });
    const reply = run(connection);
    await tried(proxy, clock);
    expect(await eventually(() => reply)).toMatchObject({ value: 't', resent: true });
    expect(others.map(({ status }) => status)).toEqual(['ready', 'ready']);
    expect(client.nodes('master')).toEqual(expect.arrayContaining(others));
    expect(warnings).toEqual([]);
    for (const one of half) one.cut('rst');
  });

  it('is left alone, and told of, where it would not reconnect', async () => {
    const { connection, clock, warnings } = open(make({ clusterRetryStrategy: null as never }));
    await eventually(() => run(connection));
    const half = proxy.connections;
    const silence = proxy.hold('toClient', { where: (one) => half.includes(one) });
    const reply = run(connection);
    await tried(proxy, clock);
    expect(warnings).toEqual([
      expect.stringContaining('set its clusterRetryStrategy and its socketTimeout'),
    ]);
    silence.heal();
    expect(await eventually(() => reply)).toMatchObject({ value: 't', resent: false });
  });
});
