import { afterEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { LeaseLostError, LockBackendError, LockService } from 'nestjs-redis-lock/core';
import { outagesOf } from '../support/outages.js';
import { FOREIGN_OWNER, redisson } from '../support/redisson.js';
import { eventually, PROMPT_MS, Stopwatch, useProxiedClients, watch } from '../support/set-up.js';

/** How long a caller that does not wait for the lock waits for the answer. */
const ONE_ANSWER_MS = 1_000;

describe('LockService while Redis cannot be asked', () => {
  const { redis, proxy, open } = useProxiedClients(LockService);

  const { faults: outages, healed } = outagesOf(redis, proxy);
  const faults = {
    ...outages,
    'half-open': () => {
      proxy.current.blackhole();
    },
  };
  /** A client of which the connection stands. */
  const opened = async (settings: Parameters<typeof open>[0] = {}) => {
    const client = open({ connection: proxy.current.url, ...settings });
    await client.locks.get('ready').isLocked();
    return client;
  };
  const timed = async (work: () => Promise<unknown>) => {
    const stopwatch = new Stopwatch();
    const outcome = await work().catch((error: unknown) => error);
    return { outcome, tookMs: stopwatch.ms };
  };

  it('is only slow when its first answer comes after waitTimeMs: busy is busy, and free is free', async () => {
    const { locks } = await opened();
    await redisson.tryLock(redis.admin, 'busy');
    // Redis learns the script, also in its form for many calls.
    await locks.tryAcquire('busy');
    const warm = await Promise.all([locks.acquire('w'), locks.acquire('x')]);
    await Promise.all(warm.map((lease) => lease.release()));
    proxy.current.delay('toClient', 50);
    const calls = await Promise.allSettled([
      ...[1, 2].map(() => locks.acquire('busy', { waitTimeMs: 10 })),
      locks.acquire('free', { waitTimeMs: 10 }),
    ]);
    expect(calls.map((call) => (call as { reason?: { code: string } }).reason?.code)).toEqual([
      ...['LOCK_TIMEOUT', 'LOCK_TIMEOUT', undefined],
    ]);
  });

  describe.each(Object.entries(faults))('%s', (kind, takeAway) => {
    it('keeps every time limit, and says that it could not ask', async () => {
      const { locks } = await opened();
      takeAway();
      const calls: [work: () => Promise<unknown>, limitMs: number][] = [
        [() => locks.acquire('a', { waitTimeMs: 150 }), 150],
        [() => locks.acquire('a', { waitTimeMs: 300 }), 300],
        [() => locks.using('b', () => 'work', { waitTimeMs: 200 }), 200],
        [() => locks.acquire('c', { waitTimeMs: 0 }), ONE_ANSWER_MS],
        [() => locks.tryAcquire('d'), ONE_ANSWER_MS],
        [() => locks.tryAcquire('d', { waitTimeMs: 250 }), 250],
        [() => locks.get('e').isLocked(), ONE_ANSWER_MS],
        [() => locks.get('e').remainingTimeMs(), ONE_ANSWER_MS],
        [() => locks.get('e').forceRelease(), ONE_ANSWER_MS],
      ];
      await Promise.all(
        calls.map(async ([work, limitMs]) => {
          const { outcome, tookMs } = await timed(work);
          expect(outcome).toBeInstanceOf(LockBackendError);
          expect(outcome).toMatchObject({ code: 'LOCK_BACKEND', retryable: true });
          expect((outcome as LockBackendError).lockName).toMatch(/^[a-e]$/);
          expect(tookMs).toBeLessThan(limitMs + PROMPT_MS);
        }),
      );
      await healed();
      for (const name of ['a', 'b', 'c', 'd']) {
        await eventually(async () => (await redis.admin.exists(name)) === 0);
      }
    });

    it('lets those who can wait in as soon as Redis is back', async () => {
      const { locks } = await opened();
      takeAway();
      const waiting = [1, 2, 3].map(() => watch(locks.acquire('a', { waitTimeMs: 60_000 })));
      await expect(locks.acquire('b', { waitTimeMs: 50 })).rejects.toThrow(LockBackendError);
      await healed();
      for (const { promise } of waiting) await (await promise).release();
    });

    it('rejects an aborted caller at once', async () => {
      const { locks } = await opened();
      takeAway();
      const abort = new AbortController();
      const acquiring = watch(locks.acquire('a', { signal: abort.signal, waitTimeMs: Infinity }));
      await new Promise(setImmediate);
      expect(acquiring.state).toBe('pending');
      const { tookMs } = await timed(() => {
        abort.abort(new Error('no time'));
        return acquiring.promise;
      });
      expect(tookMs).toBeLessThan(PROMPT_MS);
      await expect(acquiring.promise).rejects.toThrow('no time');
      await healed();
    });

    it('makes a lease suspect and then lost by the local deadline', async () => {
      const client = await opened({ watchdogLeaseMs: 3_000 });
      const lease = await client.locks.acquire('a');
      const { signal } = lease;
      takeAway();
      await eventually(() => lease.state === 'suspect', { everyMs: 1 });
      lease.assertHeld();
      const { remainingMs } = lease;
      const stopwatch = new Stopwatch();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      expect(stopwatch.ms).toBeLessThan(remainingMs + PROMPT_MS);
      expect(lease.state).toBe('lost');
      expect(signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'expired' });
      const cause = (signal.reason as Error).cause;
      expect(cause).toMatchObject({ code: 'LOCK_BACKEND', retryable: true });
      expect(() => {
        lease.assertHeld();
      }).toThrow(LeaseLostError);
      expect(client.eventsOf('lost')).toHaveLength(1);
      await healed();
      await eventually(async () => (await redis.admin.exists('a')) === 0);
    });
  });

  it('says by which renewal of its caller a fixed lease was not prolonged', async () => {
    const client = await opened();
    const lease = await client.locks.acquire('a', { leaseTimeMs: 1_000 });
    faults.down();
    await eventually(() => !client.context.connection.isUp);
    const renewing = lease.renew();
    await expect(renewing).rejects.toMatchObject({ code: expect.stringMatching(/^L/) });
    await eventually(() => lease.state === 'lost');
    const { cause, ...lost } = lease.signal.reason as LeaseLostError;
    expect(lost).toMatchObject({ reason: 'expired', renewalFailedAt: expect.any(Date) });
    expect(cause).toMatchObject({ code: 'LOCK_BACKEND', message: lost.renewalFailedWith });
    await healed();
  });

  it('keeps a lease whose renewals come through again in time', async () => {
    const client = await opened({ watchdogLeaseMs: 4_000 });
    const lease = await client.locks.acquire('a');
    faults.down();
    await eventually(() => lease.state === 'suspect');
    await healed();
    await eventually(() => lease.state === 'held');
    lease.assertHeld();
    expect(await redis.admin.hgetall('a')).toEqual({ [lease.owner]: '1' });
    await lease.release();
  });

  it('leaves no key when it closes while a release waits for Redis to come back', async () => {
    const client = await opened();
    const lease = await client.locks.acquire('a');
    faults.down();
    await eventually(async () => (await redis.clients()).length === 0);
    const releasing = lease.release();
    const closing = client.close();
    await healed();
    await Promise.all([releasing, closing]);
    expect(await redis.admin.exists('a')).toBe(0);
  });

  it('says so also when there has never been a connection', async () => {
    proxy.current.refuse();
    const client = open({ connection: proxy.current.url });
    const { outcome, tookMs } = await timed(() => client.locks.acquire('a', { waitTimeMs: 100 }));
    expect(outcome).toMatchObject({ code: 'LOCK_BACKEND', outcome: 'none', lockName: 'a' });
    expect(tookMs).toBeLessThan(100 + PROMPT_MS);
    const waiting = client.locks.acquire('a');
    await proxy.current.accept();
    (await waiting).assertHeld();
  });

  it('keeps waitTimeMs with a client of the caller that would wait for ever', async () => {
    const client = new Redis(proxy.current.url, { maxRetriesPerRequest: null });
    client.on('error', () => undefined);
    try {
      const { locks } = await opened({ connection: client });
      proxy.current.blackhole();
      const calls = [locks.acquire('a', { waitTimeMs: 100 }), locks.tryAcquire('b')];
      for (const call of calls) {
        const { outcome, tookMs } = await timed(() => call);
        expect(outcome).toMatchObject({ code: 'LOCK_BACKEND', outcome: 'unknown' });
        expect(tookMs).toBeLessThan(ONE_ANSWER_MS + PROMPT_MS);
      }
      await healed();
    } finally {
      client.disconnect();
    }
  });

  it('sends nothing for callers who gave up while the connection was down', async () => {
    const client = new Redis(proxy.current.url, { retryStrategy: () => 10 });
    client.on('error', () => undefined);
    try {
      const { locks } = await opened({ connection: client });
      faults.down();
      await eventually(() => client.status !== 'ready');
      const calls = Array.from({ length: 100 }, (_, i) =>
        locks.acquire(`a${i}`, { waitTimeMs: 20 }).catch((error: unknown) => error),
      );
      for (const error of await Promise.all(calls)) {
        expect(error).toMatchObject({ code: 'LOCK_BACKEND', outcome: 'none' });
      }
      const sent = await redis.commandsDuring(async () => {
        await healed();
        await eventually(async () => !(await locks.get('ready').isLocked()));
      });
      expect(sent.hset).toBeUndefined();
    } finally {
      client.disconnect();
    }
  });

  it('finds the lease gone after a restart without data, and lets the next one in', async () => {
    const client = open({ watchdogLeaseMs: 20_000 });
    const { locks } = client;
    const first = await locks.acquire('a', { fenced: true });
    const lost = new Promise((resolve) => first.signal.addEventListener('abort', resolve));
    const waiting = locks.acquire('a', { fenced: true });
    await redis.restart();
    const second = await waiting;
    expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
    await expect(first.release()).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'gone' });
    await lost;
    second.assertHeld();
    expect(await redis.admin.hgetall('a')).toEqual({ [second.owner]: '1' });
  });

  it('learns that the lease is gone from the first renewal after a restart, and takes nothing back', async () => {
    const client = open({ watchdogLeaseMs: 6_000 });
    const lease = await client.locks.acquire('a');
    await redis.kill();
    await eventually(() => lease.state === 'suspect');
    await redis.start();
    await redis.admin.hset('a', FOREIGN_OWNER, 1);
    await eventually(() => lease.state === 'lost');
    expect(lease.signal.reason).toMatchObject({ reason: 'gone' });
    expect(client.eventsOf('suspect')).toHaveLength(1);
    expect(await redis.admin.hgetall('a')).toEqual({ [FOREIGN_OWNER]: '1' });
  });

  it('testLockAfterTimeout: after a restart the release rejects, and a new hold is renewed', async () => {
    const client = open({ watchdogLeaseMs: 3_000 });
    const { locks } = client;
    const lease = await locks.acquire('a');
    await redis.restart();
    await expect(lease.release()).rejects.toMatchObject({ code: 'LEASE_LOST' });
    const next = await locks.acquire('a');
    const renewals = client.eventsOf('renewed').length;
    await eventually(() => client.eventsOf('renewed').length >= renewals + 4);
    next.assertHeld();
    await next.release();
  });

  it('testLockReentrantRenew: a later hold of the name is renewed for ten periods', async () => {
    const client = open({ watchdogLeaseMs: 3_000 });
    const { locks } = client;
    await locks.using('a', () => locks.using('a', () => undefined));
    const lease = await locks.acquire('a');
    await eventually(() => client.eventsOf('renewed').length >= 10, { withinMs: 30_000 });
    lease.assertHeld();
    await lease.release();
    expect(client.eventsOf('lost')).toEqual([]);
  });

  afterEach(() => {
    redis.resume();
  });
});
