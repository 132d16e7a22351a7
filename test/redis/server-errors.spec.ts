import { afterEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import {
  LockBackendError,
  LockKeyError,
  LockService,
  type AcquireOptions,
} from 'nestjs-redis-lock/core';
import { startRedisServer } from '../../scripts/redis-server.mjs';
import { openConnection } from '../support/open-connection.js';
import { RENEW } from '../../libs/redis-lock/src/primitives/lua/hash-lock.js';
import { eventually, PROMPT_MS, useLocks, useRealRedis } from '../support/set-up.js';
import { Stopwatch } from '../support/stopwatch.js';
import { DEBUG_ALLOWED, describeUnless, isBeforeRedis7 } from '../support/server-facts.js';

const PASSWORD = 's3cret-pa55word';

describe('LockService given the errors of a real server (d.10)', () => {
  const redis = useRealRedis({ args: DEBUG_ALLOWED });
  afterEach(async () => {
    const settings = { maxmemory: 0, 'min-replicas-to-write': 0, requirepass: '' };
    for (const [name, value] of Object.entries(settings))
      await redis.admin.config('SET', name, value);
    await redis.admin.config('SET', 'replica-serve-stale-data', 'yes');
    await redis.admin.replicaof('NO', 'ONE');
  });
  const open = useLocks(redis, (context) => new LockService(context));

  /** The call has to fail in this way, and its error contains no secret. */
  const fails = async (
    call: () => Promise<unknown>,
    expected: { retryable: boolean; outcome: 'none' | 'unknown'; word?: string },
  ) => {
    const { retryable, outcome, word = '' } = expected;
    // The time may be up while a request is on its way. Then the outcome is unknown, and the call has to
    // fail again.
    const error = await eventually(async () => {
      const thrown = await call().catch((e: unknown) => e);
      return thrown instanceof LockBackendError && thrown.outcome !== outcome ? false : thrown;
    });
    expect(error).toBeInstanceOf(LockBackendError);
    expect(error).toMatchObject({ code: 'LOCK_BACKEND', retryable, outcome, lockName: 'a' });
    expect(inspect(error, { depth: 10, showHidden: true })).toContain(word);
    expectNoSecrets(error);
    return error as LockBackendError;
  };
  const expectNoSecrets = (error: unknown) => {
    const text = inspect(error, { depth: 10, showHidden: true }) + JSON.stringify(error);
    expect(text).not.toContain(PASSWORD);
    expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-4/);
    expect(text).not.toMatch(/command: |args: /);
  };
  const settings = { waitTimeMs: 400 };

  it('BUSY: asks again, and says that a script keeps Redis from answering', async () => {
    await redis.admin.config('SET', 'lua-time-limit', 1);
    const { locks } = open(settings);
    await locks.get('a').isLocked();
    const blocker = new Redis(redis.url);
    const blocked = blocker.eval('while true do end', 0).catch((e: unknown) => e);
    try {
      await eventually(async () => {
        const error = await redis.admin.get('x').catch((e: unknown) => e);
        return String(error).includes('BUSY');
      });
      await fails(() => locks.acquire('a'), { retryable: true, outcome: 'none', word: 'BUSY' });
      const waiting = locks.acquire('a', { waitTimeMs: 10_000 });
      await redis.admin.script('KILL');
      (await waiting).assertHeld();
    } finally {
      await blocked;
      blocker.disconnect();
    }
  });

  it('OOM: refuses to acquire, and lets what is held be renewed and released', async () => {
    const client = open({ ...settings, watchdogLeaseMs: 3_000 });
    const { locks } = client;
    await locks.using('held', async ({ owner }) => {
      const inner = await locks.acquire('held');
      const other = await locks.acquire('other', { fenced: true });
      await redis.admin.config('SET', 'maxmemory', 1);
      const stopwatch = new Stopwatch();
      await fails(() => locks.acquire('a'), { retryable: false, outcome: 'none', word: 'OOM' });
      await fails(() => locks.tryAcquire('a', { fenced: true }), {
        retryable: false,
        outcome: 'none',
      });
      expect(stopwatch.ms).toBeLessThan(PROMPT_MS);
      expect(await redis.admin.exists('a')).toBe(0);
      const renewals = client.eventsOf('renewed').length;
      await eventually(() => client.eventsOf('renewed').length >= renewals + 3);
      await inner.renew();
      await other.release();
      await inner.release();
      expect(client.eventsOf('release-failed')).toEqual([]);
      expect(await redis.admin.hkeys('held')).toEqual([owner]);
    });
    expect(await redis.admin.dbsize()).toBe(1);
    await redis.admin.config('SET', 'maxmemory', 0);
    // A count that was left behind for want of memory is set right by the next step.
    await (await locks.acquire('held')).release();
  });

  it('OOM: sets the hold count right with the next step', async () => {
    const { locks } = open(settings);
    await locks.using('a', async ({ owner }) => {
      const inner = await locks.acquire('a');
      await redis.admin.config('SET', 'maxmemory', 1);
      await inner.release();
      await redis.admin.config('SET', 'maxmemory', 0);
      await locks.using('a', async () => {
        expect(await redis.admin.hgetall('a')).toEqual({ [owner]: '2' });
      });
      expect(await redis.admin.hgetall('a')).toEqual({ [owner]: '1' });
    });
    expect(await redis.admin.exists('a')).toBe(0);
  });

  it('READONLY: asks again until the server is a master again', async () => {
    const { locks } = open(settings);
    await redis.admin.replicaof('127.0.0.1', 1);
    await fails(() => locks.acquire('a'), { retryable: true, outcome: 'none', word: 'READONLY' });
    const waiting = locks.acquire('a', { waitTimeMs: 10_000 });
    await redis.admin.replicaof('NO', 'ONE');
    (await waiting).assertHeld();
  });

  it('MASTERDOWN: asks again', async () => {
    const { locks } = open(settings);
    await redis.admin.config('SET', 'replica-serve-stale-data', 'no');
    await redis.admin.replicaof('127.0.0.1', 1);
    await fails(() => locks.acquire('a'), { retryable: true, outcome: 'none', word: 'MASTERDOWN' });
  });

  const SAYS_WHY = '%s: is what a release, a renewal and a nested call say they failed for';
  const saysWhy = async (_: string, refuse: () => Promise<unknown>, why: RegExp) => {
    const { locks } = open();
    await locks.using('a', async (lease) => {
      const other = await locks.acquire('b');
      await refuse();
      const failed = await Promise.all([
        // A longer lease than the present one: Redis has to write it.
        lease.renew(60_000).catch((error: unknown) => error),
        other.release().catch((error: unknown) => error),
      ]);
      const nested = await locks.acquire('a', { waitTimeMs: 300 }).catch((error: unknown) => error);
      for (const error of [...failed, nested]) {
        expect(error).toMatchObject({ code: 'LOCK_BACKEND', retryable: true });
        expect(error).toMatchObject({ message: expect.stringMatching(why) as unknown });
        expect(error).toMatchObject({ cause: expect.any(Error) as unknown });
      }
      expect(failed[1]).toMatchObject({
        message: expect.stringMatching(/^Lock "b" was not released: /) as unknown,
      });
      await redis.admin.config('SET', 'min-replicas-to-write', 0);
      await redis.admin.replicaof('NO', 'ONE');
    });
  };
  it.each([
    ['READONLY', () => redis.admin.replicaof('127.0.0.1', 1), /is a replica now|no connection/],
  ] as const)(SAYS_WHY, saysWhy);

  describeUnless(isBeforeRedis7, 'Redis before 7 does not check replicas when a script writes')(
    'without enough replicas',
    () => {
      it.each([
        [
          'NOREPLICAS',
          () => redis.admin.config('SET', 'min-replicas-to-write', 1),
          /has too few replicas/,
        ],
      ] as const)(SAYS_WHY, saysWhy);

      it('NOREPLICAS: asks again, and what is held becomes suspect', async () => {
        const client = open({ ...settings, watchdogLeaseMs: 3_000 });
        const lease = await client.locks.acquire('b');
        await redis.admin.config('SET', 'min-replicas-to-write', 1);
        await fails(() => client.locks.acquire('a'), {
          retryable: true,
          outcome: 'none',
          word: 'NOREPLICAS',
        });
        await eventually(() => lease.state === 'suspect');
        await redis.admin.config('SET', 'min-replicas-to-write', 0);
        await eventually(() => lease.state === 'held');
      });
    },
  );

  it('MISCONF: gives up at once: an operator has to repair the server', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'misconf-'));
    const server = await startRedisServer({ dir });
    // Redis cannot write over this directory.
    await mkdir(join(dir, 'dump.rdb'));
    const admin = new Redis(server.url);
    const client = open({ connection: server.url });
    try {
      const held = await client.locks.acquire('held');
      await admin.config('SET', 'save', '3600 1');
      await admin.bgsave();
      await eventually(async () => (await admin.info()).includes('rdb_last_bgsave_status:err'));
      await fails(() => client.locks.acquire('a'), {
        retryable: false,
        outcome: 'none',
        word: 'MISCONF',
      });
      await expect(held.release()).rejects.toMatchObject({ retryable: false, outcome: 'none' });
      expect(await admin.exists('held')).toBe(1);
      // Repaired, it frees the lock long before the lease ends.
      await admin.config('SET', 'save', '');
      await eventually(async () => (await admin.exists('held')) === 0);
    } finally {
      await client.close();
      admin.disconnect();
      await server.kill();
      await rm(dir, { recursive: true });
    }
  });

  it('LOADING: asks again until the data are there', async () => {
    const { locks } = open(settings);
    await locks.get('a').isLocked();
    // While it loads, Redis answers once for every 2 MB of its file.
    await redis.admin.config('SET', 'rdbcompression', 'no');
    const fill = "for i = 1, 2000 do redis.call('set', 'k' .. i, string.rep('x', 8192)) end";
    await redis.admin.eval(fill, 0);
    await redis.admin.config('SET', 'key-load-delay', 1_000);
    const loader = new Redis(redis.url);
    const loading = loader.call('DEBUG', 'RELOAD').catch((e: unknown) => e);
    try {
      await eventually(async () => {
        const error = await redis.admin.get('x').catch((e: unknown) => e);
        return String(error).includes('LOADING');
      });
      await fails(() => locks.acquire('a'), { retryable: true, outcome: 'none', word: 'LOADING' });
      const waiting = locks.acquire('a', { waitTimeMs: 20_000 });
      await loading;
      (await waiting).assertHeld();
    } finally {
      await loading;
      await redis.admin.config('SET', 'key-load-delay', 0);
      loader.disconnect();
    }
  });

  describe('passwords and rights', () => {
    const ONLY = ['reset', 'resetchannels', 'on', `>${PASSWORD}`];
    /** A user of whom only these rules hold. */
    const allow = (...rules: string[]) => redis.admin.acl('SETUSER', 'poor', ...ONLY, ...rules);
    const asPoor = () => redis.url.replace('//', `//poor:${PASSWORD}@`);

    it.each([
      ['NOAUTH', ''],
      ['WRONGPASS', ':wrong-pa55word@'],
    ])('%s: says at once that the password is missing or wrong', async (word, credentials) => {
      await redis.admin.config('SET', 'requirepass', PASSWORD);
      const { locks } = open({ connection: redis.url.replace('//', `//${credentials}`) });
      await eventually(async () => {
        const error = await fails(() => locks.acquire('a'), { retryable: false, outcome: 'none' });
        expect(inspect(error)).toContain(word);
        expect(error.message).toContain('password');
        expect(inspect(error)).not.toContain('wrong-pa55word');
      });
      await redis.admin.config('SET', 'requirepass', '');
      // Repaired, it works again without a restart.
      await eventually(async () => {
        await (await locks.acquire('a')).release();
      });
    });

    it('NOAUTH: says so too when a client of the caller does not check whether it is ready', async () => {
      await redis.admin.config('SET', 'requirepass', PASSWORD);
      const client = new Redis(redis.url, { enableReadyCheck: false, protocol: 2 });
      try {
        const { locks } = open({ connection: client });
        await eventually(() => client.status === 'ready');
        await fails(() => locks.acquire('a'), {
          retryable: false,
          outcome: 'none',
          word: 'NOAUTH',
        });
      } finally {
        client.disconnect();
      }
    });

    it('never carries the password, the owner or an argument of a command', async () => {
      await allow('~*', '+@all', '-evalsha');
      const { locks } = open({ connection: asPoor() });
      const error = await fails(() => locks.acquire('a'), { retryable: false, outcome: 'none' });
      expect(error.message).toBe('Lock "a": the Redis user lacks a permission');
      expect((error.cause as Error).message).toContain('NOPERM');
    });

    it('never carries the arguments of a command that the server does not know', async () => {
      const server = await startRedisServer({ args: ['--rename-command', 'EVALSHA', ''] });
      const client = open({ connection: server.url });
      try {
        await fails(() => client.locks.acquire('a'), {
          retryable: false,
          outcome: 'none',
          word: 'evalsha',
        });
      } finally {
        await client.close();
        await server.kill();
      }
    });

    it('NOPERM: a renewal that is refused says nothing about who holds the lock', async () => {
      await allow('~*', '&*', '+@all');
      const { locks } = open({ connection: asPoor(), watchdogLeaseMs: 20_000 });
      const lease = await locks.acquire('a');
      const before = await redis.admin.hgetall('a');
      await redis.admin.acl('SETUSER', 'poor', '-pexpire');
      await fails(() => lease.renew(60_000), { retryable: false, outcome: 'none' });
      expect(lease.state).not.toBe('lost');
      expect(await redis.admin.hgetall('a')).toEqual(before);
      await redis.admin.acl('SETUSER', 'poor', '+@all');
      await lease.release();
    });

    describe('NOPERM: a release that is refused', () => {
      const refusedRelease = async (settings?: AcquireOptions) => {
        await allow('~*', '&*', '+@all');
        const client = open({ connection: asPoor() });
        const lease = await client.locks.acquire('a', settings);
        await redis.admin.acl('SETUSER', 'poor', '-hget');
        await expect(lease.release()).rejects.toMatchObject({
          ...{ code: 'LOCK_BACKEND', retryable: false, outcome: 'none', lockName: 'a' },
        });
        expect(client.eventsOf('release-failed')).toHaveLength(1);
        return client;
      };
      /** The client reports a release that no caller waits for when it gives that release up. */
      const isGivenUp = (client: Awaited<ReturnType<typeof refusedRelease>>) =>
        eventually(() => client.eventsOf('release-failed').length === 2);

      it('is tried on, and frees the lock as soon as it may', async () => {
        const client = await refusedRelease();
        expect(await redis.admin.pttl('a')).toBeGreaterThan(20_000);
        await redis.admin.acl('SETUSER', 'poor', '+hget');
        await eventually(async () => (await redis.admin.exists('a')) === 0);
        expect(client.eventsOf('release-failed')).toHaveLength(1);
      });

      it('is tried on no longer than the lease would have lasted', async () => {
        const client = await refusedRelease({ leaseTimeMs: 600 });
        await isGivenUp(client);
        await eventually(async () => (await redis.admin.exists('a')) === 0);
      });

      it('is given up when the client closes', async () => {
        const client = await refusedRelease();
        await client.close();
        await isGivenUp(client);
        await redis.admin.del('a');
      });
    });

    it('NOPERM: the key is out of reach', async () => {
      await allow('~b*', '~nestjs_lock_*:{b}', '&*', '+@all');
      const { locks } = open({ connection: asPoor() });
      await (await locks.acquire('b')).release();
      await fails(() => locks.acquire('a'), { retryable: false, outcome: 'none' });
      // The token key is a second key, and needs its own right.
      const error = await locks.acquire('b', { fenced: true }).catch((e: unknown) => e);
      expect(error).toMatchObject({ code: 'LOCK_BACKEND', retryable: false, outcome: 'none' });
      expect(await redis.admin.exists('b')).toBe(0);
    });

    it('NOPERM: one key is out of reach by now, whose lease alone is lost', async () => {
      await allow('~*', '&*', '+@all');
      const { locks, context, eventsOf } = open({ connection: asPoor(), watchdogLeaseMs: 3_000 });
      const forbidden = await locks.acquire('forbidden');
      const others = await Promise.all(['b1', 'b2', 'b3'].map((name) => locks.acquire(name)));
      await redis.admin.acl('SETUSER', 'poor', 'resetkeys', '~b*', '~nestjs_*');
      // One script for all of them.
      for (const hold of context.holds.all) context.holds.renewSoon(hold);
      await eventually(() => forbidden.state === 'lost');
      for (const lease of others) {
        lease.assertHeld();
        await lease.release();
      }
      expect(eventsOf('suspect').map(({ name }) => name)).toEqual(['forbidden']);
      await redis.admin.del('forbidden');
    });

    it('NOPERM: the channel is out of reach, so that the lock is freed and the waiters poll', async () => {
      await allow('~*', '+@all');
      const client = open({ connection: asPoor() });
      await (await client.locks.acquire('a')).release();
      expect(await redis.admin.exists('a')).toBe(0);
      expect(client.eventsOf('wake-up-failed')).toHaveLength(1);
      expect(client.eventsOf('released')).toHaveLength(1);
    });
  });

  it('CLUSTERDOWN, CROSSSLOT: a node of a cluster that does not work', async () => {
    const server = await startRedisServer({ args: ['--cluster-enabled', 'yes'] });
    const admin = new Redis(server.url);
    const client = open({ connection: server.url, ...settings });
    try {
      await client.locks
        .get('a')
        .isLocked()
        .catch(() => undefined);
      await fails(() => client.locks.acquire('a'), { retryable: true, outcome: 'unknown' });
      await admin.cluster('ADDSLOTS', ...Array.from({ length: 16_384 }, (_, slot) => slot));
      await eventually(async () => (await client.locks.acquire('a')).release());
      const connection = openConnection(server.url);
      await eventually(async () => {
        const renewing = connection.run(RENEW, ['a', 'b'], ['x', 100, 'x', 100]);
        await expect(renewing).rejects.toThrow(LockKeyError);
      });
      await connection.close();
    } finally {
      await client.close();
      admin.disconnect();
      await server.kill();
    }
  });

  it('max number of clients: asks again until there is room', async () => {
    const [limit] = (await redis.admin.config('GET', 'maxclients')).slice(1);
    await redis.admin.config('SET', 'maxclients', 1);
    const client = open(settings);
    await fails(() => client.locks.acquire('a'), { retryable: true, outcome: 'none' });
    const waiting = client.locks.acquire('a', { waitTimeMs: 10_000 });
    await redis.admin.config('SET', 'maxclients', String(limit));
    (await waiting).assertHeld();
  });

  it('NOSCRIPT: no caller notices that the server forgets the scripts, at any moment', async () => {
    const { locks } = open({ watchdogLeaseMs: 3_000 });
    const flushing = { isOn: true };
    let flushes = 0;
    const flusher = (async () => {
      while (flushing.isOn) {
        await redis.admin.script('FLUSH');
        flushes += 1;
      }
    })();
    try {
      await Promise.all(
        Array.from({ length: 8 }, async (_, i) => {
          for (let round = 0; round < 40; round += 1) {
            await locks.using(i % 2 === 0 ? 'shared' : `own:${i}`, async (lease) => {
              await locks.using(lease.name, () => undefined, { fenced: true });
              await lease.renew();
            });
          }
        }),
      );
    } finally {
      flushing.isOn = false;
      await flusher;
    }
    expect(flushes).toBeGreaterThan(50);
  });
});
