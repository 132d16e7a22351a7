import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../../test/support/eventually.js';
import { FaultProxy } from '../../../../test/support/fault-proxy.js';
import { NODE_REDIS_VERSIONS } from '../../../../test/support/node-redis-versions.js';
import { isBeforeRedis7 } from '../../../../test/support/server-facts.js';
import { addSlots, ClusterGroup, type Node } from '../../../../test/support/topology.js';
import { nodeAt, NotSentError, type ClusterClient, type NodeClient } from '../connection/client.js';
import { hashSlot } from '../connection/hash-slot.js';
import { isMovingSlot, isReply } from '../connection/reply-error.js';
import { chooseClient } from '../ioredis/choose-client.js';
import { nodeRedis } from './node-redis.js';

const INCR = "return redis.call('incr', KEYS[1])";
const errorOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error as Error,
  );

describe.each(NODE_REDIS_VERSIONS)('a Cluster over %s', (_, { createCluster }) => {
  let group: ClusterGroup;
  let proxy: FaultProxy;
  const clusters: ClusterClient[] = [];
  let told: string[] = [];

  beforeAll(async () => {
    group = await ClusterGroup.start({ masters: 2, replicated: false });
    proxy = await FaultProxy.start(first().server);
  });
  afterEach(async () => {
    for (const cluster of clusters.splice(0)) cluster.end();
    await proxy.heal();
    for (const { admin } of group.masters) await admin.flushall();
    for (const { admin } of group.masters) {
      await eventually(async () => {
        const list = String(await admin.call('CLIENT', 'LIST', 'TYPE', 'normal'))
          .trim()
          .split('\n');
        // Only the one that looks. MIGRATE keeps its connection for a while.
        expect(list.filter((line) => !line.includes('cmd=restore'))).toHaveLength(1);
      });
    }
  });
  afterAll(async () => {
    await proxy.close();
    await group.stop();
  });

  const first = () => group.masters[0] as Node;
  const addressOf = ({ server }: Node) => `127.0.0.1:${String(server.port)}`;
  const options = (more: object = {}) => ({
    rootNodes: group.addresses.map((socket) => ({ socket })),
    ...more,
  });
  const open = async (more?: object): Promise<ClusterClient> => {
    const cluster = chooseClient(nodeRedis(createCluster(options(more)))).client as ClusterClient;
    clusters.push(cluster);
    told = [];
    for (const event of ['ready', 'broken', 'failed', 'ended', 'refreshed'] as const) {
      cluster.on(event, () => told.push(event));
    }
    await cluster.connect();
    await eventually(() => cluster.nodes('master').every((node) => node.isReady));
    return cluster;
  };
  /** A name whose slot the first master has. */
  const ofFirst = async () => {
    for (let i = 0; ; i += 1) {
      const name = `name_${String(i)}`;
      if ((await group.masterOf(hashSlot(name))) === first()) return name;
    }
  };

  it('knows the masters and their slots, and ends', async () => {
    const cluster = await open();
    expect(cluster).toMatchObject({ status: 'ready', isReady: true, topology: 'cluster' });
    expect(told).toEqual(['refreshed', 'ready']);
    const addresses = cluster.nodes('master').map(({ address }) => address);
    expect(addresses.sort()).toEqual(group.masters.map(addressOf).sort());
    for (const slot of [0, 8_191, 8_192, 16_383]) {
      expect(cluster.masterOf(slot)).toBe(addressOf(await group.masterOf(slot)));
    }
    expect(await cluster.send('ping')).toBe('PONG');
    cluster.end();
    expect(cluster.status).toBe('ended');
    await expect(cluster.evaluate('eval', [INCR, 1, 'a'])).rejects.toThrow();
  });

  it('connects later if no server answers at first', async () => {
    proxy.refuse();
    const port = proxy.port;
    const rootNodes = [{ socket: { host: '127.0.0.1', port } }];
    const cluster = chooseClient(nodeRedis(createCluster({ rootNodes }))).client as ClusterClient;
    clusters.push(cluster);
    await expect(cluster.connect()).rejects.toThrow('ECONNREFUSED');
    expect(cluster.status).toBe('away');
    await proxy.accept();
    await eventually(() => expect(cluster.isReady).toBe(true));
  });

  it('sends scripts to the node of their keys', async () => {
    const cluster = await open();
    for (const name of ['a', 'b', 'c', '{a}d', 'product_1']) {
      expect(await cluster.evaluate('eval', [INCR, 1, name])).toBe(1);
      expect(await (await group.masterOf(hashSlot(name))).admin.get(name)).toBe('1');
    }
    const error = await errorOf(cluster.evaluate('evalsha', ['0'.repeat(40), 1, 'a']));
    expect(isReply(error)).toBe(true);
  });

  it('follows a slot that has moved, and tells it', async () => {
    const cluster = await open();
    const name = await ofFirst();
    await cluster.evaluate('eval', [INCR, 1, name]);
    const [from, to] = group.masters as [Node, Node];
    await group.moveSlot(hashSlot(name), to);
    told = [];
    expect(await cluster.evaluate('eval', [INCR, 1, name])).toBe(2);
    expect(told).toEqual(['refreshed']);
    expect(cluster.masterOf(hashSlot(name))).toBe(addressOf(to));
    await group.moveSlot(hashSlot(name), from);
    await cluster.refresh();
    expect(cluster.masterOf(hashSlot(name))).toBe(addressOf(from));
  });

  it('asks the other node for a slot on its way, and reports one that is torn', async () => {
    const cluster = await open();
    const name = await ofFirst();
    const [from, to] = group.masters as [Node, Node];
    await from.admin.set(`{${name}}stays`, 1);
    await group.moveSlot(hashSlot(name), to, async () => {
      const runs = Array.from({ length: 5 }, () => cluster.evaluate('eval', [INCR, 1, name]));
      expect(await Promise.all(runs)).toEqual([1, 2, 3, 4, 5]);
      const torn = "return redis.call('mget', KEYS[1], KEYS[2])";
      const words = [name, `{${name}}missing`] as const;
      const error = await errorOf(cluster.evaluate('eval', [torn, 2, ...words]));
      expect(isMovingSlot(error)).toBe(true);
    });
    expect(await to.admin.get(name)).toBe('5');
    await group.moveSlot(hashSlot(name), from);
  });

  it('never repeats a script whose connection broke, at a mapped address, and is back', async () => {
    const nodeAddressMap = (address: string) =>
      address === addressOf(first()) ? { host: '127.0.0.1', port: proxy.port } : undefined;
    const cluster = await open({ nodeAddressMap });
    const name = await ofFirst();
    proxy.loseReply({ containing: 'incr', times: 1 });
    const error = await errorOf(cluster.evaluate('eval', [INCR, 1, name]));
    expect(isReply(error)).toBe(false);
    expect(told).toContain('broken');
    expect(cluster.isReady).toBe(true);
    expect(await cluster.evaluate('eval', [INCR, 1, name])).toBe(2);
    expect(nodeAt(cluster, 'master', addressOf(first()))?.isReady).toBe(true);
    told = [];
    proxy.refuse();
    proxy.cut();
    const timesOf = (event: string) => told.filter((one) => one === event).length;
    await eventually(() => timesOf('failed') >= 3);
    expect(timesOf('broken')).toBe(1);
    const unsent = await errorOf(cluster.evaluate('eval', [INCR, 1, name]));
    expect(unsent).toBeInstanceOf(NotSentError);
    expect(unsent?.cause).toMatchObject({ code: 'ECONNREFUSED' });
  });

  (isBeforeRedis7 ? it.skip : it).each(['nothing', 'a command'])(
    'notices that a sharded channel has moved while %s waits for an answer',
    async (what) => {
      const nodeAddressMap = () => ({ host: '127.0.0.1', port: proxy.port });
      const cluster = await open({ nodeAddressMap });
      const name = await ofFirst();
      const master = nodeAt(cluster, 'all', cluster.masterOf(hashSlot(name)) ?? '');
      const node = master?.another('messages') as NodeClient;
      let astray = 0;
      node.on('astray', () => (astray += 1));
      await node.connect();
      for (const channel of [name, `{${name}}left`]) await node.subscribe('sharded', [channel]);
      await node.unsubscribe('sharded', [`{${name}}left`]);
      expect(astray).toBe(0);
      const held = what === 'nothing' ? undefined : proxy.hold('toServer');
      const answer = node.send('ping');
      if (held !== undefined) await eventually(() => expect(held.hits).toBeGreaterThan(0));
      const [from, to] = group.masters as [Node, Node];
      await group.moveSlot(hashSlot(name), to);
      await eventually(() => expect(astray).toBe(1));
      held?.heal();
      expect(await answer).toBe('PONG');
      const refused = errorOf(node.subscribe('sharded', [`{${name}}more`]));
      expect(isReply(await refused)).toBe(true);
      node.end();
      await group.moveSlot(hashSlot(name), from);
    },
  );

  // The last one: it takes the Cluster apart.
  it('finds the slots of a node that has left, though only that node answers for a while', async () => {
    const [stays, leaves] = group.masters as [Node, Node];
    const { host, port } = leaves.server;
    const cluster = await open({ rootNodes: [{ socket: { host, port } }] });
    const id = String(await leaves.admin.call('CLUSTER', 'MYID'));
    await leaves.admin.call('CLUSTER', 'RESET', 'HARD');
    await stays.admin.call('CLUSTER', 'FORGET', id);
    await addSlots(stays.admin, 8_192, 16_383);
    await stays.admin.call('CLIENT', 'KILL', 'TYPE', 'normal');
    await eventually(() => expect(told).toContain('broken'));
    await eventually(() => cluster.evaluate('eval', [INCR, 1, 'a']));
    expect(cluster.masterOf(hashSlot('a'))).toBe(addressOf(stays));
  });
});
