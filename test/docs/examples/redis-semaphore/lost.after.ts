import { LeaseLostError, type LockService } from 'nestjs-redis-lock';

// RedisLockModule.forRoot({ watchdogLeaseMs: 3_000 }): renewed every second
export async function importRows(
  locks: LockService,
  next: (signal: AbortSignal) => Promise<boolean>,
  onLost: (error: Error) => void,
): Promise<boolean> {
  await using lease = await locks.tryAcquire('import');
  if (lease === null) return false;
  try {
    do lease.assertHeld();
    while (await next(lease.signal)); // the signal aborts the running step
    return true;
  } catch (error) {
    if (!(error instanceof LeaseLostError)) throw error;
    onLost(error); // its `reason` is gone, expired, suspended or another one
    return false;
  }
}
