import type { SemaphoreService } from 'nestjs-redis-lock';

export async function pay(semaphores: SemaphoreService, charge: () => Promise<void>) {
  const gateway = semaphores.get('gateway', { capacity: 5 });
  const lease = await gateway.tryAcquire({ waitTimeMs: 2_000, leaseTimeMs: 30_000 });
  if (lease === null) return false;
  try {
    await charge();
    return true;
  } finally {
    await lease.release();
  }
}
