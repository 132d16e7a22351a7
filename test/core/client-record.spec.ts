import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { type Lease, type LockEvent, type LockFamily } from 'nestjs-redis-lock/core';
import { hostname } from 'node:os';
import { eventually, useRealRedis } from '../support/set-up.js';
import { useLockFamilies } from '../support/lock-families.js';
import { ClusterGroup } from '../support/topology.js';

const HERE = { host: hostname(), pid: process.pid };
const DAY_MS = 86_400_000;
const servers = [useRealRedis(), useRealRedis(), useRealRedis()] as const;
const [redis] = servers;
const open = useLockFamilies(servers);

const recordOf = (locks: LockFamily, prefix = '') =>
  `nestjs_client:{${prefix}${String(locks.monitor.status().clients[0])}}`;
const isThere = async (key: string, server = redis) => (await server.admin.exists(key)) === 1;

describe('the record of a process', () => {
  it('names host and pid for a day, is written once, and goes with the process', async () => {
    let locks: LockFamily | undefined;
    const sent = await redis.commandsDuring(async () => {
      locks = open({ keyPrefix: 'shop:' });
      await locks.lock.using('a', () => undefined);
      await locks.lock.using('a', () => undefined);
      const key = recordOf(locks, 'shop:');
      await eventually(() => isThere(key));
      expect(await redis.admin.get(key)).toBe(`${String(process.pid)} ${hostname()}`);
      expect(await redis.admin.pttl(key)).toBeGreaterThan(DAY_MS - 60_000);
    });
    expect(sent.set).toBe(1);
    await locks?.close();
    await eventually(async () => expect(await redis.admin.keys('*')).toEqual([]));
  });

  it('is written for a client of the application, also one that is connected already', async () => {
    const client = new Redis(redis.url);
    await client.ping();
    const locks = open({ connection: client });
    await eventually(() => isThere(recordOf(locks)));
    await locks.close();
    await eventually(async () => (await client.keys('*')).length === 0);
    client.disconnect();
  });

  it('names no process if its host would write control characters to a log', async () => {
    const locks = open();
    await eventually(() => isThere(recordOf(locks)));
    await locks.lock.using('a', async () => {
      const processOf = async () => (await locks.monitor.inspect('a')).holders[0]?.process;
      expect(await processOf()).toEqual(HERE);
      await redis.admin.set(recordOf(locks), '17 shop\u001b[2J');
      expect(await processOf()).toBeUndefined();
    });
  });

  it('is written again on a server that has lost it', async () => {
    const locks = open();
    await eventually(() => isThere(recordOf(locks)));
    await redis.restart();
    await eventually(() => isThere(recordOf(locks)));
  });

  it('is on each server of a red lock', async () => {
    const locks = open({ redLock: { nodes: servers.map(({ url }) => url) } });
    const { clients } = locks.monitor.status();
    expect(clients).toHaveLength(2);
    for (const server of servers)
      await eventually(() => isThere(`nestjs_client:{${String(clients[1])}}`, server));
  });

  it('delays close() by a second at most when Redis does not answer', async () => {
    const locks = open();
    await eventually(() => isThere(recordOf(locks)));
    redis.pause();
    const from = performance.now();
    await locks.close();
    expect(performance.now() - from).toBeLessThan(5_000);
    redis.resume();
    await eventually(async () => (await redis.clients()).length === 0);
    await redis.admin.flushall();
  });
});

describe('inspect', () => {
  type Take = (locks: LockFamily) => Promise<Lease>;
  const KINDS: [string, Take][] = [
    ['lock', (locks) => locks.lock.acquire('a')],
    ['fair', (locks) => locks.fair.acquire('a')],
    ['read', (locks) => locks.readWrite.get('a').read.acquire()],
    ['write', (locks) => locks.readWrite.get('a').write.acquire()],
    ['semaphore', (locks) => locks.semaphore.get('a', { capacity: 2 }).acquire({ permits: 2 })],
  ];

  it.each(KINDS)('names the process of who holds and who waits: %s', async (_, take) => {
    const [ours, theirs] = [open(), open()];
    const lease = await take(ours);
    const waiting = (_ === 'read' ? theirs.readWrite.get('a').write.acquire() : take(theirs)).then(
      (its) => its.release(),
    );
    const look = () => theirs.monitor.inspect('a');
    await eventually(async () => expect((await look()).queues.length).toBeGreaterThan(0));
    const { holders, queues } = await look();
    expect(holders.map(({ process }) => process)).toEqual(holders.map(() => HERE));
    const waiters = queues.flatMap((queue) => queue.waiters);
    expect(waiters.map(({ process }) => process)).toEqual(waiters.map(() => HERE));
    await lease.release();
    await waiting;
    await redis.admin.flushall();
  });

  it('gives a process of Java none, and no process to what another client wrote there', async () => {
    const locks = open();
    const java = '0f7d2c3e-52d1-4c36-9d2c-6f1e5a1e2b3c:12';
    await redis.admin.hset('a', java, 1);
    expect((await locks.monitor.inspect('a')).holders[0]).not.toHaveProperty('process');
    for (const text of ['', 'shop-7', '17', 'x y']) {
      await redis.admin.set('nestjs_client:{0f7d2c3e-52d1}', text);
      expect((await locks.monitor.inspect('a')).holders[0]).not.toHaveProperty('process');
    }
    await redis.admin.flushall();
  });

  it('is joined by the record of a forced release', async () => {
    const events: LockEvent[] = [];
    const locks = open({ observer: { observe: (event) => events.push(event) } });
    await locks.lock.acquire('a', { leaseTimeMs: 20_000 });
    await open().monitor.inspect('a');
    await eventually(() => isThere(recordOf(locks)));
    expect(await locks.monitor.forceRelease('a')).toBe(true);
    const taken = events.filter(({ type }) => type === 'force-released');
    expect(taken).toMatchObject([{ holders: [{ holdCount: 1, process: HERE }] }]);
  });
});

describe('in a Cluster', () => {
  let cluster: ClusterGroup;
  beforeAll(async () => {
    cluster = await ClusterGroup.start({ replicated: false });
  });
  afterAll(() => cluster.stop());

  it('the record has a slot of its own, and inspect finds it', async () => {
    const client = cluster.connect();
    const locks = open({ connection: client });
    for (const name of ['a', 'b', 'c']) {
      const lease = await locks.lock.acquire(name);
      await eventually(async () => {
        const { holders } = await locks.monitor.inspect(name);
        expect(holders).toMatchObject([{ owner: lease.owner, process: HERE }]);
      });
      await lease.release();
    }
    await locks.close();
    client.disconnect();
  });
});
