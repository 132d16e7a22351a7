import { describe, expect, it } from '@jest/globals';
import { LockService } from 'nestjs-redis-lock/core';
import { FairLockService } from '../../libs/redis-lock/src/primitives/fair-lock/fair-lock-service.js';
import { describeFairness } from '../contract/fairness.contract.js';
import { describeLockContract } from '../contract/lock.contract.js';
import { useClients } from '../support/lock-client.js';

const { redis, open } = useClients(FairLockService);

// The place of a dead waiter is kept for 5 s.
describeLockContract('FairLockService', { redis, open, deadWaiterMs: 5_000 });
describeFairness({ redis, open });

describe('a lock of another kind with the same name', () => {
  it('is not joined: a call inside of it that awaits it ends with a hint', async () => {
    const { locks: fair, context } = open();
    const plain = new LockService(context);
    for (const [outer, inner] of [[fair, plain] as const, [plain, fair] as const]) {
      await outer.using('a', async () => {
        const error = await inner.acquire('a', { waitTimeMs: 60 }).catch((e: unknown) => e);
        expect(error).toMatchObject({ blockedBy: 'surrounding', holding: ['a'] });
        expect((error as Error).message).toContain('the hold is of another kind');
      });
    }
  });
});
