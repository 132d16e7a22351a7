import type { LockService } from 'nestjs-redis-lock';

export async function send(locks: LockService, id: string, work: () => Promise<void>) {
  await using lease = await locks.tryAcquire(`invoice_${id}`, {
    waitTimeMs: 2_000,
    leaseTimeMs: 30_000,
  });
  if (lease === null) return false;
  await work();
  return true;
}
