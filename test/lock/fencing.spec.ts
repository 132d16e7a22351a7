import { describe, expect, it } from '@jest/globals';
import { FairLockService, LockService } from 'nestjs-redis-lock/core';
import { useLocks, useRedis } from '../support/set-up.js';

const WEEK_MS = 7 * 24 * 60 * 60 * 1_000;
const TOKEN = 'redisson_lock_token:{a}';

describe('fencing tokens', () => {
  const redis = useRedis();
  const open = useLocks(redis, (context) => ({
    lock: new LockService(context),
    fair: new FairLockService(context),
  }));

  it('rise with every grant, also with those of Java in between: a bare INCR', async () => {
    const { lock } = open().locks;
    const tokens: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      const lease = await lock.acquire('a', { fenced: true });
      tokens.push(lease.fencingToken);
      await lease.release();
      tokens.push(await redis.admin.incr(TOKEN));
      tokens.push(await redis.admin.incr(TOKEN));
    }
    expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => a - b));
    expect(tokens.every(Number.isSafeInteger)).toBe(true);
  });

  it('rise past what Java has begun with to the time of the server, and stay plain digits', async () => {
    const { lock } = open().locks;
    expect(await redis.admin.incr(TOKEN)).toBe(1);
    const [seconds = NaN] = (await redis.admin.time()).map(Number);
    const lease = await lock.acquire('a', { fenced: true });
    expect(lease.fencingToken).toBeGreaterThanOrEqual(seconds * 1_000_000);
    expect(lease.fencingToken).toBeLessThan((seconds + 60) * 1_000_000);
    expect(await redis.admin.get(TOKEN)).toBe(String(lease.fencingToken));
    expect(await redis.admin.get(TOKEN)).toMatch(/^\d{16}$/);
    expect(await redis.admin.incr(TOKEN)).toBe(lease.fencingToken + 1);
  });

  describe.each(['lock', 'fair'] as const)('of the %s', (kind) => {
    it.each(['auto', 'redisson'] as const)(
      'rise also when only Java is granted the lock for months: %s',
      async (interop) => {
        const locks = open({ interop }).locks[kind];
        const tokens: number[] = [];
        for (const ttl of [undefined, WEEK_MS]) {
          // As an earlier release left it.
          if (ttl !== undefined) await redis.admin.pexpire(TOKEN, ttl);
          const lease = await locks.acquire('a', { fenced: true });
          tokens.push(lease.fencingToken);
          await lease.release();
          tokens.push(await redis.admin.incr(TOKEN));
          // Months go by: INCR has prolonged nothing.
          if ((await redis.admin.pttl(TOKEN)) !== -1) await redis.admin.del(TOKEN);
          tokens.push(await redis.admin.incr(TOKEN));
        }
        expect(tokens).toEqual(tokens.toSorted((a, b) => a - b));
      },
    );

    it('leave nothing for ever behind where there is no Java', async () => {
      const locks = open({ interop: 'none' }).locks[kind];
      const lease = await locks.acquire('a', { fenced: true });
      await lease.release();
      const ttl = await redis.admin.pttl(TOKEN);
      expect(ttl).toBeGreaterThan(WEEK_MS - 60_000);
      expect(ttl).toBeLessThanOrEqual(WEEK_MS);
      await redis.admin.del(TOKEN);
      const next = await locks.acquire('a', { fenced: true });
      expect(next.fencingToken).toBeGreaterThan(lease.fencingToken);
      await next.release();
    });
  });

  it('are those of the outer lease for a nested one that wants none of its own', async () => {
    const { lock } = open().locks;
    const nested = ({ fencingToken }: { fencingToken: number }) =>
      lock.using('a', (inner) => expect(inner.fencingToken).toBe(fencingToken));
    await lock.using('a', nested, { fenced: true });
  });

  it('rise by one where Java is ahead of the server’s clock', async () => {
    const { lock } = open().locks;
    const ahead = (Date.now() + 3_600_000) * 1_000;
    await redis.admin.set(TOKEN, ahead);
    const lease = await lock.acquire('a', { fenced: true });
    expect(lease.fencingToken).toBe(ahead + 1);
    await lease.release();
    expect(await redis.admin.incr(TOKEN)).toBe(ahead + 2);
  });
});

/** Checked by the compiler: an unused @ts-expect-error fails the type check. */
export async function types(locks: LockService, mayBe: boolean): Promise<number[]> {
  const lease = await locks.acquire('a', { fenced: true });
  const tried = await locks.tryAcquire('a', { fenced: true });
  const used = await locks.using('a', ({ fencingToken }) => fencingToken, { fenced: true });
  const perhaps = await locks.acquire('a', { fenced: mayBe });
  // @ts-expect-error -- a call that may be unfenced may have no token
  const unsure: number = perhaps.fencingToken;
  // @ts-expect-error -- an unfenced call has no token
  const none: number = (await locks.acquire('a')).fencingToken;
  // @ts-expect-error -- an option that does not exist
  await locks.acquire('a', { fenced: true, ttl: 5_000 });
  return [lease.fencingToken, tried?.fencingToken ?? 0, used, unsure, none];
}
