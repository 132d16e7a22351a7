import { EventEmitter } from 'node:events';

import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { eventually } from '../../../../test/support/eventually.js';
import { FaultProxy } from '../../../../test/support/fault-proxy.js';
import { NODE_REDIS_VERSIONS } from '../../../../test/support/node-redis-versions.js';
import { killNode, SentinelGroup } from '../../../../test/support/topology.js';
import type { NodeClient } from '../connection/client.js';
import { chooseClient } from '../ioredis/choose-client.js';
import { nodeRedis } from './node-redis.js';
import type { RedisClient } from './own-client.js';
import { SentinelPlace } from './sentinel-place.js';

const FAILED_OVER = { withinMs: 60_000 };

interface Sentinel {
  connect(): Promise<unknown>;
  destroy(): Promise<unknown>;
  on(event: 'error', listener: () => void): unknown;
}

let at: { host: string; port: number } | undefined;

const created = (connect: () => Promise<void>) => {
  const sentinel = Object.assign(new EventEmitter(), {
    ...{ isOpen: true, connect, destroy: () => Promise.resolve() },
    ...{ getMasterNode: () => at, _execute: () => Promise.resolve({} as RedisClient) },
  });
  const route = { hosts: [], user: '', hasPassword: false, isEncrypted: false };
  return { sentinel, place: new SentinelPlace(sentinel as never, route, true) };
};

it('says that the sentinels name no master, and takes one that they name later', async () => {
  jest.useFakeTimers();
  try {
    let name = (): void => undefined;
    const { place } = created(() => new Promise((resolve) => (name = resolve)));
    const searches = [place.find(), place.find()].map((search) =>
      expect(search).rejects.toThrow('The sentinels have led to no master within 5 s'),
    );
    await jest.advanceTimersByTimeAsync(5_000);
    await Promise.all(searches);
    const search = place.find();
    at = { host: 'late', port: 1 };
    name();
    expect((await search).at).toEqual(at);
    expect(jest.getTimerCount()).toBe(0);
  } finally {
    jest.useRealTimers();
  }
});

it('does not lead back to the old master while the new one is not ready', async () => {
  at = { host: 'old', port: 1 };
  const { sentinel, place } = created(() => Promise.resolve());
  place.follow(
    () => undefined,
    () => undefined,
  );
  expect((await place.find()).at).toEqual(at);
  at = undefined;
  // A master that is away for a moment.
  expect((await place.find()).at).toEqual({ host: 'old', port: 1 });
  sentinel.emit('topology-change', { type: 'MASTER_CHANGE', node: { host: 'new', port: 1 } });
  await expect(place.find()).rejects.toThrow('not ready yet');
  at = { host: 'new', port: 1 };
  expect((await place.find()).at).toEqual(at);
});

describe.each(NODE_REDIS_VERSIONS)('sentinels over %s', (version, { createSentinel }) => {
  let group: SentinelGroup;
  const nodes: NodeClient[] = [];
  const sentinels: Sentinel[] = [];

  beforeAll(async () => {
    group = await SentinelGroup.start();
  });
  afterEach(async () => {
    for (const node of nodes.splice(0)) node.end();
    await Promise.all(sentinels.splice(0).map((one) => one.destroy().catch(() => undefined)));
  });
  afterAll(() => group.stop());

  const options = () => {
    const { sentinels: sentinelRootNodes, name } = group.connection;
    return { name, sentinelRootNodes };
  };
  const over = (source: object): NodeClient => {
    const node = chooseClient(nodeRedis(source)).client as NodeClient;
    nodes.push(node);
    return node;
  };
  const opened = async (): Promise<Sentinel> => {
    const sentinel = createSentinel(options()) as unknown as Sentinel;
    sentinel.on('error', () => undefined);
    sentinels.push(sentinel);
    await sentinel.connect();
    return sentinel;
  };

  it('finds the master by options, and ends', async () => {
    const node = over(options());
    expect(node).toMatchObject({ topology: 'sentinel', status: 'idle' });
    await node.connect();
    expect(node.address).toBe(`127.0.0.1:${String(group.master.server.port)}`);
    expect(await node.send('set', 'a', 1)).toBe('OK');
    const second = node.another('messages');
    await second.connect();
    expect(await second.send('get', 'a')).toBe('1');
    second.end();
    node.end();
    expect(node.status).toBe('ended');
  });

  it('waits for a sentinel client that the application has not connected yet', async () => {
    const sentinel = createSentinel(options()) as unknown as Sentinel;
    sentinel.on('error', () => undefined);
    sentinels.push(sentinel);
    const node = over(sentinel);
    const connecting = node.connect().catch(() => undefined);
    await sentinel.connect();
    await connecting;
    await eventually(() => expect(node.isReady).toBe(true));
  });

  it('has a connection of its own, which outlives the client of the application', async () => {
    const sentinel = await opened();
    const node = over(sentinel);
    await node.connect();
    await sentinel.destroy();
    expect(await node.send('ping')).toBe('PONG');
    node.reconnect();
    await eventually(() => expect(node.isReady).toBe(true));
    expect(await node.send('ping')).toBe('PONG');
  });

  it('follows a failover', async () => {
    const [byClient, byOptions] = [over(await opened()), over(options())];
    const both = [byClient, byOptions];
    await Promise.all(both.map((node) => node.connect()));
    const before = byClient.address;
    await killNode(group.master);
    await eventually(() => {
      for (const node of both) {
        expect(node.isReady).toBe(true);
        expect(node.address).not.toBe(before);
      }
    }, FAILED_OVER);
    const { admin } = await group.present();
    for (const node of both) await node.send('incr', 'written');
    expect(await admin.get('written')).toBe('2');
  });

  it('says why it cannot connect to the master, and goes to another one', async () => {
    const { server } = await group.present();
    const proxy = await FaultProxy.start(server);
    const [at] = group.connection.sentinels;
    const sentinel = new Redis(at?.port ?? 0);
    const name = 'refusing';
    const watch = (port: number) =>
      sentinel.call('SENTINEL', 'MONITOR', name, '127.0.0.1', String(port), '1');
    try {
      await watch(proxy.port);
      await eventually(async () => {
        const facts = (await sentinel.call('SENTINEL', 'MASTER', name)) as string[];
        expect(facts[facts.indexOf('flags') + 1]).toBe('master');
        // It calls itself connected before it is: one for commands, one for messages.
        expect(proxy.connections.length).toBeGreaterThanOrEqual(2);
      });
      proxy.refuse();
      const node = over({ name, sentinelRootNodes: [at] });
      await expect(node.connect()).rejects.toThrow('ECONNREFUSED');
      await sentinel.call('SENTINEL', 'REMOVE', name);
      await watch(server.port);
      await eventually(() => expect(node.isReady).toBe(true));
    } finally {
      await sentinel.call('SENTINEL', 'REMOVE', name);
      sentinel.disconnect();
      await proxy.close();
    }
  });

  it('leaves a master that is silent from the start', async () => {
    const { server } = await group.present();
    server.pause();
    const node = over(options());
    node.connect().catch(() => undefined);
    await eventually(() => expect(node.isReady).toBe(true), FAILED_OVER);
    expect(node.address).not.toBe(`127.0.0.1:${String(server.port)}`);
    server.resume();
  });
});
