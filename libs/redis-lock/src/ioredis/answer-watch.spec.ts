import { afterEach, describe, expect, it } from '@jest/globals';
import { createHook } from 'node:async_hooks';
import { Redis } from 'ioredis';
import { eventually } from '../../../../test/support/eventually.js';
import { useProxy } from '../../../../test/support/lock-client.js';
import { useRedis } from '../../../../test/support/redis-server.js';
import type { RedisConnection } from '../core/redis/connection.js';
import { defineScript } from '../core/redis/script.js';
import { openIoredisConnection } from './ioredis-connection.js';

/** A half-open connection is found within 4 s; five times that. */
const FOUND = { withinMs: 20_000 };

const ECHO = defineScript({
  ...{ name: 'echo', keys: ['key'], args: ['text'], body: 'return text' },
  reply: (raw) => raw,
});

describe('a connection of our own', () => {
  const redis = useRedis();
  const proxy = useProxy(redis);
  const opened: RedisConnection[] = [];
  const clients: Redis[] = [];

  const open = (to: unknown) => {
    const connection = openIoredisConnection(to);
    opened.push(connection);
    return connection;
  };
  const run = (connection: RedisConnection) => connection.run(ECHO, ['k'], ['t']);
  /** The timers that the work sets. */
  const timersOf = async (work: () => Promise<unknown>) => {
    const timers: NodeJS.Timeout[] = [];
    const init = (_: number, type: string, __: number, timer: object) => {
      if (type === 'Timeout') timers.push(timer as NodeJS.Timeout);
    };
    const hook = createHook({ init }).enable();
    await work().finally(() => hook.disable());
    return timers;
  };

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((connection) => connection.close()));
    for (const client of clients.splice(0)) client.disconnect();
  });

  it('is replaced when it is half open, and what was asked for is asked again', async () => {
    const connection = open(proxy.current.url);
    await eventually(() => run(connection));
    const half = proxy.current.connections;
    proxy.current.blackhole('both', { where: (one) => half.includes(one) });
    const reply = run(connection);
    expect(await eventually(() => reply, FOUND)).toMatchObject({ value: 't', resent: true });
    for (const one of half) one.cut('rst');
  }, 30_000);

  it('is replaced when Redis accepts it and never says a word', async () => {
    const silent = proxy.current.blackhole();
    const connection = open(proxy.current.url);
    await eventually(() => proxy.current.connections.length > 0);
    const first = proxy.current.connections;
    await eventually(() => proxy.current.connections.some((one) => !first.includes(one)), FOUND);
    silent.heal();
    await eventually(() => run(connection), FOUND);
  }, 50_000);

  it('sets one timer for many calls, which keeps no process alive', async () => {
    const connection = open(redis.url);
    await eventually(() => connection.isUp);
    const timers = await timersOf(async () => {
      for (let i = 0; i < 100; i += 1) await run(connection);
    });
    expect(timers.length).toBeLessThanOrEqual(1);
    expect(timers.filter((timer) => timer.hasRef())).toEqual([]);
  });

  it.each<[string, () => unknown]>([
    ['has a time limit of ioredis', () => ({ port: redis.port, socketTimeout: 60_000 })],
    [
      'is a client of the caller',
      () => {
        const client = new Redis(redis.url);
        clients.push(client);
        return client;
      },
    ],
  ])('is left alone where it %s', async (_, to) => {
    const timers = await timersOf(async () => {
      const connection = open(to());
      await eventually(() => run(connection));
    });
    expect(timers.filter(({ ['_repeat' as never]: repeat }) => repeat === 1_000)).toEqual([]);
  });
});
