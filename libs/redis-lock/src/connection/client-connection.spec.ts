import { afterEach, describe, expect, it } from '@jest/globals';
import { createHook } from 'node:async_hooks';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { startRedisServer } from '../../../../scripts/redis-server.mjs';
import { eventually } from '../../../../test/support/eventually.js';
import { IOREDIS_VERSIONS } from '../../../../test/support/ioredis-versions.js';
import { useLocks, useProxy } from '../../../../test/support/lock-client.js';
import { useRealRedis } from '../../../../test/support/redis-server.js';
import type { LockBackendError } from '../core/api/errors.js';
import { defineScript } from '../core/redis/script.js';
import { LockService } from '../primitives/lock/lock-service.js';
import { hashSlot } from './hash-slot.js';
import { openConnection } from '../../../../test/support/open-connection.js';
import { Stopwatch } from '../../../../test/support/stopwatch.js';

const ECHO = defineScript({
  name: 'echo',
  keys: ['key'],
  args: ['text'],
  body: 'return {key, text}',
  reply: (raw) => (Array.isArray(raw) ? raw : undefined),
});

describe('openConnection', () => {
  const redis = useRealRedis();
  const proxy = useProxy(redis);
  const clients: (Redis | Cluster)[] = [];
  /** Declared before the locks, and so closed after them. */
  const own = <Client extends Redis | Cluster>(client: Client): Client => {
    client.on('error', () => undefined);
    clients.push(client);
    return client;
  };
  const endOwn = () => {
    for (const client of clients.splice(0)) if (client.status !== 'end') client.disconnect();
  };
  const open = useLocks(redis, (context) => new LockService(context));

  /** All that a lock asks of a connection: scripts, nested ones, waiting, wake-ups. */
  const exercise = async (connection: unknown) => {
    const client = open({ connection, pollIntervalMs: 60_000 });
    const { locks } = client;
    const waiting = await locks.using('a', async () => {
      await locks.using('a', () => undefined, { fenced: true });
      return [client.locks.tryAcquire('b'), client.locks.get('a').isLocked()];
    });
    const [b, isLocked] = await Promise.all(waiting);
    expect(isLocked).toBeDefined();
    const next = locks.acquire('b', { waitTimeMs: 60_000 });
    await eventually(() => client.eventsOf('acquired').length === 3);
    await (b as AsyncDisposable)[Symbol.asyncDispose]();
    await (await next).release();
    await client.close();
  };
  const listenersOf = (client: Redis | Cluster) =>
    client.eventNames().map((event) => [String(event), client.listenerCount(event)]);

  afterEach(endOwn);

  describe('with a client of the caller', () => {
    describe.each(IOREDIS_VERSIONS)('%s', (_, ioredis) => {
      it.each<[string, () => Promise<Redis>]>([
        [
          'ready',
          async () => {
            const client = own(new ioredis.Redis(redis.url));
            await eventually(() => client.status === 'ready');
            return client;
          },
        ],
        ['connecting', async () => own(new ioredis.Redis(redis.url))],
        ['lazyConnect', async () => own(new ioredis.Redis(redis.url, { lazyConnect: true }))],
      ])('%s: works, is never closed, and is left without listeners of ours', async (_, make) => {
        const client = await make();
        const before = listenersOf(client);
        await exercise(client);
        expect(client.status).toBe('ready');
        expect(await client.ping()).toBe('PONG');
        expect(listenersOf(client)).toEqual(before);
        endOwn();
      });

      it.each<[string, RedisOptions]>([
        ['RESP2', { protocol: 2 }],
        ['another database', { db: 3 }],
        ['auto-pipelining', { enableAutoPipelining: true }],
        ['an own time limit for commands', { commandTimeout: 5_000 }],
        ['no limit of retries', { maxRetriesPerRequest: null }],
        ['one retry', { maxRetriesPerRequest: 1 }],
        ['no offline queue', { enableOfflineQueue: false }],
        ['no ready check', { enableReadyCheck: false }],
        ['replies of RESP3', { replyMapping: 'resp3' }],
        ['a name', { connectionName: 'shop' }],
      ])('works with %s', async (_, options) => {
        const client = own(new ioredis.Redis(redis.port, '127.0.0.1', options as never));
        await exercise(client);
        endOwn();
      });
    });

    it('waits for messages without the time limit that the caller has for commands', async () => {
      const client = own(new Redis(proxy.current.url, { commandTimeout: 150 }));
      const { connection, eventsOf } = open({ connection: client });
      await eventually(() => connection.run(ECHO, ['k'], ['t']));
      proxy.current.delay('toClient', 300, { where: ({ subscriber }) => subscriber });
      const heard: string[] = [];
      const leave = connection.listen('news', {
        message: (payload) => heard.push(payload),
        confirmed: () => heard.push('confirmed'),
      });
      await eventually(() => heard.length > 0);
      await redis.resetCommandStats();
      // Redis answers its heartbeats late, too.
      await eventually(async () => ((await redis.commandStats()).ping ?? 0) >= 2);
      await redis.admin.publish('news', 'x');
      await eventually(() => heard.length > 1);
      expect(heard).toEqual(['confirmed', 'x']);
      expect(eventsOf('messages-failed')).toEqual([]);
      leave();
      endOwn();
    });

    it('subscribes anew once only its own connection was cut: another server may be the master', async () => {
      const client = own(new Redis(proxy.current.url));
      const { connection } = open({ connection: client });
      await eventually(() => connection.run(ECHO, ['k'], ['t']));
      let confirmed = 0;
      const listener = { message: () => undefined, confirmed: () => (confirmed += 1) };
      const leave = connection.listen('news', listener);
      await eventually(() => confirmed === 1);
      proxy.current.cut({ where: ({ subscriber }) => !subscriber });
      await eventually(() => confirmed === 2);
      leave();
      endOwn();
    });

    it('leaves no listener behind, however often it is used by another application', async () => {
      const client = own(new Redis(redis.url));
      const before = listenersOf(client);
      for (let i = 0; i < 15; i += 1) {
        const opened = open({ connection: client });
        await (await opened.locks.acquire('a')).release();
        await opened.close();
      }
      expect(listenersOf(client)).toEqual(before);
      endOwn();
    });

    it('says that it was closed by the caller, and does not wait for it', async () => {
      const client = own(new Redis(redis.url));
      const { locks } = open({ connection: client });
      await (await locks.acquire('a')).release();
      await client.quit();
      // Until ioredis has noticed it, a request is sent, and its outcome is unknown.
      await eventually(() => client.status === 'end');
      const stopwatch = new Stopwatch();
      await expect(locks.acquire('a')).rejects.toMatchObject({
        ...{ code: 'LOCK_BACKEND', retryable: false, outcome: 'none', lockName: 'a' },
      });
      expect(stopwatch.ms).toBeLessThan(1_000);
    });

    it('says what is wrong with a client that subscribes later, and so cannot be used for locks', async () => {
      const client = own(new Redis(redis.url, { protocol: 2 }));
      const { locks } = open({ connection: client });
      await client.subscribe('news');
      const error = await locks.acquire('a', { waitTimeMs: 200 }).catch((e: unknown) => e);
      endOwn();
      expect(error).toMatchObject({ code: 'LOCK_BACKEND', retryable: false });
      expect((error as LockBackendError).message).toContain('is subscribed to channels');
    });
  });

  describe('with a url or options', () => {
    it.each([
      ['a url', () => redis.url],
      ['options', () => ({ host: '127.0.0.1', port: redis.port })],
      ['options for RESP2', () => ({ host: '127.0.0.1', port: redis.port, protocol: 2 })],
    ])('opens %s, and closes it', async (_, connection) => {
      await exercise(connection());
      await eventually(async () => (await redis.clients()).length === 0);
    });
  });

  it('keeps no process alive when it is closed while ioredis tries to connect again', async () => {
    const connection = openConnection(proxy.current.url);
    await eventually(() => connection.run(ECHO, ['k'], ['t']));
    proxy.current.refuse();
    proxy.current.cut();
    await eventually(() => !connection.isUp);
    const timers = new Set<number>();
    let isClosing = true;
    const hook = createHook({
      init: (id, type) => {
        if (isClosing && type === 'Timeout') timers.add(id);
      },
      destroy: (id) => timers.delete(id),
    }).enable();
    await connection.close();
    isClosing = false;
    await eventually(() => timers.size === 0, { withinMs: 500 }).finally(() => hook.disable());
  });

  describe('with a cluster', () => {
    it('keeps a lock in its slot, and leaves neither listeners nor connections behind', async () => {
      const args = ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'];
      const server = await startRedisServer({ args });
      const admin = new Redis(server.url);
      await admin.cluster('ADDSLOTS', ...Array.from({ length: 16_384 }, (_, slot) => slot));
      await eventually(async () => (await admin.cluster('INFO')).includes('cluster_state:ok'));
      const cluster = own(new Cluster([{ host: '127.0.0.1', port: server.port }]));
      try {
        await eventually(() => cluster.status === 'ready', { withinMs: 10_000 });
        const before = listenersOf(cluster);
        const nodesBefore = cluster.nodes('all').map(listenersOf);
        expect(nodesBefore).toHaveLength(1);
        await exercise(cluster);
        const connection = openConnection(cluster);
        expect(connection.place('{x}a')).toEqual({
          ...{ node: `127.0.0.1:${server.port}`, slot: hashSlot('{x}b') },
        });
        await connection.close();
        expect(listenersOf(cluster)).toEqual(before);
        expect(cluster.status).toBe('ready');
        expect(cluster.nodes('all').map(listenersOf)).toEqual(nodesBefore);
      } finally {
        cluster.disconnect();
        admin.disconnect();
        await server.kill();
      }
    });
  });

  describe('run', () => {
    it('names keys and arguments, and tells when it was sent', async () => {
      const connection = openConnection(redis.url);
      await eventually(() => connection.run(ECHO, ['k'], ['t']));
      const before = performance.now();
      const reply = await connection.run(ECHO, ['k'], ['t']);
      expect(reply).toMatchObject({ value: ['k', 't'], resent: false });
      expect(reply.sentAt).toBeGreaterThanOrEqual(before);
      expect(reply.sentAt).toBeLessThanOrEqual(performance.now());
      expect(connection.place('k')).toEqual(connection.place('another'));
      await connection.close();
      await connection.close();
      await expect(connection.run(ECHO, ['k'], ['t'])).rejects.toMatchObject({
        ...{ retryable: false, outcome: 'none', message: 'the connection to Redis is closed' },
      });
    });

    it('sends the text of a script once, and then its digest', async () => {
      const connection = openConnection(redis.url);
      const once = defineScript({ ...ECHO, body: 'return {key, text, 1}', reply: () => 1 });
      await eventually(() => connection.run(ECHO, ['k'], ['t']));
      const sent = await redis.commandsDuring(async () => {
        for (let i = 0; i < 3; i += 1) await connection.run(once, ['k'], ['t']);
      });
      expect(sent).toEqual({ evalsha: 3, eval: 1 });
      await connection.close();
    });

    it('tells that a request was sent twice', async () => {
      const connection = openConnection(proxy.current.url);
      await eventually(() => connection.run(ECHO, ['k'], ['t']));
      proxy.current.loseReply({ containing: ECHO.sha1, times: 1 });
      const reply = await connection.run(ECHO, ['k'], ['t']);
      expect(reply.resent).toBe(true);
      expect((await connection.run(ECHO, ['k'], ['t'])).resent).toBe(false);
      await connection.close();
    });

    it('rejects at once while there is no connection, and calls back when there is one', async () => {
      proxy.current.refuse();
      const connection = openConnection(proxy.current.url);
      let ups = 0;
      const stop = connection.onUp(() => (ups += 1));
      const stopwatch = new Stopwatch();
      await expect(connection.run(ECHO, ['k'], ['t'])).rejects.toMatchObject({
        ...{ code: 'LOCK_BACKEND', retryable: true, outcome: 'none' },
      });
      expect(stopwatch.ms).toBeLessThan(250);
      await proxy.current.accept();
      await eventually(() => ups === 1);
      await connection.run(ECHO, ['k'], ['t']);
      proxy.current.cut();
      await eventually(() => ups === 2);
      stop();
      proxy.current.cut();
      await eventually(() => connection.run(ECHO, ['k'], ['t']));
      expect(ups).toBe(2);
      await connection.close();
    });
  });
});
