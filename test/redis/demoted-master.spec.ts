import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';

import { useApplications } from '../faults/support/applications.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { IOREDIS_VERSIONS } from '../support/ioredis-versions.js';
import { eventually, Stopwatch } from '../support/set-up.js';
import { hasReplicas, ReplicaGroup, type Node } from '../support/topology.js';

/** Five times what is promised. */
const IN_USE = { withinMs: 15_000 };
/** No waiter gets in by a poll. */
const NO_POLL = { pollIntervalMs: 60_000 };

/** As with a managed Redis, HAProxy or a service of Kubernetes: connections that are open stay where they are. */
describe('a master that is demoted behind one address', () => {
  const open = useApplications();
  const clients: Redis[] = [];
  let group: ReplicaGroup;
  let proxy: FaultProxy;

  beforeEach(async () => {
    group = await ReplicaGroup.start(1);
    proxy = await FaultProxy.start(group.master.server);
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.disconnect();
    await proxy.close();
    await group.stop();
  });

  const ways: [string, () => unknown][] = [
    ['a connection of ours', () => proxy.url],
    ...IOREDIS_VERSIONS.map(([version, ioredis]): [string, () => unknown] => [
      `a client of the caller, ${version}`,
      () => {
        const client = new ioredis.Redis(proxy.url);
        client.on('error', () => undefined);
        clients.push(client);
        return client;
      },
    ]),
  ];
  /** The old master gets no data of the new one. */
  const failOver = async (): Promise<Node> => {
    const next = group.replicas[0] as Node;
    await next.admin.replicaof('NO', 'ONE');
    await group.master.admin.replicaof('127.0.0.1', 1);
    proxy.retarget(next.server);
    return next;
  };

  it.each(ways)('%s: goes to the new one, and what is held stays held', async (_, connection) => {
    const settings = { ...NO_POLL, watchdogLeaseMs: 6_000 };
    const other = open(group.replicas[0]?.server.url, { settings });
    const app = open(connection(), { settings });
    const held = await app.locks.acquire('held', { waitTimeMs: 10_000 });
    const known = await app.locks.acquire('heard');
    // Its messages come from the old one.
    const early = app.locks.using('heard', () => undefined, { waitTimeMs: 10_000 });
    await known.release();
    await early;
    await eventually(async () => (await group.replicas[0]?.admin.exists('held')) === 1);
    const next = await failOver();

    const both = ['a', 'b'].map((name) => app.locks.acquire(name, { waitTimeMs: 30_000 }));
    const taken = await eventually(() => Promise.all(both), IN_USE);
    expect(await next.admin.exists('a', 'b')).toBe(2);
    await Promise.all(taken.map((lease) => lease.release()));

    const foreign = await other.locks.acquire('heard', { waitTimeMs: 30_000 });
    let isIn = false;
    const waiting = app.locks.acquire('heard', { waitTimeMs: 60_000 }).then((lease) => {
      isIn = true;
      return lease;
    });
    const channel = 'redisson_lock__channel:{heard}';
    await eventually(async () => Number((await next.admin.pubsub('NUMSUB', channel))[1]) > 0, {
      withinMs: 15_000,
    });
    await foreign.release();
    await eventually(() => isIn, IN_USE);
    await (await waiting).release();

    await held.renew();
    expect(held.state).toBe('held');
    await held.release();
    expect(await next.admin.exists('held')).toBe(0);
    expect(app.events.filter(({ type }) => type === 'lost')).toEqual([]);
  });

  it('connects anew twice a second at most while there is no master', async () => {
    const { locks } = open(proxy.url);
    await (await locks.acquire('a', { waitTimeMs: 10_000 })).release();
    await group.master.admin.replicaof('127.0.0.1', 1);
    const { accepted } = proxy.counts;
    const stopwatch = new Stopwatch();
    while (proxy.counts.accepted < accepted + 3) {
      await expect(locks.tryAcquire('a', { waitTimeMs: 0 })).rejects.toMatchObject({
        ...{ code: 'LOCK_BACKEND', retryable: true },
      });
    }
    expect(stopwatch.realMs).toBeGreaterThan(1_000);
  });
});

/** As after a failover by Sentinel while the old master is cut off from it, but not from its callers. */
describe('a master that is replaced, and goes on answering', () => {
  const open = useApplications();
  let group: ReplicaGroup;
  let proxy: FaultProxy;

  beforeEach(async () => {
    group = await ReplicaGroup.start(2);
    proxy = await FaultProxy.start(group.master.server);
  });
  afterEach(async () => {
    await proxy.close();
    await group.stop();
  });
  /** A held lock keeps its replicas, and a new one finds the new master. */
  const failOver = async (): Promise<Node> => {
    const [next, replica] = group.replicas as [Node, Node];
    proxy.retarget(next.server);
    await next.admin.replicaof('NO', 'ONE');
    await replica.admin.replicaof('127.0.0.1', next.server.port);
    await eventually(() => hasReplicas(next, 1), IN_USE);
    return next;
  };
  const confirmed = { minReplicas: 1, waitTimeMs: 30_000 };

  it('is asked for nothing that the new one has granted', async () => {
    const app = open(proxy.url);
    await (await app.locks.acquire('plain', { waitTimeMs: 10_000 })).release();
    const next = await failOver();
    const names = ['a', 'b', 'c'];
    const leases = await Promise.all(names.map((name) => app.locks.acquire(name, confirmed)));
    expect(await next.admin.exists(...names)).toBe(3);
    await Promise.all(leases.map((lease) => lease.release()));
    expect(await next.admin.exists(...names)).toBe(0);
    expect(await group.master.admin.exists(...names)).toBe(0);
    expect(app.events.filter(({ type }) => type === 'lost')).toEqual([]);
  });

  it('is left with all that is held, as soon as too few replicas confirm', async () => {
    const app = open(proxy.url, { settings: { watchdogLeaseMs: 6_000 } });
    const lease = await app.locks.acquire('a', confirmed);
    const next = await failOver();
    await eventually(() => app.events.some(({ type }) => type === 'recovered'), IN_USE);
    expect(lease.state).toBe('held');
    await lease.release();
    expect(await next.admin.exists('a')).toBe(0);
    await (await app.locks.acquire('plain')).release();
    expect(app.events.map(({ type }) => type)).not.toContain('lost');
  });

  it('is left by what needs replicas when the connection for commands has left it', async () => {
    const app = open(proxy.url);
    await (await app.locks.acquire('a', confirmed)).release();
    const next = await failOver();
    const [commands] = proxy.connections;
    proxy.cut({ where: (connection) => connection === commands });
    const lease = await app.locks.acquire('a', confirmed);
    expect(await next.admin.exists('a')).toBe(1);
    await lease.release();
    expect(await next.admin.exists('a')).toBe(0);
  });
});
