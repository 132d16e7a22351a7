import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis, type RedisOptions } from 'ioredis';
import { eventually } from './eventually.js';
import { FaultProxy } from './fault-proxy.js';
import { Random } from './random.js';
import { useRealRedis } from './redis-server.js';
import { FrameSplitter } from './resp.js';

/** How long a negative claim ("no answer") is watched. */
const QUIET_MS = 60;

describe('FaultProxy', () => {
  const redis = useRealRedis();
  const clients: Redis[] = [];
  let proxy: FaultProxy;

  /** A client that neither reconnects nor sends again, so that a spec sees each fault itself. */
  const connect = async ({
    connectionName = '',
    retryStrategy = () => null,
  }: Pick<RedisOptions, 'connectionName' | 'retryStrategy'> = {}) => {
    const client = new Redis(proxy.url, { connectionName, retryStrategy });
    clients.push(client);
    client.on('error', () => undefined);
    await new Promise((resolve) => client.once('ready', resolve));
    return client;
  };
  const staysQuiet = async (answer: Promise<unknown>) => {
    let settled = false;
    const settle = () => (settled = true);
    answer.then(settle, settle);
    await expect(eventually(() => settled, { withinMs: QUIET_MS })).rejects.toThrow('still false');
  };

  beforeEach(async () => {
    proxy = await FaultProxy.start(redis);
  });
  afterEach(async () => {
    // ioredis keeps the process alive for 2 s when an ended client is disconnected once more.
    for (const client of clients.splice(0)) if (client.status !== 'end') client.disconnect();
    await proxy.close();
    expect(proxy.connections).toEqual([]);
    await eventually(async () => {
      expect(await redis.clients()).toEqual([]);
    });
  });

  it('passes everything on, large and small, and forgets closed connections', async () => {
    const client = await connect({ connectionName: 'shop' });
    const big = 'x'.repeat(3_000_000);
    expect(await client.set('big', big)).toBe('OK');
    expect(await client.get('big')).toBe(big);
    const results = await Promise.all(Array.from({ length: 500 }, () => client.incr('n')));
    expect(results.at(-1)).toBe(500);
    expect(proxy.connections.map(({ name }) => name)).toEqual(['shop']);
    await client.quit();
    await eventually(() => proxy.connections.length === 0);
    expect(proxy.counts).toEqual({ accepted: 1, cut: 0, dropped: 0, held: 0, delayed: 0 });
  });

  it.each(['rst', 'fin'] as const)('cuts open connections (%s)', async (kind) => {
    const client = await connect();
    const ended = new Promise((resolve) => client.once('close', resolve));
    expect(proxy.cut({ kind })).toBe(1);
    await ended;
    await eventually(() => proxy.connections.length === 0);
  });

  it('cuts only the connections asked for', async () => {
    const [a, b] = [await connect({ connectionName: 'a' }), await connect({ connectionName: 'b' })];
    expect(proxy.cut({ where: ({ name }) => name === 'a' })).toBe(1);
    await eventually(() => a.status === 'end');
    expect(await b.ping()).toBe('PONG');
  });

  it('refuses new connections and accepts them again on the same port', async () => {
    const open = await connect();
    proxy.refuse();
    const refused = new Redis(proxy.url, { lazyConnect: true, retryStrategy: () => null });
    const errors: unknown[] = [];
    refused.on('error', (error: NodeJS.ErrnoException) => errors.push(error.code));
    await expect(refused.connect()).rejects.toThrow();
    expect(errors).toEqual(['ECONNREFUSED']);
    expect(await open.ping()).toBe('PONG');
    await proxy.accept();
    expect(await (await connect()).ping()).toBe('PONG');
  });

  it('resets a client when there is no server', async () => {
    await redis.kill();
    const client = new Redis(proxy.url, { lazyConnect: true, retryStrategy: () => null });
    client.on('error', () => undefined);
    await expect(client.connect()).rejects.toThrow();
    await redis.start();
  });

  it.each([
    ['toServer', null],
    ['toClient', 'v'],
  ] as const)('swallows what goes %s, without closing anything', async (direction, stored) => {
    const client = await connect();
    const hole = proxy.blackhole(direction);
    const answer = client.set('k', 'v');
    await staysQuiet(answer);
    if (stored) await eventually(async () => (await redis.admin.get('k')) === stored);
    expect(await redis.admin.get('k')).toBe(stored);
    expect(client.status).toBe('ready');
    expect(hole.hits).toBe(1);
    answer.catch(() => undefined);
  });

  it('keeps a closed client alive for the server when its end is swallowed', async () => {
    const client = await connect({ connectionName: 'half-open' });
    // ioredis 5.4 gives the name when it is ready.
    await eventually(async () => (await redis.clients()).includes('half-open'));
    const hole = proxy.blackhole('toServer');
    client.disconnect();
    await expect(
      eventually(async () => !(await redis.clients()).includes('half-open'), {
        withinMs: QUIET_MS,
      }),
    ).rejects.toThrow('still false');
    hole.heal();
  });

  it('forgets a connection that is cut while its end is passed on', async () => {
    const client = await connect();
    const hold = proxy.hold('toServer');
    client.disconnect();
    await eventually(() => proxy.counts.held > 0);
    hold.heal();
    proxy.cut();
    await eventually(() => proxy.connections.length === 0);
  });

  it('drops the messages of one channel only', async () => {
    const subscriber = await connect();
    const heard: string[] = [];
    subscriber.on('message', (channel: string, text: string) => heard.push(`${channel}:${text}`));
    await subscriber.subscribe('deaf', 'fine');
    expect(proxy.connections.map((connection) => connection.subscriber)).toEqual([true]);
    const fault = proxy.drop('toClient', { containing: 'deaf' });
    await redis.admin.publish('deaf', '1');
    await redis.admin.publish('fine', '2');
    await eventually(() => heard.length === 1);
    fault.heal();
    await redis.admin.publish('deaf', '3');
    await eventually(() => heard.length === 2);
    expect(heard).toEqual(['fine:2', 'deaf:3']);
    expect([fault.hits, proxy.counts.dropped]).toEqual([1, 1]);
  });

  it('loses the reply of an executed command, and replies before it arrive', async () => {
    const client = await connect();
    const fault = proxy.loseReply({ containing: 'counter', times: 1 });
    const answers = await Promise.allSettled([
      client.set('before', '1'),
      client.incr('counter'),
      client.set('after', '1'),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(await redis.admin.mget('before', 'counter')).toEqual(['1', '1']);
    expect([fault.hits, proxy.counts.cut]).toEqual([1, 1]);
  });

  it('makes a default client send a command twice, as the library must survive', async () => {
    const client = await connect({ retryStrategy: () => 1 });
    proxy.loseReply({ containing: 'counter', times: 1 });
    expect(await client.incr('counter')).toBe(2);
  });

  it('loses a command before it is executed', async () => {
    const client = await connect();
    proxy.loseRequest({ containing: 'counter', times: 1 });
    await expect(client.incr('counter')).rejects.toThrow();
    expect(await redis.admin.get('counter')).toBeNull();
  });

  it('delivers a command after its client has gone', async () => {
    const client = await connect();
    const hold = proxy.hold('toServer', { containing: 'zombie' });
    const answer = client.set('zombie', '1');
    answer.catch(() => undefined);
    await eventually(() => hold.hits === 1);
    proxy.cut({ side: 'client' });
    await expect(answer).rejects.toThrow();
    expect(await redis.admin.get('zombie')).toBeNull();
    hold.heal();
    await eventually(async () => (await redis.admin.get('zombie')) === '1');
    await eventually(() => proxy.connections.length === 0);
  });

  it('holds what follows a held frame, too, and keeps the order', async () => {
    const client = await connect();
    const hold = proxy.hold('toClient', { times: 1 });
    const order: string[] = [];
    const answers = Promise.all(
      ['a', 'b', 'c'].map(async (text) => order.push(await client.echo(text))),
    );
    await staysQuiet(answers);
    hold.heal();
    await answers;
    expect(order).toEqual(['a', 'b', 'c']);
  });

  it('delays, in order also with jitter', async () => {
    const client = await connect();
    proxy.delay('both', 10, { jitterMs: 10, random: new Random(1) });
    const started = performance.now();
    const order: string[] = [];
    await Promise.all(
      ['a', 'b', 'c', 'd'].map(async (text) => order.push(await client.echo(text))),
    );
    expect(performance.now() - started).toBeGreaterThanOrEqual(19);
    expect(order).toEqual(['a', 'b', 'c', 'd']);
    expect(proxy.counts.delayed).toBe(8);
  });

  it.each(['rst', 'fin'] as const)('cuts between two replies of a pipeline (%s)', async (kind) => {
    const client = await connect();
    proxy.cutAfter('toClient', '+OK\r\n'.length, { kind });
    const answers = await Promise.allSettled([client.set('a', '1'), client.set('b', '2')]);
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(await redis.admin.mget('a', 'b')).toEqual(['1', '2']);
  });

  it('cuts inside a command', async () => {
    const client = await connect();
    const bytes = 12;
    proxy.cutAfter('toServer', bytes);
    await expect(client.set('a', '1')).rejects.toThrow();
    expect(await redis.admin.get('a')).toBeNull();
  });

  it('heals all faults at once', async () => {
    const client = await connect();
    proxy.hold('toServer');
    proxy.blackhole('toClient', { where: ({ index }) => index > 1 });
    proxy.refuse();
    const answer = client.ping();
    await proxy.heal();
    expect(await answer).toBe('PONG');
    expect(await (await connect()).ping()).toBe('PONG');
  });
});

describe('FrameSplitter', () => {
  const FRAMES = [
    ...['PING\r\n', '*2\r\n$4\r\nECHO\r\n$5\r\na\r\nbc\r\n', '+OK\r\n', '-ERR no\r\n', ':12\r\n'],
    ...['$-1\r\n', '$0\r\n\r\n', '*-1\r\n', '*0\r\n', '*2\r\n*1\r\n:1\r\n_\r\n'],
    ...['%2\r\n+a\r\n:1\r\n+b\r\n~1\r\n#t\r\n', '|1\r\n+ttl\r\n:9\r\n$1\r\nx\r\n'],
    ...['>3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\n0\r\n', '=6\r\ntxt:ab\r\n'],
  ];

  it('finds the same frames wherever the stream is cut into chunks', () => {
    const stream = Buffer.from(FRAMES.join(''));
    for (let size = 1; size <= stream.length; size += 1) {
      const splitter = new FrameSplitter();
      const found: string[] = [];
      for (let start = 0; start < stream.length; start += size) {
        const frames = splitter.push(stream.subarray(start, start + size));
        found.push(...frames.map((frame) => frame.toString()));
      }
      expect(found).toEqual(FRAMES);
      expect(splitter.rest).toHaveLength(0);
    }
  });
});
