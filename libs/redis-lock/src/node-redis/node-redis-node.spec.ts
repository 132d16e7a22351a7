import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { eventually } from '../../../../test/support/eventually.js';
import { useProxy } from '../../../../test/support/lock-client.js';
import { NODE_REDIS_VERSIONS } from '../../../../test/support/node-redis-versions.js';
import { useRealRedis } from '../../../../test/support/redis-server.js';
import { stallProcess } from '../../../../test/support/virtual-time.js';
import type { NodeClient } from '../connection/client.js';
import { connectionOver } from '../connection/client-connection.js';
import { isReply } from '../connection/reply-error.js';
import type { LockEvent } from '../core/api/observer.js';
import { defineScript } from '../core/redis/script.js';
import { chooseClient } from '../ioredis/choose-client.js';
import { nodeRedis, type NodeRedisClient } from './node-redis.js';

const errorOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error as Error,
  );
/** The promise is 4 s, on a slow machine. */
const HALF_OPEN_FOUND = { withinMs: 5 * 4_000 };

interface Queue {
  commandsToWrite(): Iterable<unknown>;
}

/** Stores the time of the server. */
const STAMP = defineScript({
  ...{ name: 'stamp', keys: ['key'], args: [], reply: (raw) => raw },
  body: "redis.call('set', key, table.concat(redis.call('time'), ' ')) return 1",
});

describe.each(NODE_REDIS_VERSIONS)('a node of %s', (_, { createClient }) => {
  const redis = useRealRedis();
  const proxy = useProxy(redis);
  const nodes: NodeClient[] = [];
  let told: string[] = [];

  const open = (options: object = {}): NodeClient => {
    const client = createClient({ url: proxy.current.url, ...options });
    const node = chooseClient(nodeRedis(client)).client as NodeClient;
    nodes.push(node);
    for (const event of ['connected', 'ready', 'broken', 'failed', 'ended'] as const) {
      node.on(event, () => told.push(event));
    }
    return node;
  };
  const ready = async (options?: object): Promise<NodeClient> => {
    const node = open(options);
    await node.connect();
    return node;
  };

  beforeEach(() => {
    told = [];
  });
  afterEach(async () => {
    for (const node of nodes.splice(0)) node.end();
    await proxy.current.heal();
    await eventually(async () => expect(await redis.clients()).toEqual([]));
  });

  it('connects once it is told to, and ends', async () => {
    const node = open();
    expect(node).toMatchObject({ status: 'idle', isReady: false, traffic: undefined });
    await node.connect();
    expect(node).toMatchObject({ status: 'ready', isReady: true, traffic: undefined });
    expect(await node.send('set', 'a', 1)).toBe('OK');
    node.end();
    node.end();
    expect(node).toMatchObject({ status: 'ended', isReady: false });
    expect(told).toEqual(['connected', 'ready', 'ended']);
    await expect(node.send('ping')).rejects.toThrow('not connected');
    await expect(node.connect()).rejects.toThrow('closed');
  });

  it('leaves no connection when it ends while it connects', async () => {
    for (let i = 0; i < 20; i += 1) {
      const node = open();
      const connecting = node.connect().catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, i / 5));
      node.end();
      await connecting;
    }
  });

  it('sends numbers, and hears errors of Redis by the name that the locks know', async () => {
    const node = await ready();
    expect(await node.evaluate('eval', ['return {ARGV[1], KEYS[1], 7}', 1, 'ключ', 5])).toEqual([
      ...['5', 'ключ', 7],
    ]);
    const error = await errorOf(node.evaluate('evalsha', ['0'.repeat(40), 0]));
    expect(error?.message).toMatch(/^NOSCRIPT/);
    expect(isReply(error)).toBe(true);
    const script = "return {redis.error_reply('LOCKSTATE one'), false, 'two'}";
    const [first, ...others] = (await node.evaluate('eval', [script, 0])) as unknown[];
    expect(isReply(first)).toBe(true);
    expect(others).toEqual([null, 'two']);
  });

  it('ignores what an application sets for its own commands', async () => {
    const node = await ready({
      ...{ commandsQueueMaxLength: 1, pingInterval: 10, disableOfflineQueue: true },
      ...{ commandOptions: { typeMapping: { 36: Buffer, 43: Buffer }, timeout: 1 } },
      socket: { socketTimeout: 20, reconnectStrategy: false },
    });
    const commands = await redis.commandsDuring(async () => {
      const answers = await Promise.all([1, 2, 3].map((n) => node.send('echo', `a${String(n)}`)));
      expect(answers).toEqual(['a1', 'a2', 'a3']);
      await new Promise((resolve) => setTimeout(resolve, 60));
    });
    expect(told).toEqual(['connected', 'ready']);
    expect(commands).toEqual({ echo: 3 });
  });

  it('rejects what was on its way when the connection breaks, never repeats it, and is back', async () => {
    const node = await ready();
    await node.send('set', 'n', 0);
    proxy.current.loseReply({ containing: 'incr', times: 1 });
    const error = await errorOf(node.evaluate('eval', ["return redis.call('incr', 'n')", 0]));
    expect(isReply(error)).toBe(false);
    expect(told).toEqual(['connected', 'ready', 'broken']);
    await node.connect();
    expect(await node.send('get', 'n')).toBe('1');
    expect(told).toEqual(['connected', 'ready', 'broken', 'connected', 'ready']);
  });

  it('keeps trying while the server refuses connections', async () => {
    const node = await ready();
    proxy.current.refuse();
    proxy.current.cut();
    await eventually(() => expect(told.filter((event) => event === 'failed').length).toBe(3));
    expect(node).toMatchObject({ status: 'away', isReady: false });
    await proxy.current.accept();
    await eventually(() => expect(node.isReady).toBe(true));
  });

  it('connects anew on request, and rejects what was on its way', async () => {
    const node = await ready();
    redis.pause();
    const error = errorOf(node.send('ping'));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(node.traffic).toMatchObject({ pending: 1 });
    node.reconnect();
    expect(isReply(await error)).toBe(false);
    redis.resume();
    await eventually(() => expect(node.isReady).toBe(true));
    expect(told).toEqual(['connected', 'ready', 'broken', 'connected', 'ready']);
  });

  it('ends a TLS handshake that the server does not answer', async () => {
    const mute = createServer((socket) => sockets.push(socket.resume()));
    const sockets: Socket[] = [];
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
    const { port } = mute.address() as AddressInfo;
    const node = open({ url: `rediss://127.0.0.1:${String(port)}` });
    void errorOf(node.connect());
    await eventually(() => expect(sockets).toHaveLength(1));
    node.end();
    // node-redis alone would wait for 3 s.
    await eventually(() => expect(sockets[0]?.closed).toBe(true), { withinMs: 2_000 });
    mute.close();
  });

  it.each(['ready', 'arriving'])(
    'is cut off when its connection is silent while %s',
    async (state) => {
      if (state === 'arriving') proxy.current.blackhole();
      const node = state === 'arriving' ? open({ RESP: 3 }) : await ready();
      const connection = connectionOver({ client: node, isOurs: true }, undefined, 'auto', 'warn');
      connection.open();
      if (state === 'ready') {
        await connection.run(STAMP, ['a'], []);
        proxy.current.blackhole();
        connection.run(STAMP, ['a'], []).catch(() => undefined);
      } else await eventually(() => expect(node.status).toBe('arriving'));
      await eventually(() => expect(told).toContain('broken'), HALF_OPEN_FOUND);
      await proxy.current.heal();
      await eventually(() => expect(node.isReady).toBe(true), HALF_OPEN_FOUND);
      await connection.close();
      // The black hole has swallowed the end of the first one.
      proxy.current.cut();
    },
  );

  it('connects once for a second use, and ends with its connection', async () => {
    const node = await ready();
    const second = node.another('messages');
    const ended: string[] = [];
    second.on('ended', () => ended.push('ended'));
    await second.connect();
    expect(second.reconnects).toBe(false);
    proxy.current.cut();
    await eventually(() => expect(ended).toEqual(['ended']));
    expect(second.status).toBe('ended');
    await eventually(() => expect(node.isReady).toBe(true));
    proxy.current.refuse();
    const third = node.another('probe');
    await expect(third.connect()).rejects.toThrow('ECONNREFUSED');
    expect(third.status).toBe('ended');
  });

  it('knows the database of its client, and begins in 0', async () => {
    const node = await ready({ url: `${proxy.current.url}/3` });
    expect(node.database).toBe(3);
    await node.send('set', 'here', 0);
    await node.select(3);
    await node.send('set', 'there', 3);
    expect(await redis.admin.exists('here', 'there')).toBe(1);
  });

  it('has the rights of its user, and reports a wrong password as Redis does', async () => {
    await redis.admin.acl('SETUSER', 'app', 'on', '>secret', '+ping', '+auth', '+hello');
    const url = `redis://app:secret@127.0.0.1:${String(proxy.current.port)}`;
    const node = await ready({ url });
    expect(isReply(await errorOf(node.send('get', 'a')))).toBe(true);
    const errors: unknown[] = [];
    const wrong = open({ url: url.replace('secret', 'wrong') });
    wrong.on('failed', (error) => errors.push(error));
    const error = await errorOf(wrong.connect());
    expect(error?.message).toMatch(/^WRONGPASS/);
    expect(isReply(errors[0])).toBe(true);
    await redis.admin.acl('DELUSER', 'app');
  });

  describe.each(['plain', 'sharded'] as const)('messages: %s', (kind) => {
    const publish = (channel: string, text: string) =>
      redis.admin.call(kind === 'plain' ? 'publish' : 'spublish', channel, text);

    it('arrive on each channel, and no more after it was left', async () => {
      const node = (await ready()).another('messages');
      nodes.push(node);
      const heard: string[][] = [];
      node.on('message', (channel, payload) => heard.push([channel, payload]));
      await node.connect();
      await node.subscribe(kind, ['{c}1', '{c}2']);
      await node.send('ping');
      await publish('{c}1', 'a');
      await publish('{c}2', '产品');
      await eventually(() =>
        expect(heard).toEqual([
          ['{c}1', 'a'],
          ['{c}2', '产品'],
        ]),
      );
      await node.unsubscribe(kind, ['{c}1']);
      expect(await publish('{c}1', 'b')).toBe(0);
      await node.unsubscribe(kind, ['{c}2']);
      await node.send('ping');
      await node.subscribe(kind, ['{c}2']);
      expect(await publish('{c}2', 'c')).toBe(1);
      await eventually(() => expect(heard.at(-1)).toEqual(['{c}2', 'c']));
      expect(heard).toHaveLength(3);
    });

    it('arrive on a channel that is joined again while it is left', async () => {
      const node = (await ready()).another('messages');
      nodes.push(node);
      const heard: string[] = [];
      node.on('message', (_, payload) => heard.push(payload));
      await node.connect();
      for (let i = 0; i < 3; i += 1) {
        await node.subscribe(kind, ['c']);
        const left = node.unsubscribe(kind, ['c']);
        const joined = node.subscribe(kind, ['c']);
        await Promise.all([left, joined]);
        expect(await publish('c', String(i))).toBe(1);
      }
      await eventually(() => expect(heard).toEqual(['0', '1', '2']));
    });
  });

  it('a refused channel is an error of Redis', async () => {
    await redis.admin.acl('SETUSER', 'default', 'resetchannels');
    try {
      const node = (await ready()).another('messages');
      nodes.push(node);
      await node.connect();
      expect(isReply(await errorOf(node.subscribe('plain', ['c'])))).toBe(true);
      await node.send('ping');
    } finally {
      await redis.admin.acl('SETUSER', 'default', 'allchannels');
    }
  });

  it('writes what it sends at once, though the event loop stands still from then on', async () => {
    // The proxy would stand still, too.
    const node = await ready({ url: redis.url });
    const connection = connectionOver({ client: node, isOurs: true }, undefined, 'auto', 'warn');
    const run = () => connection.run(STAMP, ['stamp'], []);
    await run();
    const runs = run();
    connection.flush();
    const flushedAt = Date.now();
    stallProcess(400);
    await runs;
    const [seconds, micros] = String(await redis.admin.get('stamp'))
      .split(' ')
      .map(Number);
    expect((seconds ?? 0) * 1_000 + (micros ?? 0) / 1_000).toBeLessThan(flushedAt + 200);
    await connection.close();
  });

  /** A client whose copies, which the library makes, have another queue. */
  const withQueue = (change: (queue: Queue) => Queue | undefined) => {
    const copyOf = (options: object) => {
      const copy = createClient(options) as NodeRedisClient & { _getQueue(): Queue };
      const changed = change(copy._getQueue());
      return Object.assign(copy, { _getQueue: changed && (() => changed) });
    };
    const client = createClient({ url: redis.url });
    return chooseClient(nodeRedis(Object.assign(client, { duplicate: copyOf }))).client;
  };

  it('replaces a connection whose socket throws', async () => {
    let throws = false;
    const node = withQueue((queue) => ({
      commandsToWrite: () => {
        if (throws) throw new Error('EPIPE');
        return queue.commandsToWrite();
      },
    }));
    nodes.push(node as NodeClient);
    await node.connect();
    throws = true;
    expect(isReply(await errorOf(node.send('ping')))).toBe(false);
    throws = false;
    await eventually(() => node.isReady);
    expect(await node.send('ping')).toBe('PONG');
  });

  it('warns of a version that writes later', async () => {
    const warnings: string[] = [];
    const node = withQueue(() => undefined);
    const observe = (event: LockEvent) => {
      if (event.type === 'warning') warnings.push(event.message);
    };
    const connection = connectionOver({ client: node, isOurs: true }, { observe }, 'auto', 'warn');
    await node.connect();
    expect(warnings).toEqual([expect.stringContaining('writes late')]);
    await connection.close();
  });
});
