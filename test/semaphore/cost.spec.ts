import { describe, it } from '@jest/globals';
import { SemaphoreService, type PermitLease } from 'nestjs-redis-lock/core';
import { expectCosts, type Operation } from '../support/costs.js';
import { useClients } from '../support/lock-client.js';

describe('what a semaphore costs', () => {
  const { redis, open } = useClients(SemaphoreService);

  it('is what docs/internals/semaphore.md says', async () => {
    const semaphore = open().locks.get('a');
    const strangers = open().locks.get('a');
    let [one, five]: (PermitLease | undefined)[] = [];
    let ids: readonly string[] = [];
    const operations: Operation[] = [
      ['`trySetPermits`', () => semaphore.trySetPermits(10)],
      ['`trySetPermits`, when they are set', () => semaphore.trySetPermits(5)],
      [
        'acquire of 1 permit, when none is in use',
        async () => ({ permitIds: ids } = await strangers.acquire()),
      ],
      ['acquire of 1 permit', async () => (one = await semaphore.acquire())],
      ['acquire of 5 permits', async () => (five = await semaphore.acquire({ permits: 5 }))],
      ['an attempt that is refused', () => semaphore.tryAcquire({ permits: 9 })],
      ['renewal of 1 permit', async () => one?.renew(60_000)],
      ['renewal of 5 permits', async () => five?.renew(60_000)],
      ['release of 5 permits', async () => five?.release()],
      ['release of 1 permit', async () => one?.release()],
      ['`availablePermits`, `acquiredPermits`, `permits`', () => semaphore.availablePermits()],
      ['`setPermits`', () => semaphore.setPermits(20)],
      ['`addPermits`', () => semaphore.addPermits(5)],
      [
        'acquire that takes back expired permits',
        async () => (one = await semaphore.acquire()),
        () => redis.admin.zadd('{a}:timeout', 1, 'expired', 2, 'expired too'),
      ],
      ['`tryRelease` of 1 id', () => semaphore.tryRelease(ids), async () => one?.release()],
    ];
    await expectCosts(redis, 'internals/semaphore.md', operations);
  });
});
