import { afterEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { eventually } from '../eventually.js';
import { useRedis } from '../redis-server.js';
import { InProcessRedis } from './in-process-redis.js';

describe('a server of useRedis, in process or real', () => {
  const redis = useRedis();
  const clients: Redis[] = [];
  const connect = (url = redis.url) => {
    const client = new Redis(url, { retryStrategy: () => 10, disconnectTimeout: 50 });
    client.on('error', () => undefined);
    clients.push(client);
    return client;
  };
  afterEach(() => {
    for (const client of clients.splice(0)) client.disconnect();
  });

  it('keeps bytes, and runs scripts and transactions', async () => {
    const client = connect();
    const bytes = Buffer.from([0, 200, 13, 10, 255]);
    await client.set('锁', bytes);
    expect(await client.getBuffer('锁')).toEqual(bytes);
    expect(await client.eval('return { #KEYS[1], ARGV[1] }', 1, '锁', '中')).toEqual([3, '中']);
    const missing = 'f'.repeat(40);
    await expect(client.evalsha(missing, 0)).rejects.toThrow(/^NOSCRIPT/);
    expect(await client.multi().incr('n').get('n').exec()).toEqual([
      [null, 1],
      [null, '1'],
    ]);
  });

  it('publishes to channels and patterns, in order, until a client leaves', async () => {
    const ear = connect();
    const heard: string[] = [];
    ear.on('message', (channel, text) => heard.push(`${channel} ${text}`));
    ear.on('pmessage', (pattern, channel, text) => heard.push(`${pattern} ${channel} ${text}`));
    await ear.subscribe('a', 'b');
    await ear.psubscribe('*:end');
    expect(await redis.admin.publish('a', '1')).toBe(1);
    expect(await redis.admin.publish('x:end', '2')).toBe(1);
    expect(await redis.admin.publish('c', '3')).toBe(0);
    await ear.unsubscribe('a');
    expect(await redis.admin.publish('a', '4')).toBe(0);
    await ear.ping();
    expect(heard).toEqual(['a 1', '*:end x:end 2']);
    expect(await ear.quit()).toBe('OK');
    await eventually(async () => (await redis.admin.publish('b', '5')) === 0);
  });

  it('counts commands, those of scripts included', async () => {
    const client = connect();
    await client.ping();
    const counts = await redis.commandsDuring(() =>
      client.eval("return redis.call('incr', KEYS[1])", 1, 'n'),
    );
    expect(counts).toEqual({ eval: 1, incr: 1 });
  });

  it('answers nothing while it is paused, and all of it afterwards', async () => {
    const client = connect();
    await client.ping();
    redis.pause();
    let answered = false;
    const answer = client.incr('n').finally(() => (answered = true));
    await expect(eventually(() => answered, { withinMs: 100 })).rejects.toThrow();
    redis.resume();
    expect(await answer).toBe(1);
  });

  it('is empty after a crash, and its clients come back', async () => {
    const client = connect();
    await client.set('k', 'v');
    await redis.restart();
    await eventually(async () => (await client.get('k')) === null);
  });
});

it('says what it does not know when it stops', async () => {
  const server = new InProcessRedis();
  const client = new Redis(server.url);
  await expect(client.call('SORT', 'k')).rejects.toThrow('knows no command sort');
  client.disconnect();
  await expect(server.stop()).rejects.toThrow('Take useRealRedis()');
});
