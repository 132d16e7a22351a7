import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { LockService } from 'nestjs-redis-lock';
import { Section, Stopwatch, useLocks, useRealRedis } from '../support/set-up.js';
import { useRedisson } from './redisson.js';
import {
  BY_MESSAGE_MS,
  LEASE_LOST,
  listening,
  LONG_MS,
  MS,
  NO_POLL,
  WATCHDOG_MS,
} from './sides.js';

/** Redisson lets go of what stands in the way of others only after seconds. */
const ROUNDS = 2;
const BOTH = ['multiLock', ['a', 'b']] as const;
/** 3.16 wraps it. */
const NONE_OF_THEM = { type: expect.stringMatching(/IllegalMonitorState|Completion/) };

describe('several locks as one, and RedissonMultiLock', () => {
  const redis = useRealRedis();
  const java = useRedisson(redis);
  const open = useLocks(redis, (context) => new LockService(context));

  it('keep each other out of every lock', async () => {
    const { locks } = open();
    const both = locks.multi(['a', 'b']);
    await java.current.call('A', BOTH, 'lock');
    expect(await locks.tryAcquire('a')).toBeNull();
    expect(await locks.tryAcquire('b')).toBeNull();
    expect(await both.tryAcquire()).toBeNull();
    await java.current.call('A', BOTH, 'unlock');
    const lease = await both.acquire();
    expect(await java.current.call('A', BOTH, 'tryLock')).toBe(false);
    expect(await java.current.call('A', ['lock', 'b'], 'tryLock')).toBe(false);
    await lease.release();
    expect(await redis.admin.keys('*')).toEqual([]);
  });

  it('release what was granted when one lock is taken by the other side', async () => {
    const { locks } = open();
    await java.current.call('A', ['lock', 'b'], 'lock');
    expect(await locks.multi(['a', 'b']).tryAcquire()).toBeNull();
    expect(await redis.admin.exists('a')).toBe(0);
    await java.current.call('A', ['lock', 'b'], 'unlock');
    const lease = await locks.acquire('b');
    expect(await java.current.call('A', BOTH, 'tryLock')).toBe(false);
    expect(await redis.admin.exists('a')).toBe(0);
    await lease.release();
  });

  it('wake each other up', async () => {
    const { locks } = open(NO_POLL);
    await java.current.call('A', BOTH, 'lock');
    const waiting = locks.multi(['b', 'a']).acquire();
    await listening(redis, 1);
    const sinceUnlock = new Stopwatch();
    await java.current.call('A', BOTH, 'unlock');
    const lease = await waiting;
    expect(sinceUnlock.ms).toBeLessThan(BY_MESSAGE_MS);
    const javaWaiting = java.current.call('A', BOTH, 'tryLock', LONG_MS, MS);
    await java.current.parked('A');
    const sinceRelease = new Stopwatch();
    await lease.release();
    expect(await javaWaiting).toBe(true);
    expect(sinceRelease.ms).toBeLessThan(BY_MESSAGE_MS);
    await java.current.call('A', BOTH, 'unlock');
  });

  it('stay out until the last of several holds is released', async () => {
    const both = open().locks.multi(['a', 'b']);
    for (const verb of ['lock', 'lock', 'unlock']) await java.current.call('A', BOTH, verb);
    expect(await both.tryAcquire()).toBeNull();
    await java.current.call('A', BOTH, 'unlock');
    await both.using(async () => {
      await both.using(() => undefined);
      expect(await java.current.call('A', BOTH, 'tryLock')).toBe(false);
    });
    expect(await java.current.call('A', BOTH, 'tryLock')).toBe(true);
    await java.current.call('A', BOTH, 'unlock');
  });

  it('get in when the leases of the other side end', async () => {
    const both = open(NO_POLL).locks.multi(['a', 'b']);
    expect(await java.current.call('A', BOTH, 'tryLock', LONG_MS, 600, MS)).toBe(true);
    const lease = await both.acquire({ leaseTimeMs: 600 });
    await expect(java.current.call('A', BOTH, 'unlock')).rejects.toMatchObject(NONE_OF_THEM);
    expect(await java.current.call('A', BOTH, 'tryLock', LONG_MS, MS)).toBe(true);
    await expect(lease.release()).rejects.toMatchObject(LEASE_LOST);
    await java.current.call('A', BOTH, 'unlock');
  });

  it('get in soon after the other side has crashed', async () => {
    const connection = new Redis(redis.url);
    const { locks } = open({ connection, watchdogLeaseMs: WATCHDOG_MS });
    const mortal = await java.start(WATCHDOG_MS);
    await mortal.call('A', BOTH, 'lock');
    const waiting = locks.multi(['a', 'b']).acquire({ waitTimeMs: 60_000 });
    await listening(redis, 1);
    await mortal.kill();
    const sinceKill = new Stopwatch();
    await waiting;
    expect(sinceKill.ms).toBeLessThan(WATCHDOG_MS + BY_MESSAGE_MS);
    connection.disconnect();
    expect(await java.current.call('A', BOTH, 'tryLock', LONG_MS, MS)).toBe(true);
    await java.current.call('A', BOTH, 'unlock');
  });

  it('lose what is taken away by force, all of it or one of them', async () => {
    const both = open().locks.multi(['a', 'b']);
    await java.current.call('A', BOTH, 'lock');
    expect(await both.forceRelease()).toBe(true);
    await expect(java.current.call('A', BOTH, 'unlock')).rejects.toMatchObject(NONE_OF_THEM);
    const lease = await both.acquire();
    expect(await java.current.call('A', ['lock', 'b'], 'forceUnlock')).toBe(true);
    await expect(lease.release()).rejects.toMatchObject(LEASE_LOST);
    expect(await redis.admin.keys('*')).toEqual([]);
  });

  it('never wait for each other, though Java names them the other way round', async () => {
    const other = ['multiLock', ['b', 'a']] as const;
    const { locks } = open({ waitTimeMs: Infinity });
    const section = new Section();
    const fromNode = async () => {
      for (let i = 0; i < ROUNDS; i += 1)
        await locks.multi(['a', 'b']).using(() => section.run(() => undefined));
    };
    const fromJava = async (thread: string) => {
      for (let i = 0; i < ROUNDS; i += 1) {
        await java.current.call(thread, other, 'lock');
        await section.run(() => undefined);
        await java.current.call(thread, other, 'unlock');
      }
    };
    await Promise.all([fromNode(), fromNode(), fromJava('A')]);
    expect(section.entries).toBe(3 * ROUNDS);
    expect(section.most).toBe(1);
  });
});
