import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Lease } from 'nestjs-redis-lock/core';
import {
  ACQUIRE as FAIR_ACQUIRE,
  RELEASE as FAIR_RELEASE,
} from '../../libs/redis-lock/src/primitives/fair-lock/fair-lock.scripts.js';
import { RELEASE } from '../../libs/redis-lock/src/primitives/lock/lock.scripts.js';
import {
  ACQUIRE,
  ACQUIRE_NESTED,
  RELEASE_SOME,
  RENEW,
} from '../../libs/redis-lock/src/primitives/lua/hash-lock.js';
import {
  READ_ACQUIRE,
  READ_RELEASE,
} from '../../libs/redis-lock/src/primitives/read-write-lock/read-lock.scripts.js';
import { WRITE_ACQUIRE } from '../../libs/redis-lock/src/primitives/read-write-lock/write-lock.scripts.js';
import { WRITE_RELEASE } from '../../libs/redis-lock/src/primitives/read-write-lock/write-release.scripts.js';
import { useLockKinds, type LockKind } from '../support/lock-kinds.js';
import { eventually, useProxy, useRealRedis } from '../support/set-up.js';

interface Sent {
  readonly lua: string;
  readonly sha1: string;
}

/** The connection breaks between a request and its answer, and ioredis sends the request again. */
describe('when an answer is lost', () => {
  const redis = useRealRedis();
  const proxy = useProxy(redis);
  const open = useLockKinds(redis);

  /** A client that sends these scripts by their digests. */
  const opened = async (scripts: readonly Sent[], settings: Parameters<typeof open>[0] = {}) => {
    const client = open({ connection: proxy.current.url, ...settings });
    for (const { lua } of scripts) await redis.admin.script('LOAD', lua);
    await client.locks.lock('a').isLocked();
    return client;
  };

  it.each<[LockKind, Sent, Sent]>([
    ['lock', ACQUIRE, RELEASE],
    ['fair lock', FAIR_ACQUIRE, FAIR_RELEASE],
    ['read lock', READ_ACQUIRE, READ_RELEASE],
    ['write lock', WRITE_ACQUIRE, WRITE_RELEASE],
  ])('grants a %s once, and counts its release as done', async (kind, acquire, release) => {
    const client = await opened([acquire, release]);
    const faults = [acquire, release].map((script) => proxy.current.loseAnswerTo(script));
    const lease = await client.locks[kind]('a').acquire();
    const field = kind === 'write lock' ? `${lease.owner}:write` : lease.owner;
    expect(await redis.admin.hget('a', field)).toBe('1');
    await lease.release();
    expect(faults.map(({ hits }) => hits)).toEqual([1, 1]);
    expect(await redis.admin.exists('a')).toBe(0);
    expect(client.eventsOf('released')).toMatchObject([{ name: 'a', outcome: 'unknown' }]);
    expect(client.eventsOf('lost')).toEqual([]);
  });

  it('counts a nested release as lost whose owner is absent', async () => {
    const { locks } = await opened([RELEASE_SOME]);
    const lock = locks.lock('a');
    const work = lock.using(async () => {
      const inner = await lock.acquire();
      await redis.admin.del('a');
      const fault = proxy.current.loseAnswerTo(RELEASE_SOME);
      await expect(inner.release()).rejects.toMatchObject({ code: 'LEASE_LOST' });
      expect(fault.hits).toBe(1);
    });
    await expect(work).rejects.toMatchObject({ code: 'LEASE_LOST' });
  });

  type Client = Awaited<ReturnType<typeof opened>>;
  it.each<[string, Sent, (client: Client, lease: Lease) => Promise<unknown>]>([
    ['to acquire', ACQUIRE, ({ locks }) => locks.lock('b').acquire()],
    ['to a nested acquire', ACQUIRE_NESTED, ({ locks }) => locks.lock('a').acquire()],
    ['to renew', RENEW, (_, lease) => lease.renew()],
    ['to release', RELEASE, (_, lease) => lease.release()],
  ])('and Redis then refuses it, the outcome is unknown: %s', async (_, script, step) => {
    const allow = (...rules: string[]) => redis.admin.acl('SETUSER', 'poor', ...rules);
    await allow('reset', 'on', '>pw', '~*', '&*', '+@all');
    const user = { username: 'poor', password: 'pw' };
    // ioredis may not send anything again: this library does.
    const connection = {
      ...{ host: '127.0.0.1', port: proxy.current.port, ...user },
      maxRetriesPerRequest: 0,
    };
    const client = await opened([script], { connection });
    await client.locks.lock('a').using(async (lease) => {
      proxy.current.loseAnswerTo(script);
      const present = proxy.current.counts.accepted;
      const again = proxy.current.hold('toServer', {
        // The watchdog renews a hold in doubt, and shares a script with the caller.
        containing: 'evalsha',
        where: ({ index }) => index > present,
      });
      const asking = step(client, lease).catch((error: unknown) => error);
      await eventually(() => again.hits > 0);
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

  it('or cannot be read, its grant is released', async () => {
    const client = new Redis(redis.url);
    const { evalsha } = client;
    // A proxy turns numbers into texts.
    client.evalsha = (async (...args: Parameters<typeof evalsha>) => {
      const answer = await evalsha.apply(client, args);
      return args[0] === ACQUIRE.sha1 ? String(answer) : answer;
    }) as never;
    try {
      const { locks, close } = await opened([ACQUIRE], { connection: client });
      const granted = await redis.commandsDuring(async () => {
        await expect(locks.lock('a').acquire()).rejects.toMatchObject({
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
});
