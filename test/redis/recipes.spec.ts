import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { useApplications } from '../nest/applications.js';
import { eventually, useRealRedis } from '../support/set-up.js';
import { takesAndHandsOver } from './hand-over.js';

const folder = mkdtempSync(join(tmpdir(), 'socket-'));
const socket = join(folder, 'redis.sock');
const redis = useRealRedis({ args: ['--unixsocket', socket] });
const clients: Redis[] = [];
// Declared before the applications, and so run when they are closed.
afterEach(() => {
  for (const client of clients.splice(0)) client.disconnect();
});
const apps = useApplications(redis);
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const own = (client: Redis): Redis => {
  clients.push(client);
  return client;
};

/** The recipes of docs/topologies.md that one server is enough for. */
describe('a connection', () => {
  it('by a unix socket', async () => {
    for (const connection of [socket, { path: socket }, own(new Redis(socket))]) {
      await takesAndHandsOver(redis, (options) => apps.start({}, { ...options, connection }));
    }
    const [client] = clients;
    expect(client?.status).toBe('ready');
    expect(await client?.ping()).toBe('PONG');
  });

  it('that BullMQ works with too: neither closes what the other one needs', async () => {
    // BullMQ takes no other for its workers.
    const client = own(new Redis(redis.url, { maxRetriesPerRequest: null, socketTimeout: 30_000 }));
    const start = (options?: object) => apps.start({}, { ...options, connection: client });
    const app = await start();
    const done: string[] = [];
    const queue = new Queue('orders', { connection: client });
    const worker = new Worker(
      'orders',
      ({ name }) => app.locks.using(`order:${name}`, () => done.push(name)),
      { connection: client, drainDelay: 1 },
    );
    await queue.add('1', {});
    await eventually(() => done.length === 1);
    await takesAndHandsOver(redis, start);
    await queue.add('2', {});
    await eventually(() => done.length === 2);

    await worker.close();
    await app.nest.close();
    expect(await queue.getJobCounts('wait', 'failed')).toEqual({ wait: 0, failed: 0 });
    expect(client.status).toBe('ready');

    const next = await start();
    await queue.close();
    await takesAndHandsOver(redis, start);
    await next.locks.using('order:3', () => undefined);
    expect(await client.ping()).toBe('PONG');
  });
});
