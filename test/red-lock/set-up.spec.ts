import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { LockConfigurationError, RedLockService } from 'nestjs-redis-lock/core';
import { systemClock } from '../../libs/redis-lock/src/core/time/clock.js';
import { LockContext } from '../../libs/redis-lock/src/core/lock-context.js';
import { openConnection } from '../support/open-connection.js';
import { QuorumConnection } from '../../libs/redis-lock/src/primitives/red-lock/quorum-connection.js';
import { useRedLocks, useServers, type RedLockClient } from '../support/red-lock-client.js';
import { eventually, useRealRedis, type RedisFixture } from '../support/set-up.js';

const LEASE_MS = 3_000;

describe('the set-up of a red lock', () => {
  const servers = useServers(3);
  const cluster = useRealRedis({ args: ['--cluster-enabled', 'yes'] });
  const open = useRedLocks(servers);
  const urls = () => servers.map(({ url }) => url);

  it.each([[[]], [undefined], [null], ['redis://127.0.0.1']])('refuses %p as nodes', (nodes) => {
    expect(() => new QuorumConnection(nodes as never, { longestLeaseMs: 1_000 })).toThrow(
      LockConfigurationError,
    );
  });

  it('refuses one client twice', async () => {
    const connection = openConnection(servers[0]?.url);
    const nodes = [connection, connection];
    expect(() => new QuorumConnection(nodes, { longestLeaseMs: 1_000 })).toThrow(/client twice/);
    await connection.close();
  });

  it.each([NaN, 0, 1.5, '1000', Infinity])('refuses %p as the longest lease', (longestLeaseMs) => {
    const node = {} as never;
    const settings = { longestLeaseMs: longestLeaseMs as number };
    expect(() => new QuorumConnection([node], settings)).toThrow(/longestLeaseMs must be/);
  });

  it('refuses a watchdog lease that is longer than the longest', async () => {
    const nodes = urls().map((url) => openConnection(url));
    const connection = new QuorumConnection(nodes, { longestLeaseMs: 10_000 });
    const context = new LockContext(connection, { watchdogLeaseMs: 10_001 }, systemClock);
    expect(() => new RedLockService(context, connection)).toThrow(LockConfigurationError);
    await context.close();
  });

  it('refuses two nodes that are one server, by whatever names: when asked, and at the first use', async () => {
    const [first, second] = urls();
    const alias = first?.replace('127.0.0.1', 'localhost');
    const { locks, connection } = open({ nodes: [first, second, alias] });
    await eventually(() => connection.nodes.every(({ guard }) => guard.runId !== undefined));
    await expect(connection.check()).rejects.toThrow(/Nodes 1 and 3 .* one and the same server/);
    await expect(locks.acquire('a')).rejects.toThrow(LockConfigurationError);
    await expect(locks.tryAcquire('a')).rejects.toThrow(LockConfigurationError);
  });

  it('refuses a replica: when asked, and at the first use', async () => {
    const replica = servers[2] as RedisFixture;
    await replica.admin.replicaof('127.0.0.1', String(servers[0]?.port));
    const { locks, connection } = open();
    await eventually(() => connection.nodes.every(({ guard }) => guard.runId !== undefined));
    await expect(connection.check()).rejects.toThrow(/a replica; it must be an independent master/);
    await expect(locks.acquire('a')).rejects.toThrow(LockConfigurationError);
    await replica.admin.replicaof('NO', 'ONE');
    expect(await locks.get('a').isLocked()).toBe(false);
  });

  it('refuses a node of a Cluster', async () => {
    const client = new Redis(cluster.url);
    const { connection } = open({ nodes: [...urls().slice(0, 2), client] });
    await eventually(() => connection.nodes.every(({ guard }) => guard.runId !== undefined));
    await expect(connection.check()).rejects.toThrow(/part of a Redis Cluster/);
    client.disconnect();
  });

  it('does not mind a node that cannot be reached when it is checked', async () => {
    const { connection } = open({ nodes: [...urls().slice(0, 2), 'redis://127.0.0.1:1'] });
    await eventually(() => connection.nodes.filter(({ guard }) => guard.runId).length === 2);
    await connection.check();
  });

  it.each([
    [1, /of 1 node does not survive the loss of a node/],
    [2, /of 2 nodes does not survive the loss of a node/],
    [4, /of 4 nodes survives no more losses than one of 3/],
  ])('warns of %d nodes', (count, message) => {
    const { events } = open({ nodes: Array.from({ length: count }, () => 'redis://127.0.0.1:1') });
    expect(events.filter(({ type }) => type === 'warning')).toEqual([
      { type: 'warning', message: expect.stringMatching(message) },
    ]);
  });

  it('does not warn of three', () => {
    expect(open().events).toEqual([]);
  });

  it('names a user who may not ask a server who it is', async () => {
    const { admin, port } = servers[1] as RedisFixture;
    await admin.acl('SETUSER', 'blind', 'on', '>pass', '~*', '&*', '+@all', '-info');
    const blind = { port, username: 'blind', password: 'pass', enableReadyCheck: false };
    const { locks } = open({ nodes: [urls()[0], blind] });
    const acquiring = locks.acquire('a');
    await expect(acquiring).rejects.toMatchObject({ code: 'LOCK_QUORUM', retryable: false });
    await expect(acquiring).rejects.toThrow(/node 2: the Redis user lacks a permission/);
    await admin.acl('DELUSER', 'blind');
  });
});

describe('a node that has restarted', () => {
  const servers = useServers(3);
  const open = useRedLocks(servers);
  const known = ({ connection }: RedLockClient) =>
    eventually(() => connection.nodes.every(({ guard }) => guard.runId !== undefined));
  const settings = { watchdogLeaseMs: LEASE_MS, longestLeaseMs: LEASE_MS };

  /** A holder whose lock is on the nodes 0 and 1 alone, of which node 1 then forgets it. */
  async function amnesia(client: RedLockClient, leaseTimeMs = LEASE_MS) {
    await known(client);
    const { admin } = servers[2] as RedisFixture;
    await admin.set('a', 'something else');
    const lease = await client.locks.acquire('a', { leaseTimeMs });
    await admin.del('a');
    await servers[1]?.restart();
    return lease;
  }

  it('does not vote before every lease is over that it may have forgotten', async () => {
    const [holder, other] = [open(settings), open(settings)];
    await known(other);
    const runIds = other.connection.nodes.map(({ guard }) => guard.runId);
    const lease = await amnesia(holder);
    await eventually(() => other.connection.nodes[1]?.guard.runId !== runIds[1]);
    const acquiring = other.locks.tryAcquire('a');
    await expect(acquiring).resolves.toBeNull();
    const next = await other.locks.acquire('a');
    expect(lease.remainingMs).toBe(0);
    await next.release();
  });

  it('would make two holders, did it vote at once', async () => {
    // A planted bug: the guard lets every node vote.
    const longLeases = { watchdogLeaseMs: 30_000, longestLeaseMs: 30_000 };
    const other = open(longLeases);
    await known(other);
    for (const { guard } of other.connection.nodes)
      Object.assign(guard, { admit: () => Promise.resolve(0), isStill: () => true });
    const lease = await amnesia(open(longLeases), longLeases.watchdogLeaseMs);
    const second = await other.locks.acquire('a');
    lease.assertHeld();
    second.assertHeld();
    await second.release();
  });

  it('does not vote either for a client that has never seen it before', async () => {
    const longestLeaseMs = 60_000;
    const { locks } = open({ longestLeaseMs, decorate: (connection) => connection });
    await expect(locks.acquire('a', { waitTimeMs: 500 })).rejects.toMatchObject({
      ...{ code: 'LOCK_QUORUM', retryable: true },
      message: expect.stringMatching(/does not vote for another \d\d s/),
    });
    const young = open({ watchdogLeaseMs: 100, longestLeaseMs: 100, decorate: (node) => node });
    await (await young.locks.acquire('a')).release();
  });

  it('costs a holder nothing while the others confirm it, and has the lock again afterwards', async () => {
    const client = open(settings);
    await known(client);
    const lease = await client.locks.acquire('a');
    await servers[1]?.restart();
    await eventually(async () => (await servers[1]?.admin.hkeys('a'))?.[0] === lease.owner);
    expect(lease.state).toBe('held');
    expect(client.eventsOf('lost')).toEqual([]);
    await lease.release();
    await eventually(async () => (await servers[1]?.admin.exists('a')) === 0);
  });
});
