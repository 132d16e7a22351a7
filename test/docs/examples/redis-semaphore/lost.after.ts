import { LeaseLostError, type LockService } from 'nestjs-redis-lock';

// RedisLockModule.forRoot({ watchdogLeaseMs: 3_000 }): renewed every second
export async function importRows(
  locks: LockService,
  next: (signal: AbortSignal) => Promise<boolean>,
  tell: (error: Error) => void,
): Promise<boolean> {
  await using lease = await locks.tryAcquire('import');
  if (lease === null) return false;
  try {
    do lease.assertHeld();
    while (await next(lease.signal)); // the signal aborts what is under way
    return true;
  } catch (error) {
    if (!(error instanceof LeaseLostError)) throw error;
    tell(error); // its `reason` is one of gone, expired, suspended and so on
    return false;
  }
}
