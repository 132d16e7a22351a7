import type { LockService } from 'nestjs-redis-lock';

export async function importOnce(locks: LockService, work: () => Promise<void>): Promise<boolean> {
  await using lease = await locks.tryAcquire('import');
  if (lease === null) return false; // busy; that Redis is down is an error
  await work(); // renewed for as long as it takes
  return true;
}
