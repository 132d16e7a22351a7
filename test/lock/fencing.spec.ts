import { describe, expect, it } from '@jest/globals';
import { LockService } from 'nestjs-redis-lock';
import { useLocks } from '../support/lock-client.js';
import { useRedis } from '../support/redis-server.js';

const TOKEN = 'redisson_lock_token:{a}';

describe('fencing tokens', () => {
  const redis = useRedis();
  const open = useLocks(redis, (context) => new LockService(context));

  it('rise with every grant, also with those of Java in between: a bare INCR', async () => {
    const { locks } = open();
    const tokens: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      const lease = await locks.acquire('a', { fenced: true });
      tokens.push(lease.fencingToken ?? NaN);
      await lease.release();
      tokens.push(await redis.admin.incr(TOKEN));
      tokens.push(await redis.admin.incr(TOKEN));
    }
    expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => a - b));
    expect(tokens.every(Number.isSafeInteger)).toBe(true);
  });

  it('rise past what Java has begun with, and stay plain digits', async () => {
    const { locks } = open();
    expect(await redis.admin.incr(TOKEN)).toBe(1);
    const lease = await locks.acquire('a', { fenced: true });
    expect(lease.fencingToken).toBeGreaterThan(1);
    expect(await redis.admin.get(TOKEN)).toBe(String(lease.fencingToken));
    expect(await redis.admin.get(TOKEN)).toMatch(/^\d{16}$/);
    expect(await redis.admin.incr(TOKEN)).toBe((lease.fencingToken ?? NaN) + 1);
  });

  it('rise by one where Java is ahead of the server’s clock', async () => {
    const { locks } = open();
    const ahead = (Date.now() + 3_600_000) * 1_000;
    await redis.admin.set(TOKEN, ahead);
    const lease = await locks.acquire('a', { fenced: true });
    expect(lease.fencingToken).toBe(ahead + 1);
    await lease.release();
    expect(await redis.admin.incr(TOKEN)).toBe(ahead + 2);
  });
});
