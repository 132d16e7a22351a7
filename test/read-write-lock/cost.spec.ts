import { describe, expect, it } from '@jest/globals';
import type { Lease } from 'nestjs-redis-lock/core';
import { expectCosts } from '../support/costs.js';
import { eventually, useRedis } from '../support/set-up.js';
import { useReadWriteLocks } from './sides.js';

/** Where a writer and a reader are remembered while they wait. */
const WAITING = ['nestjs_rwlock_writers:{a}', 'nestjs_rwlock_readers:{a}'];

describe('what a read-write lock costs in Redis commands', () => {
  const redis = useRedis();
  const { open } = useReadWriteLocks(redis);

  it('is what the page says', async () => {
    const { read, write } = open().locks.get('a');
    let [reading, second, writing]: (Lease | undefined)[] = [];
    // The second of two leases that end in the same millisecond need not prolong the lock.
    const longer = { leaseTimeMs: 35_000 };
    await expectCosts(redis, 'internals/read-write-lock.md', [
      ['read, free', async () => (reading = await read.acquire())],
      ['read, beside another reader', async () => (second = await read.acquire(longer))],
      ['try to write, refused by two readers', () => write.tryAcquire()],
      ['renew a read', async () => reading?.renew(40_000)],
      ['end a read, another goes on', async () => second?.release()],
      ['end the last read', async () => reading?.release()],
      ['write, free', async () => (writing = await write.acquire())],
      ['try to read, refused by a writer', () => read.tryAcquire()],
      ['renew a write', async () => writing?.renew(40_000)],
      ['end a write', async () => writing?.release()],
    ]);
  });

  it('is one message and no more scripts than polls for a caller that waits', async () => {
    const holder = await open().locks.get('a').write.acquire();
    const client = open({ pollIntervalMs: 60_000 });
    const { read, write } = client.locks.get('a');
    const waiting = [read.acquire({ waitTimeMs: 60_000 }), write.acquire({ waitTimeMs: 60_000 })];
    await eventually(async () => (await redis.admin.exists(...WAITING)) === 2);
    await eventually(async () => (await redis.wakeUpChannels()).length === 1);
    const [reading, writing] = waiting;
    const sent = await redis.commandsDuring(async () => {
      await holder.release();
      await (await reading)?.release();
      await (await writing)?.release();
    });
    // Three releases, the two grants, and the attempts that a message or the subscription set off.
    expect(sent.evalsha).toBeLessThanOrEqual(3 + 2 + 6);
  });
});
