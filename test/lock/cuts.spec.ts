import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { LockService, type Lease } from 'nestjs-redis-lock';
import {
  ACQUIRE,
  ACQUIRE_NESTED,
  RELEASE_SOME,
  RENEW,
} from '../../libs/redis-lock/src/primitives/lua/hash-lock.js';
import { RELEASE } from '../../libs/redis-lock/src/primitives/lock/lock.scripts.js';
import { eventually, FOREIGN_OWNER, seededRandom, useProxiedClients } from '../support/set-up.js';

/** The connection breaks between a request and its answer, and ioredis sends the request again. */
describe('LockService when an answer is lost', () => {
  const { redis, proxy, open } = useProxiedClients(LockService);

  /** A client whose next call of the script is executed, without an answer. */
  const opened = async () => {
    const client = open({ connection: proxy.current.url });
    for (const fenced of [false, true]) {
      const lease = await client.locks.acquire('warm', { fenced });
      await lease.renew();
      await lease.release();
    }
    for (const { lua } of [ACQUIRE_NESTED, RELEASE_SOME]) await redis.admin.script('LOAD', lua);
    return client;
  };

  it('grants once what was acquired twice', async () => {
    const { locks } = await opened();
    const fault = proxy.current.loseAnswerTo(ACQUIRE);
    const lease = await locks.acquire('a');
    expect(fault.hits).toBe(1);
    expect(await redis.admin.hgetall('a')).toEqual({ [lease.owner]: '1' });
    await lease.release();
    expect(await redis.admin.exists('a')).toBe(0);
  });

  it('counts a release as done whose owner is absent then, while the lease was valid', async () => {
    const client = await opened();
    const lease = await client.locks.acquire('a');
    const fault = proxy.current.loseAnswerTo(RELEASE);
    await lease.release();
    expect(fault.hits).toBe(1);
    expect(client.eventsOf('released').at(-1)).toMatchObject({ name: 'a', outcome: 'unknown' });
    expect(client.eventsOf('lost')).toEqual([]);
  });

  it('leaves an owner alone that came in between', async () => {
    const client = await opened();
    const lease = await client.locks.acquire('a');
    proxy.current.loseAnswerTo(RELEASE);
    const present = proxy.current.counts.accepted;
    const again = proxy.current.hold('toServer', {
      containing: lease.owner,
      where: ({ index }) => index > present,
    });
    const releasing = lease.release();
    await eventually(async () => (await redis.admin.exists('a')) === 0);
    await redis.admin.hset('a', FOREIGN_OWNER, 1);
    await eventually(() => again.hits === 1);
    again.heal();
    await releasing;
    expect(await redis.admin.hgetall('a')).toEqual({ [FOREIGN_OWNER]: '1' });
  });

  it('counts a nested release as lost whose owner is absent, cut or not', async () => {
    const { locks } = await opened();
    const work = locks.using('a', async () => {
      const inner = await locks.acquire('a');
      await redis.admin.del('a');
      proxy.current.loseAnswerTo(RELEASE_SOME);
      await expect(inner.release()).rejects.toMatchObject({ code: 'LEASE_LOST' });
    });
    await expect(work).rejects.toMatchObject({ code: 'LEASE_LOST' });
  });

  it('gets through an attempt that was lost before it was executed', async () => {
    const { locks } = await opened();
    const fault = proxy.current.loseRequest({ containing: ACQUIRE.sha1, times: 1 });
    const lease = await locks.acquire('a');
    expect(fault.hits).toBe(1);
    expect(await redis.admin.hgetall('a')).toEqual({ [lease.owner]: '1' });
  });

  describe('and it is refused when it is sent again', () => {
    type Client = ReturnType<typeof open>;
    const steps: [
      what: string,
      script: { sha1: string },
      step: (c: Client, l: Lease) => unknown,
    ][] = [
      ['to acquire', ACQUIRE, ({ locks }) => locks.acquire('b')],
      ['to a nested acquire', ACQUIRE_NESTED, ({ locks }) => locks.acquire('a')],
      ['to renew', RENEW, (_, lease) => lease.renew()],
      ['to release', RELEASE, (_, lease) => lease.release()],
    ];

    it.each(steps)('says that the outcome of the first is unknown: %s', async (_, script, step) => {
      const allow = (...rules: string[]) => redis.admin.acl('SETUSER', 'poor', ...rules);
      await allow('reset', 'on', '>pw', '~*', '&*', '+@all');
      const { port } = proxy.current;
      const user = { username: 'poor', password: 'pw' };
      // ioredis may not send anything again: this library does.
      const client = open({
        connection: { host: '127.0.0.1', port, ...user, maxRetriesPerRequest: 0 },
      });
      const warm = await client.locks.acquire('warm');
      await warm.renew();
      await warm.release();
      await client.locks.using('a', async (lease) => {
        proxy.current.loseAnswerTo(script);
        const present = proxy.current.counts.accepted;
        const again = proxy.current.hold('toServer', {
          containing: script.sha1,
          where: ({ index }) => index > present,
        });
        const asking = Promise.resolve(step(client, lease)).catch((e: unknown) => e);
        await eventually(() => again.hits === 1);
        await allow('-evalsha');
        again.heal();
        expect(await asking).toMatchObject({
          ...{ code: 'LOCK_BACKEND', retryable: false, outcome: 'unknown' },
        });
        await allow('+evalsha');
      });
      // It releases a grant that it got.
      await eventually(async () => (await redis.admin.keys('*')).length === 0);
      expect(client.eventsOf('lost')).toEqual([]);
    });
  });

  it('releases what was granted by an answer that cannot be read', async () => {
    const client = new Redis(redis.url);
    const { evalsha } = client;
    // Something in between turns numbers into texts.
    client.evalsha = (async (...args: Parameters<typeof evalsha>) => {
      const answer = await evalsha.apply(client, args);
      return args[0] === ACQUIRE.sha1 ? String(answer) : answer;
    }) as never;
    try {
      const { locks, close } = open({ connection: client });
      await redis.admin.script('LOAD', ACQUIRE.lua);
      await eventually(() => client.status === 'ready');
      const granted = await redis.commandsDuring(async () => {
        await expect(locks.acquire('a')).rejects.toMatchObject({
          ...{ code: 'LOCK_BACKEND', retryable: false, outcome: 'unknown', lockName: 'a' },
        });
      });
      expect(granted.hset).toBe(1);
      await eventually(async () => (await redis.admin.exists('a')) === 0);
      await close();
    } finally {
      client.disconnect();
    }
  });

  it('counts right and leaves nothing, wherever a stream of nested holds is cut', async () => {
    const random = seededRandom('cuts');
    const { locks } = await opened();
    const cut = () => {
      const direction = random.pick(['toServer', 'toClient'] as const);
      const newest = proxy.current.counts.accepted;
      return proxy.current.cutAfter(direction, random.int(1, 600), {
        kind: random.pick(['rst', 'fin'] as const),
        where: ({ index }) => index === newest,
      });
    };
    for (let round = 0; round < 40; round += 1) {
      const fault = cut();
      await locks.using('a', async ({ owner }) => {
        await locks.using('a', async (inner) => {
          expect(inner.holdCount).toBe(2);
          expect(await redis.admin.hgetall('a')).toEqual({ [owner]: '2' });
        });
        expect(await redis.admin.hgetall('a')).toEqual({ [owner]: '1' });
      });
      expect(await redis.admin.exists('a')).toBe(0);
      fault.heal();
    }
    expect(proxy.current.counts.cut).toBeGreaterThan(10);
  }, 20_000);
});
