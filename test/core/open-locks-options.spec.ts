import { describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { LockConfigurationError, openLocks, type OpenLocksOptions } from 'nestjs-redis-lock/core';
import { once } from 'node:events';
import { eventually, useRedis } from '../support/set-up.js';

const redis = useRedis();

/** Options as they come from JavaScript. */
const loose = (options: unknown) => () => openLocks(options as OpenLocksOptions);

describe('the options of openLocks()', () => {
  it.each([
    [null, 'openLocks(): the options must be a plain object'],
    ['redis://u:secret@h', 'openLocks(): the options must be a plain object'],
    [{ url: 'redis://h' }, 'openLocks(): unknown option "url"'],
    [{ isGlobal: true }, 'openLocks(): unknown option "isGlobal"'],
    [{ leaseTimeMs: 1_000 }, 'openLocks(): leaseTimeMs is an option of a call'],
    [{ wakeUp: 'poll' }, 'openLocks(): wakeUp belongs under tuning: { wakeUp: … }'],
    [{ tuning: { wakeup: 'poll' } }, 'tuning: unknown option "wakeup"'],
    [{ name: 'a b' }, 'name must consist of letters'],
    [{ waitTimeMs: -1 }, 'waitTimeMs must be a whole number'],
    [{ observer: () => undefined }, 'observer must be an object'],
    [{ connection: undefined }, 'is an environment variable missing?'],
    [{ connection: 'http://h' }, 'connection must be a url that begins with redis://'],
    [{ connection: { url: 'redis://h' } }, 'url'],
    [{ connection: { sendCommand: () => undefined } }, 'a client of another package'],
    [{ redLock: { nodes: [] } }, 'not an empty list'],
  ])('are refused at once: %j', (options, message) => {
    expect(loose(options)).toThrow(LockConfigurationError);
    expect(loose(options)).toThrow(message);
  });

  it('leave no listener on a client of the caller when they are refused', () => {
    const [client, node] = [1, 2].map(() => new Redis({ lazyConnect: true }));
    const cluster = new Cluster([], { lazyConnect: true });
    const nodes = [node, cluster];
    expect(loose({ connection: client, redLock: { nodes } })).toThrow('is a Cluster client');
    expect(loose({ connection: client, redLock: { nodes: [node, 5] } })).toThrow('not 5');
    for (const emitter of [client, node, cluster]) expect(emitter?.listenerCount('ready')).toBe(0);
    expect(client?.status).toBe('wait');
  });

  it('need redLock for red locks', async () => {
    await using locks = openLocks({ connection: redis.url });
    const { red } = locks;
    await expect(red.acquire('a')).rejects.toThrow('set the option redLock');
    await expect(red.tryAcquire('a')).rejects.toThrow(LockConfigurationError);
    await expect(red.using('a', () => 1)).rejects.toThrow(LockConfigurationError);
    expect(() => red.get('a')).toThrow(LockConfigurationError);
  });

  it('refuse red locks, from the first on, if one server is there twice', async () => {
    const nodes = [new Redis(redis.url), new Redis(redis.url)];
    // The first call then comes before the servers are known.
    await Promise.all(nodes.map((node) => once(node, 'ready')));
    // Servers vote only when they have been up for the longest lease.
    await eventually(async () => {
      const [, seconds] = /uptime_in_seconds:(\d+)/.exec(await redis.admin.info('server')) ?? [];
      return Number(seconds) > 2;
    });
    const redLock = { nodes, longestLeaseMs: 1_000 };
    await using locks = openLocks({ connection: redis.url, watchdogLeaseMs: 1_000, redLock });
    const { red } = locks;
    for (const call of [
      () => red.acquire('a', { waitTimeMs: 15_000 }),
      () => red.tryAcquire('a'),
      () => red.using('a', () => 1),
      () => red.get('a').acquire(),
    ]) {
      const refused = expect(call()).rejects;
      await refused.toThrow('Nodes 1 and 2 of the red lock are one and the same server');
    }
    await eventually(async () => (await redis.admin.exists('a')) === 0);
    for (const node of nodes) node.disconnect();
  });
});
