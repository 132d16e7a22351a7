import type { LockService } from 'nestjs-redis-lock';

export async function importOnce(locks: LockService, work: () => Promise<void>): Promise<boolean> {
  await using lease = await locks.tryAcquire('import');
  if (lease === null) return false; // busy; if Redis is down, the call rejects
  await work(); // the watchdog renews until the end
  return true;
}
