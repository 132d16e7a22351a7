import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { FairLockService } from '../../libs/redis-lock/src/primitives/fair-lock/fair-lock-service.js';
import { LockService } from '../../libs/redis-lock/src/primitives/lock/lock-service.js';
import { eventually, Stopwatch, useLocks, useProxy, useRealRedis } from '../support/set-up.js';

/** ioredis works on in database 0 when Redis refuses another: a lock there would exclude no other client. */
describe('the database of a connection', () => {
  const redis = useRealRedis();
  const proxy = useProxy(redis);
  const clients: Redis[] = [];
  const cutAll = () => redis.admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');

  // Declared before the locks, and so run before their leftovers are looked for.
  afterEach(async () => {
    for (const client of clients.splice(0)) client.disconnect();
    await redis.admin.acl('DELUSER', 'shop');
  });
  const open = useLocks(redis, (context) => new LockService(context));
  const openFair = useLocks(redis, (context) => new FairLockService(context));
  const own = (client: Redis): Redis => {
    client.on('error', () => undefined);
    clients.push(client);
    return client;
  };
  const urlOf = (user: string, database: number) =>
    proxy.current.url.replace('//', `//${user}:pw@`) + `/${database}`;
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
    await redis.resetCommandStats();
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

  it.each(['our client', 'a client'])(
    'is asked for again, so that %s needs no restart',
    async (whose) => {
      await addUser('shop', '-select');
      const url = urlOf('shop', 3);
      const connection = whose === 'a client' ? own(new Redis(url)) : url;
      const { locks, eventsOf } = open({ connection });
      await expect(locks.acquire('a')).rejects.toMatchObject({
        ...{ retryable: false, outcome: 'none' },
        message: expect.stringContaining('the Redis user lacks a permission') as unknown,
      });
      await addUser('shop');
      await (await locks.acquire('a')).release();
      expect(eventsOf('connection-failed')).toHaveLength(1);
      expect(eventsOf('connection-restored')).toHaveLength(1);
    },
  );

  it('that was refused once says nothing of a connection that is down later', async () => {
    await addUser('shop', '-select');
    const client = own(new Redis(urlOf('shop', 3)));
    const { locks } = open({ connection: client });
    await expect(locks.acquire('a')).rejects.toMatchObject({ retryable: false });
    await addUser('shop');
    proxy.current.refuse();
    proxy.current.cut();
    await eventually(() => client.status === 'reconnecting');
    const waiting = locks.using('a', () => 'done', { waitTimeMs: 60_000 });
    await proxy.current.accept();
    expect(await waiting).toBe('done');
  });

  it('that the caller has chosen after a refused one is used at once', async () => {
    const client = own(new Redis(redis.port, { db: 99 }));
    const { locks } = open({ connection: client });
    await expect(locks.acquire('a')).rejects.toMatchObject({ retryable: false });
    await client.select(3);
    await locks.using('a', () => undefined);
  });

  it('that the caller could not choose is not taken for the one before', async () => {
    const client = own(new Redis(redis.port, { db: 3 }));
    const { locks } = open({ connection: client });
    await locks.using('a', () => undefined);
    await client.select(0);
    await client.select(99).catch(() => undefined);
    await expect(locks.using('a', () => undefined)).rejects.toMatchObject({ retryable: false });
    expect(await redis.admin.dbsize()).toBe(0);
  });

  describe('is not what is wrong with a client', () => {
    const refusal = {
      ...{ code: 'LOCK_BACKEND', retryable: false },
      message: expect.stringContaining('is subscribed to channels') as unknown,
    };

    it('that is subscribed', async () => {
      const client = own(new Redis(redis.port, { db: 3, protocol: 2 }));
      const { locks } = open({ connection: client });
      await client.subscribe('news');
      await expect(locks.acquire('a')).rejects.toMatchObject(refusal);
      client.disconnect();
    });

    // Redis refuses then, not ioredis: the first the choice, the second the script.
    it.each([3, 0])('that is about to be subscribed, with database %d', async (db) => {
      const client = own(new Redis(redis.port, { db, protocol: 2 }));
      await eventually(() => client.status === 'ready');
      const { locks } = open({ connection: client });
      const subscribed = client.subscribe('news');
      await expect(locks.acquire('a')).rejects.toMatchObject(refusal);
      await subscribed;
      client.disconnect();
    });
  });

  describe('is refused after a cut, when ioredis has sent a command again in database 0', () => {
    const CODE = { code: 'LOCK_BACKEND' };
    let other: Redis;
    beforeEach(async () => {
      other = own(new Redis(redis.port, { db: 3 }));
      await addUser('shop');
    });
    afterEach(() => redis.admin.flushall());

    /** The next script for the lock `a` is cut off, and the next connection may not choose. */
    const loseTheRight = async () => {
      const fault = proxy.current.loseRequest({ containing: '\r\na\r\n', times: 1 });
      await addUser('shop', '-select');
      return fault;
    };
    const openWarm = async () => {
      const client = open({ connection: urlOf('shop', 3) });
      await client.locks.using('another', () => undefined);
      return client;
    };

    it('a grant is none: another client has the lock', async () => {
      const { locks } = await openWarm();
      const theirs = await open({ connection: `${redis.url}/3` }).locks.acquire('a');
      const fault = await loseTheRight();
      let isInside = false;
      const work = () => (isInside = true);
      await expect(locks.using('a', work, { waitTimeMs: 500 })).rejects.toMatchObject(CODE);
      expect([fault.hits, isInside]).toEqual([1, false]);
      expect(await other.hkeys('a')).toEqual([theirs.owner]);
      await theirs.release();
    });

    it('a release is not done, and is done later', async () => {
      const { locks, eventsOf } = await openWarm();
      const lease = await locks.acquire('a');
      await loseTheRight();
      await expect(lease.release()).rejects.toMatchObject(CODE);
      const done = eventsOf('released').filter(({ outcome }) => outcome === 'done');
      expect(done).toHaveLength(1);
      expect(await other.exists('a')).toBe(1);
      await addUser('shop');
      await eventually(async () => (await other.exists('a')) === 0);
    });

    it('a renewal has not found the lock gone', async () => {
      const { locks } = await openWarm();
      const lease = await locks.acquire('a');
      await loseTheRight();
      await expect(lease.renew()).rejects.toMatchObject(CODE);
      expect(['held', 'suspect']).toContain(lease.state);
      await addUser('shop');
      await eventually(() => lease.renew());
      lease.assertHeld();
      await lease.release();
    });

    it('a grant is none either when it had to wait for the connection', async () => {
      const client = own(new Redis(urlOf('shop', 3)));
      const { locks } = open({ connection: client });
      await locks.using('another', () => undefined);
      await addUser('shop', '-select');
      // ioredis goes on saying "ready" for a moment, and queues what is sent.
      client.disconnect(true);
      let isInside = false;
      const work = () => (isInside = true);
      await expect(locks.using('a', work, { waitTimeMs: 500 })).rejects.toMatchObject(CODE);
      expect(isInside).toBe(false);
    });
  });

  it('needs no choice if it is the first one: a user without SELECT gets its locks', async () => {
    await addUser('shop', '-select');
    const { locks } = open({ connection: urlOf('shop', 0) });
    await locks.using('a', () => undefined);
  });

  it('that is not confirmed yet lets no caller overtake one that waits for the connection', async () => {
    const client = own(new Redis(`${proxy.current.url}/3`));
    const { locks } = openFair({ connection: client });
    await locks.using('a', () => undefined);
    proxy.current.refuse();
    proxy.current.cut();
    await eventually(() => client.status === 'reconnecting');
    const order: string[] = [];
    const enter = (name: string) =>
      locks.using('a', () => order.push(name), { waitTimeMs: 60_000 });
    const first = enter('first');
    const second = new Promise((resolve) => {
      client.once('ready', () => {
        resolve(enter('second'));
      });
    });
    await proxy.current.accept();
    await Promise.all([first, second]);
    expect(order).toEqual(['first', 'second']);
  });

  it('that the server has not confirmed yet is waited for like a connection', async () => {
    const { locks } = open({ connection: `${proxy.current.url}/3` });
    proxy.current.delay('toClient', 300);
    await expect(locks.acquire('a', { waitTimeMs: 50 })).rejects.toMatchObject({
      ...{ code: 'LOCK_BACKEND', retryable: true },
    });
    await locks.using('a', () => undefined, { waitTimeMs: 60_000 });
  });
});
