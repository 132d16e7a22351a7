import { describe, expect, it } from '@jest/globals';
import { NestFactory } from '@nestjs/core';
import { Cluster } from 'ioredis';
import {
  LockConfigurationError,
  LockQuorumError,
  RedisLockModule,
  RedLockService,
  type LockEvent,
} from 'nestjs-redis-lock';
import { eventually, useRedis } from '../support/set-up.js';
import { SILENT, useApplications } from './applications.js';

describe('the option redLock', () => {
  const servers = [useRedis(), useRedis(), useRedis()] as const;
  const [redis] = servers;
  const apps = useApplications(redis);
  const urls = () => servers.map(({ url }) => url);
  const held = async () => Promise.all(servers.map(({ admin }) => admin.exists('product_1')));
  const start = async (nodes: readonly string[], longestLeaseMs = 1_000) =>
    apps.start({}, { redLock: { nodes, longestLeaseMs }, watchdogLeaseMs: 1_000 });

  it('gives locks on a majority of the servers, until the application closes', async () => {
    const app = await start(urls());
    const locks = app.nest.get(RedLockService);
    const lease = await locks.acquire('product_1', { waitTimeMs: 15_000 });
    expect((await held()).reduce((sum, one) => sum + one)).toBeGreaterThanOrEqual(2);
    lease.assertHeld();
    await app.nest.close();
    expect(await held()).toEqual([0, 0, 0]);
  });

  it('refuses locks while there is no majority', async () => {
    const app = await start([redis.url, 'redis://127.0.0.1:1', 'redis://127.0.0.1:2']);
    const locks = app.nest.get(RedLockService);
    await expect(locks.acquire('product_1', { waitTimeMs: 100 })).rejects.toThrow(LockQuorumError);
  });

  it.each([
    ['one server twice', () => [redis.url, redis.url, servers[1].url], 'one and the same server'],
    ['no servers', () => [], 'not an empty list'],
    ['a text', () => 'redis://127.0.0.1' as unknown as string[], 'redLock.nodes must be a list'],
    ['a Cluster', () => [new Cluster([], { lazyConnect: true })] as never, 'is a Cluster client'],
    ['a bad url', () => ['http://127.0.0.1'], 'redis://'],
  ])('stops the start for %s', async (_, nodes, message) => {
    const starting = start(nodes());
    await expect(starting).rejects.toThrow(LockConfigurationError);
    await expect(starting).rejects.toThrow(message);
  });

  it('leaves no connection behind when it stops the start', async () => {
    const locks = RedisLockModule.forRoot({
      connection: redis.connection,
      redLock: { nodes: [redis.url, redis.url] },
    });
    const starting = NestFactory.createApplicationContext(locks, SILENT);
    await expect(starting).rejects.toThrow('one and the same server');
    await eventually(async () => expect(await redis.clients()).toEqual([]));
  });

  it('warns of a node behind Sentinel', async () => {
    const events: LockEvent[] = [];
    const observer = { observe: (event: LockEvent) => events.push(event) };
    const behind = { sentinels: [{ host: '127.0.0.1', port: 1 }], name: 'mymaster' };
    const redLock = { nodes: [redis.url, behind, servers[1].url] };
    const app = await NestFactory.create(RedisLockModule.forRoot({ redLock, observer }), SILENT);
    expect(events).toContainEqual({
      type: 'warning',
      message: expect.stringContaining('Node 2 of the red lock is behind Sentinel'),
    });
    await app.close();
  });

  it('is what the red locks of an application without it ask for', async () => {
    const app = await apps.start({});
    const locks = app.nest.get(RedLockService);
    await expect(locks.acquire('product_1')).rejects.toThrow('the option redLock');
    await expect(locks.using('product_1', () => 1)).rejects.toThrow(LockConfigurationError);
    expect(() => locks.get('product_1')).toThrow(LockConfigurationError);
  });
});
