import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createHook } from 'node:async_hooks';
import { Cluster, Redis } from 'ioredis';
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
import { openIoredisConnection } from './ioredis-connection.js';

/** A half-open connection is found within 4 s, one of the caller within 7 s; five times that. */
const FOUND = { withinMs: 20_000 };
const FOREIGN = { withinMs: 35_000 };

const ECHO = defineScript({
  ...{ name: 'echo', keys: ['key'], args: ['text'], body: 'return text' },
  reply: (raw) => raw,
});
/** In a Cluster, the slot of the key is on the first node. */
const run = (connection: RedisConnection) => connection.run(ECHO, ['b'], ['t']);

const NEWEST = { Redis, Cluster };

/** Opens connections over clients of the caller, and ends both after each spec. */
function useClients() {
  const opened: (() => unknown)[] = [];
  afterEach(async () => {
    for (const end of opened.splice(0)) await end();
  });
  return (client: Redis | Cluster) => {
    const errors: string[] = [];
    const warnings: string[] = [];
    client.on('error', ({ message }: Error) => errors.push(message));
    const observer = {
      observe: (event: LockEvent) => {
        if (event.type === 'warning') warnings.push(event.message);
      },
    };
    const connection = openIoredisConnection(client, observer);
    opened.push(
      () => connection.close(),
      () => {
        client.disconnect();
      },
    );
    return { connection, errors, warnings };
  };
}

describe('a connection of our own', () => {
  const redis = useRealRedis();
  const proxy = useProxy(redis);
  const opened: RedisConnection[] = [];

  const open = (to: unknown) => {
    const connection = openIoredisConnection(to);
    opened.push(connection);
    return connection;
  };
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

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((connection) => connection.close()));
  });

  it('is replaced when it is half open, and what was asked for is asked again', async () => {
    const connection = open(proxy.current.url);
    await eventually(() => run(connection));
    const half = proxy.current.connections;
    proxy.current.blackhole('both', { where: (one) => half.includes(one) });
    const reply = run(connection);
    expect(await eventually(() => reply, FOUND)).toMatchObject({ value: 't', resent: true });
    for (const one of half) one.cut('rst');
  });

  it('is replaced when Redis accepts it and never says a word', async () => {
    const silent = proxy.current.blackhole();
    const connection = open(proxy.current.url);
    await eventually(() => proxy.current.connections.length > 0);
    const first = proxy.current.connections;
    await eventually(() => proxy.current.connections.some((one) => !first.includes(one)), FOUND);
    silent.heal();
    await eventually(() => run(connection), FOUND);
  });

  it('sets one timer for many calls, which keeps no process alive', async () => {
    const connection = open(redis.url);
    await eventually(() => connection.isUp);
    const timers = await timersOf(async () => {
      for (let i = 0; i < 100; i += 1) await run(connection);
    });
    expect(timers.length).toBeLessThanOrEqual(1);
    expect(timers.filter((timer) => timer.hasRef())).toEqual([]);
  });

  it('is left alone where it has a time limit of ioredis', async () => {
    const timers = await timersOf(async () => {
      const connection = open({ port: redis.port, socketTimeout: 60_000 });
      await eventually(() => run(connection));
    });
    expect(timers.filter(({ ['_repeat' as never]: repeat }) => repeat === 1_000)).toEqual([]);
  });
});

describe('a client of the caller', () => {
  const redis = useRealRedis();
  const proxy = useProxy(redis);
  const open = useClients();
  const make = (options: { retryStrategy?: never } = {}, { Redis: Client } = NEWEST) =>
    new Client(proxy.current.url, options);
  const halfOpen = () => {
    const half = proxy.current.connections;
    return { where: (one: ProxiedConnection) => half.includes(one) };
  };

  it.each(IOREDIS_VERSIONS)('is connected anew when it is half open, %s', async (_, ioredis) => {
    const { connection, errors, warnings } = open(make({}, ioredis));
    await eventually(() => run(connection));
    const half = proxy.current.connections;
    proxy.current.blackhole('both', halfOpen());
    const reply = run(connection);
    expect(await eventually(() => reply, FOREIGN)).toMatchObject({ value: 't', resent: true });
    expect(errors).toEqual(['Redis has not answered for 3 s']);
    expect(warnings).toEqual([]);
    for (const one of half) one.cut('rst');
  });

  it('is left alone, and told of once for each silence, where it would not reconnect', async () => {
    const { connection, errors, warnings } = open(make({ retryStrategy: null as never }));
    await eventually(() => run(connection));
    for (let silences = 1; silences <= 2; silences++) {
      const silence = proxy.current.hold('toClient', halfOpen());
      const reply = run(connection);
      await eventually(() => warnings.length === silences, FOREIGN);
      expect(warnings.at(-1)).toContain('set its retryStrategy and its socketTimeout');
      silence.heal();
      expect(await reply).toMatchObject({ value: 't', resent: false });
    }
    expect(errors).toEqual([]);
  });

  it('is left alone while the whole server is silent', async () => {
    const { connection, errors, warnings } = open(make());
    await eventually(() => run(connection));
    const { accepted } = proxy.current.counts;
    redis.pause();
    const reply = run(connection);
    // The server does not answer another connection either, twice.
    await eventually(() => proxy.current.counts.accepted >= accepted + 2, FOREIGN).finally(() => {
      redis.resume();
    });
    expect(await reply).toMatchObject({ value: 't', resent: false });
    await eventually(() => proxy.current.connections.length === 1, FOREIGN);
    expect([errors, warnings]).toEqual([[], []]);
  });

  it.each<[string, string[]]>([
    ['BLPOP', ['list', '6']],
    ['XREAD', ['BLOCK', '6000', 'STREAMS', 'stream', '$']],
  ])('is left alone, and told of, while %s of the application blocks it', async (name, args) => {
    const client = make();
    const { connection, errors, warnings } = open(client);
    await eventually(() => run(connection));
    const blocked = client.call(name, ...args);
    expect(await run(connection)).toMatchObject({ value: 't', resent: false });
    expect(await blocked).toBeNull();
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

  const make = (options: { clusterRetryStrategy?: never } = {}, { Cluster: Client } = NEWEST) => {
    const port = String(group.masters[0]?.server.port);
    const natMap = { [`127.0.0.1:${port}`]: { host: '127.0.0.1', port: proxy.port } };
    return new Client(group.addresses.slice(1), { natMap, ...options });
  };

  it.each(IOREDIS_VERSIONS)('has a half-open node connected anew, %s', async (_, ioredis) => {
    const client = make({}, ioredis);
    const { connection, warnings } = open(client);
    await eventually(() => run(connection));
    const half = proxy.connections;
    const others = client.nodes('master').filter(({ options }) => options.port !== proxy.port);
    proxy.blackhole('both', { where: (one) => half.includes(one) });
    const reply = run(connection);
    expect(await eventually(() => reply, FOREIGN)).toMatchObject({ value: 't', resent: true });
    expect(others.map(({ status }) => status)).toEqual(['ready', 'ready']);
    expect(client.nodes('master')).toEqual(expect.arrayContaining(others));
    expect(warnings).toEqual([]);
    for (const one of half) one.cut('rst');
  });

  it('is left alone, and told of, where it would not reconnect', async () => {
    const { connection, warnings } = open(make({ clusterRetryStrategy: null as never }));
    await eventually(() => run(connection));
    const half = proxy.connections;
    const silence = proxy.hold('toClient', { where: (one) => half.includes(one) });
    const reply = run(connection);
    await eventually(() => warnings.length > 0, FOREIGN);
    expect(warnings).toEqual([
      expect.stringContaining('set its clusterRetryStrategy and its socketTimeout'),
    ]);
    silence.heal();
    expect(await reply).toMatchObject({ value: 't', resent: false });
  });
});
