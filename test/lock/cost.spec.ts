import { describe, expect, it } from '@jest/globals';
import { LockService, type Lease } from 'nestjs-redis-lock/core';
import { expectCosts } from '../support/costs.js';
import { useClients } from '../support/lock-client.js';

describe('what a lock costs', () => {
  const { redis, open } = useClients(LockService);

  it('is what docs/internals/lock.md says', async () => {
    const { locks } = open();
    const other = open();
    let lease: Lease | undefined;
    await expectCosts(redis, 'internals/lock.md', [
      ['acquire a free lock', async () => (lease = await locks.acquire('a'))],
      ['find it busy', () => other.locks.tryAcquire('a')],
      ['renew', async () => lease?.renew(60_000)],
      ['check whether it is held', () => locks.get('a').isLocked()],
      ['release', async () => lease?.release()],
      ['acquire with a token', async () => (lease = await locks.acquire('a', { fenced: true }))],
      ['force its release', () => other.locks.get('a').forceRelease()],
    ]);
  });

  it('is nothing for a lock object', async () => {
    const { locks } = open();
    await locks.get('a').isLocked();
    expect(await redis.commandsDuring(() => locks.get('b'))).toEqual({});
  });

  it('is for several together what docs/multi-lock.md says', async () => {
    const both = open().locks.multi(['a', 'b']);
    let lease: Lease | undefined;
    await expectCosts(redis, 'multi-lock.md', [
      ['acquire both', async () => (lease = await both.acquire())],
      ['renew both', async () => lease?.renew(60_000)],
      ['release both', async () => lease?.release()],
    ]);
  });
});
