import { afterEach, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import { startRedisServer, type RedisServer } from '../../scripts/redis-server.mjs';
import { isAlive } from './child.js';
import { eventually } from './eventually.js';
import { useRealRedis } from './redis-server.js';

describe('useRealRedis', () => {
  const redis = useRealRedis();
  const clients: Redis[] = [];
  const connect = () => {
    const client = new Redis(redis.url, { retryStrategy: () => 10, connectionName: 'a-client' });
    client.on('error', () => undefined);
    clients.push(client);
    return client;
  };
  afterEach(() => {
    for (const client of clients.splice(0)) client.disconnect();
  });

  it('is empty before each spec, and keeps nothing on disk', async () => {
    expect(await redis.admin.dbsize()).toBe(0);
    expect(await redis.admin.config('GET', 'save')).toEqual(['save', '']);
  });

  it('comes back empty on its port after a crash, also for clients that were connected', async () => {
    const client = connect();
    await client.set('k', 'v');
    const { pid, port } = redis.server as RedisServer;
    await redis.restart();
    expect(redis.port).toBe(port);
    expect(isAlive(pid)).toBe(false);
    expect(await client.get('k')).toBeNull();
  });

  it('neither answers nor closes while it is paused', async () => {
    const client = connect();
    await client.ping();
    redis.pause();
    let answered = false;
    const answer = client.ping().finally(() => (answered = true));
    await expect(eventually(() => answered, { withinMs: 60 })).rejects.toThrow('still false');
    expect(client.status).toBe('ready');
    redis.resume();
    expect(await answer).toBe('PONG');
  });

  it('counts what others sent, and lists them', async () => {
    const client = connect();
    await client.ping();
    expect(await redis.commandsDuring(() => undefined)).toEqual({});
    expect(await redis.commandsDuring(() => client.set('k', 'v'))).toEqual({ set: 1 });
    expect(await redis.clients()).toEqual(['a-client']);
    client.disconnect();
    await eventually(async () => {
      expect(await redis.clients()).toEqual([]);
    });
  });
});

describe('startRedisServer', () => {
  const servers: RedisServer[] = [];
  const start = async (...options: Parameters<typeof startRedisServer>) => {
    const server = await startRedisServer(...options);
    servers.push(server);
    return server;
  };
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.stop()));
  });

  it('gives each of many servers a port of its own', async () => {
    const started = await Promise.all(Array.from({ length: 8 }, () => start()));
    expect(new Set(started.map(({ port }) => port)).size).toBe(8);
  });

  it('takes further arguments', async () => {
    const { url } = await start({ args: ['--requirepass', 'secret', '--maxmemory', '64mb'] });
    const client = new Redis(url, { password: 'secret', lazyConnect: true });
    expect(await client.config('GET', 'maxmemory')).toEqual(['maxmemory', String(64 * 2 ** 20)]);
    client.disconnect();
  });

  it('says why a server did not start', async () => {
    const { port } = await start();
    await expect(startRedisServer({ port })).rejects.toThrow(/already in use/);
    await expect(startRedisServer({ args: ['--no-such-option', '1'] })).rejects.toThrow(
      /no-such-option/,
    );
  });

  it('stops a paused server', async () => {
    const server = await start();
    server.pause();
    await server.stop();
    expect(isAlive(server.pid)).toBe(false);
  });

  it.each([
    ['exits', 'process.exit(0)'],
    ['is killed', "process.kill(process.pid, 'SIGKILL')"],
  ])('leaves neither process nor folder behind when its starter %s', async (_, ending) => {
    const helper = new URL('../../scripts/redis-server.mjs', import.meta.url).href;
    const program = `
      const { startRedisServer } = await import(${JSON.stringify(helper)});
      const server = await startRedisServer();
      const { connect } = await import('node:net');
      const socket = connect(server.port, '127.0.0.1', () => socket.write('CONFIG GET dir\\r\\n'));
      socket.once('data', (reply) => {
        const line = JSON.stringify({ pid: server.pid, dir: String(reply).split('\\r\\n')[4] });
        process.stdout.write(line + '\\n', () => { ${ending} });
      });`;
    const starter = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(createInterface(starter.stdout), 'line')) as [string];
    const { pid, dir } = JSON.parse(line) as { pid: number; dir: string };
    await eventually(() => {
      expect([isAlive(pid), existsSync(dir)]).toEqual([false, false]);
    });
  });
});
