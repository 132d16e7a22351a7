import { afterEach, describe, expect, it } from '@jest/globals';
import {
  openArenaRedis,
  RedisUnreachableError,
} from '../../apps/seckill-demo/src/arena/arena-redis.js';
import { startRedisServer } from '../../scripts/redis-server.mjs';
import { eventually, useProxy, useRealRedis } from '../support/set-up.js';
import { DemoProcess } from './demo-process.js';

describe('the Redis of REDIS_URL', () => {
  const redis = useRealRedis();
  const proxy = useProxy(redis);
  const opening = (REDIS_URL: string) => openArenaRedis({ REDIS_URL });
  afterEach(() => DemoProcess.endAll());

  it.each<[string, string]>([
    ['/99', 'DB index is out of range'],
    ['/0?keyPrefix=shop:', 'leave it out'],
  ])('cannot be used with %s, and the demo says why', async (more, reason) => {
    const opened = opening(`${redis.url}${more}`);
    await expect(opened).rejects.toThrow(RedisUnreachableError);
    await expect(opened).rejects.toThrow(reason);
    await eventually(async () => expect(await redis.clients()).toEqual([]));
  });

  it('is given up when it says nothing', async () => {
    proxy.current.blackhole();
    await expect(opening(proxy.current.url)).rejects.toThrow('no answer within 5000 ms');
  });

  it('cannot be used if no address can be read from its text', async () => {
    await expect(opening('redis://:::/')).rejects.toThrow(RedisUnreachableError);
  });

  it('does not keep the demo from ending when it stands still', async () => {
    const arena = await opening(proxy.current.url);
    proxy.current.blackhole();
    await expect(arena.close()).rejects.toThrow(
      `keys with ${arena.keyPrefix} may be left in Redis`,
    );
  });

  it('is left as it was', async () => {
    const arena = await opening(`${redis.url}/3`);
    await arena.client.set(`${arena.keyPrefix}a`, 1);
    await arena.close();
    expect(await redis.admin.dbsize()).toBe(0);
  });

  it('ends the demo with its reason and 69 when it dies while the demo measures', async () => {
    const server = await startRedisServer();
    const demo = DemoProcess.start(['--check'], { REDIS_URL: `redis://127.0.0.1:${server.port}` });
    await demo.says(/^\[2\/\d+\]/m, { withinMs: 90_000 });
    await server.stop();
    expect(await demo.exited).toBe(69);
    expect(demo.stderr).toMatch(/^the Redis at REDIS_URL cannot be used: connect ECONNREFUSED/m);
    expect(demo.stderr).toMatch(/^keys with seckill-demo:\S+ may be left in Redis/m);
    expect(demo.stderr).not.toContain('    at ');
  });
});
