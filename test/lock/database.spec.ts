import { afterEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { LockService } from '../../libs/redis-lock/src/primitives/reentrant-lock/lock-service.js';
import { eventually } from '../support/eventually.js';
import { useLocks, useProxy } from '../support/lock-client.js';
import { useRedis } from '../support/redis-server.js';
import { Stopwatch } from '../support/stopwatch.js';

/** ioredis works on in database 0 when Redis refuses another: a lock there would keep nobody out. */
describe('the database of a connection', () => {
  const redis = useRedis();
  const proxy = useProxy(redis);
  const clients: Redis[] = [];
  const cutAll = () => redis.admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');

  // Declared before the locks, and so run before their leftovers are looked for.
  afterEach(() => {
    for (const client of clients.splice(0)) client.disconnect();
  });
  const open = useLocks(redis, (context) => new LockService(context));
  const own = (client: Redis): Redis => {
    client.on('error', () => undefined);
    clients.push(client);
    return client;
  };
  const urlOf = (user: string, database: number) =>
    redis.url.replace('//', `//${user}:pw@`) + `/${database}`;
  const addUser = (name: string, ...rules: string[]) =>
    redis.admin.acl('SETUSER', name, 'reset', 'on', '>pw', '~*', '&*', '+@all', ...rules);

  it.each<[string, () => unknown]>([
    ['a url', () => `${redis.url}/99`],
    ['options', () => ({ host: '127.0.0.1', port: redis.port, db: 99 })],
    ['a client', () => own(new Redis(redis.port, { db: 99 }))],
    ['a lazy client', () => own(new Redis(redis.port, { db: 99, lazyConnect: true }))],
    [
      'a client without ready check',
      () => own(new Redis(redis.port, { db: 99, enableReadyCheck: false })),
    ],
  ])('takes no lock in another one than that of %s', async (_, connection) => {
    const { locks } = open({ connection: connection() });
    const refusal = {
      ...{ code: 'LOCK_BACKEND', retryable: false, outcome: 'none' },
      message: expect.stringContaining('Redis has no database of that number') as unknown,
    };
    const stopwatch = new Stopwatch();
    await expect(locks.acquire('a', { waitTimeMs: 60_000 })).rejects.toMatchObject(refusal);
    await expect(locks.tryAcquire('a')).rejects.toMatchObject(refusal);
    await expect(locks.using('a', () => undefined)).rejects.toMatchObject(refusal);
    expect(stopwatch.ms).toBeLessThan(5_000);
    expect((await redis.commandStats()).evalsha).toBeUndefined();
    expect(await redis.admin.dbsize()).toBe(0);
  });

  it('takes no lock for a client that had connected before, and found another one refused', async () => {
    const client = own(new Redis(redis.port, { db: 99 }));
    await eventually(() => client.status === 'ready');
    const { locks, eventsOf } = open({ connection: client });
    await expect(locks.acquire('a')).rejects.toMatchObject({ retryable: false });
    expect(await redis.admin.dbsize()).toBe(0);
    expect(eventsOf('connection-failed')).toHaveLength(1);
  });

  it.each<[string, () => unknown]>([
    ['our client', () => `${redis.url}/3`],
    ['a client', () => own(new Redis(redis.port, { db: 3 }))],
  ])('is chosen before the first lock, and again after a cut: %s', async (_, connection) => {
    const { locks, events } = open({ connection: connection() });
    const other = own(new Redis(redis.port, { db: 3 }));
    for (let i = 0; i < 2; i += 1) {
      await locks.using('a', async () => {
        expect(await other.exists('a')).toBe(1);
        expect(await redis.admin.exists('a')).toBe(0);
      });
      await cutAll();
    }
    expect(events.map(({ type }) => type)).not.toContain('connection-failed');
  });

  it('may be changed by the caller, whose client it is', async () => {
    const client = own(new Redis(redis.port, { db: 3 }));
    const { locks } = open({ connection: client });
    await (await locks.acquire('a')).release();
    await client.select(4);
    await cutAll();
    await locks.using('a', async () => {
      expect(await client.exists('a')).toBe(1);
    });
    expect(client.condition?.select).toBe(4);
  });

  it('is asked for again: a user that may choose it at last needs no restart', async () => {
    await addUser('shop', '-select');
    const { locks, eventsOf } = open({ connection: urlOf('shop', 3) });
    await eventually(() => expect(locks.acquire('a')).rejects.toMatchObject({ retryable: false }));
    await addUser('shop');
    await eventually(() => locks.using('a', () => undefined));
    expect(eventsOf('connection-failed')).toHaveLength(1);
    expect(eventsOf('connection-restored')).toHaveLength(1);
    await redis.admin.acl('DELUSER', 'shop');
  });

  it('needs no choice if it is the first one: a user without SELECT gets its locks', async () => {
    await addUser('shop', '-select');
    const { locks } = open({ connection: urlOf('shop', 0) });
    await locks.using('a', () => undefined);
    await redis.admin.acl('DELUSER', 'shop');
  });

  it('that nobody has confirmed yet is waited for like a connection', async () => {
    const { locks } = open({ connection: `${proxy.current.url}/3` });
    proxy.current.delay('toClient', 300);
    await expect(locks.acquire('a', { waitTimeMs: 50 })).rejects.toMatchObject({
      ...{ code: 'LOCK_BACKEND', retryable: true },
    });
    await locks.using('a', () => undefined, { waitTimeMs: 60_000 });
  });
});
