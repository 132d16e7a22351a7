import { describe, expect, it } from '@jest/globals';
import { LockArgumentError, LockKeyError } from 'nestjs-redis-lock/core';
import { describeReadWriteBehaviour } from '../contract/read-write.contract.js';
import { eventually, Section, useRedis } from '../support/set-up.js';
import { timeoutKey } from '../support/redisson-read-write.js';
import { useReadWriteLocks } from './sides.js';

describe('ReadWriteLockService', () => {
  const redis = useRedis();
  const { open } = useReadWriteLocks(redis);
  const lockOf = (settings = {}) => open(settings).locks.get('a');

  describeReadWriteBehaviour({ redis, open });

  it('gives both sides of a name, which are different locks, without asking Redis', async () => {
    const { locks } = open();
    await locks.get('a').read.isLocked();
    const sent = await redis.commandsDuring(() => {
      const { read, write } = locks.get('a');
      expect([read.name, write.name]).toEqual(['a', 'a']);
      expect(read.id).not.toBe(write.id);
    });
    expect(sent).toEqual({});
    expect(() => locks.get('')).toThrow(LockKeyError);
  });

  describe('fencing tokens', () => {
    it('are refused for readers: what many hold at a time has no order', async () => {
      const { read } = lockOf();
      for (const fenced of [true, false]) {
        await expect(read.acquire({ fenced })).rejects.toThrow(LockArgumentError);
      }
      expect(await redis.admin.keys('*')).toEqual([]);
    });
  });

  describe('readers', () => {
    it('of one scope do not take turns: they are inside side by side', async () => {
      const { read } = lockOf();
      const section = new Section();
      await read.using(async ({ owner }) => {
        await Promise.all(
          [1, 2, 3].map(() =>
            read.using((lease) =>
              section.run(async () => {
                expect(lease.owner).toBe(owner);
                await eventually(() => section.most === 3);
              }),
            ),
          ),
        );
        expect(await redis.admin.hget('a', owner)).toBe('1');
      });
      expect(await redis.admin.keys('*')).toEqual([]);
    });

    it('keep it also when the hold below has run out meanwhile', async () => {
      const { read } = lockOf();
      await read.using(
        async (lease) => {
          const inner = await read.acquire({ leaseTimeMs: 60_000 });
          const first = timeoutKey('a', lease.owner, 1);
          await eventually(async () => (await redis.admin.exists(first)) === 0);
          await inner.release();
          expect(await redis.admin.pttl(first)).toBeGreaterThan(50_000);
          lease.assertHeld();
          expect(await lockOf().write.tryAcquire()).toBeNull();
        },
        { leaseTimeMs: 50 },
      );
      expect(await redis.admin.keys('*')).toEqual([]);
    });
  });
});
