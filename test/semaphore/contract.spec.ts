import { expect, it } from '@jest/globals';
import { SemaphoreService } from '../../libs/redis-lock/src/primitives/semaphore/semaphore-service.js';
import { describePermitContract } from '../contract/permits.contract.js';
import { useClients } from '../support/lock-client.js';

const { redis, open } = useClients(SemaphoreService);

describePermitContract('SemaphoreService', { redis, open });

it('goes by the clock of the server: a client whose clock is ahead takes no permit back', async () => {
  const [ours, others] = [open().locks.get('a'), open().locks.get('a')];
  await ours.setPermits(1);
  const lease = await ours.acquire();
  const { now } = Date;
  Date.now = () => now() + 3_600_000;
  try {
    expect(await others.tryAcquire()).toBeNull();
    expect(await others.acquiredPermits()).toBe(1);
  } finally {
    Date.now = now;
  }
  await lease.release();
  expect(await others.availablePermits()).toBe(1);
});
