import { describe, expect, it } from '@jest/globals';
import { LockService, type Lease } from 'nestjs-redis-lock/core';
import { useLocks, useRealRedis } from '../support/set-up.js';
import { useGolden, type Replay } from '../support/wire/golden.js';
import type { WireKeys } from '../support/wire/wire-state.js';

const TOKEN = 'redisson_lock_token:{a}';
const FENCED = { fenced: true } as const;

const redis = useRealRedis();
const golden = useGolden(redis, 'fenced-lock');
const open = useLocks(redis, (context) => new LockService(context));

/** Java counts from 1; ours never falls below the time of the server, in microseconds. */
const keys = (redissons: WireKeys): WireKeys => {
  const token = redissons[TOKEN];
  if (!token || !('string' in token)) return redissons;
  return { ...redissons, [TOKEN]: { ...token, string: `<token ${token.string}>` } };
};
const isGranted = (trace: Replay, who: string, token: number, lease: Lease) => {
  trace.owner(who, lease.owner);
  trace.owner(`token ${token}`, String(lease.fencingToken));
  return lease.fencingToken ?? NaN;
};

describe('what a fenced lock leaves in Redis is what RFencedLock leaves there, but for the number', () => {
  it('when each grant takes a token', async () => {
    const [{ locks }, other] = [open(), open().locks];
    const trace = await golden.scenario('a token for each grant');
    const tokens: number[] = [];
    await locks.using(
      'a',
      async (lease) => {
        tokens.push(isGranted(trace, 'A', 1, lease));
        await trace.sees('A: fencedLock.lockAndGetToken()', { keys });
        await locks.using(
          'a',
          async (nested) => {
            tokens.push(isGranted(trace, 'A', 2, nested));
            await trace.sees('A: fencedLock.lock()', { keys });
          },
          FENCED,
        );
        expect(await other.tryAcquire('a', FENCED)).toBeNull();
        await trace.sees('A: fencedLock.unlock()', { keys });
      },
      FENCED,
    );
    await trace.sees('A: fencedLock.unlock()', { keys });
    const last = await other.acquire('a', { ...FENCED, leaseTimeMs: 20_000 });
    tokens.push(isGranted(trace, 'B', 3, last));
    await trace.sees('B: fencedLock.tryLockAndGetToken(0, 20000)', { keys });
    await trace.plays('B: fencedLock.unlock()', last.release(), { keys });
    expect(tokens).toEqual([...new Set(tokens)].toSorted((one, two) => one - two));
  });

  it('when it is released by force', async () => {
    const [{ locks }, other] = [open(), open().locks];
    const trace = await golden.scenario('a token after a release by force');
    const first = isGranted(trace, 'A', 1, await locks.acquire('a', FENCED));
    await trace.sees('A: fencedLock.lockAndGetToken()', { keys });
    expect(await other.get('a').forceRelease()).toBe(true);
    await trace.sees('B: fencedLock.forceUnlock()', { keys });
    const lease = await other.acquire('a', FENCED);
    expect(isGranted(trace, 'B', 2, lease)).toBeGreaterThan(first);
    await trace.sees('B: fencedLock.lockAndGetToken()', { keys });
    await trace.plays('B: fencedLock.unlock()', lease.release(), { keys });
  });
});

describe('what RFencedLock leaves in Redis is understood by a fenced lock', () => {
  it('when each grant takes a token, of which ours is larger', async () => {
    const { locks } = open();
    const trace = await golden.scenario('a token for each grant');
    await trace.put('A: fencedLock.lockAndGetToken()');
    await trace.put('A: fencedLock.lock()');
    expect(await locks.tryAcquire('a', FENCED)).toBeNull();
    await trace.put('A: fencedLock.unlock()');
    await trace.put('A: fencedLock.unlock()');
    const lease = await locks.acquire('a', { ...FENCED, leaseTimeMs: 20_000 });
    expect(isGranted(trace, 'B', 3, lease)).toBeGreaterThan(2);
    await trace.sees('B: fencedLock.tryLockAndGetToken(0, 20000)', { keys });
    // As Java takes its next one.
    expect(await redis.admin.incr(TOKEN)).toBe(lease.fencingToken + 1);
    await redis.admin.decr(TOKEN);
    await trace.plays('B: fencedLock.unlock()', lease.release(), { keys });
  });

  it('when we release it by force', async () => {
    const { locks } = open();
    const trace = await golden.scenario('a token after a release by force');
    await trace.put('A: fencedLock.lockAndGetToken()');
    expect(await locks.get('a').forceRelease()).toBe(true);
    await trace.sees('B: fencedLock.forceUnlock()');
    const lease = await locks.acquire('a', FENCED);
    expect(isGranted(trace, 'B', 2, lease)).toBeGreaterThan(1);
    await trace.sees('B: fencedLock.lockAndGetToken()', { keys });
    await trace.plays('B: fencedLock.unlock()', lease.release(), { keys });
  });
});
