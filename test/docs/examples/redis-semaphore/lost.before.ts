import type { Redis } from 'ioredis';
import { Mutex } from 'redis-semaphore';

export async function importRows(
  redis: Redis,
  next: () => Promise<boolean>,
  onLost: (error: Error) => void,
): Promise<boolean> {
  const mutex = new Mutex(redis, 'import', {
    acquireAttemptsLimit: 1,
    lockTimeout: 3_000,
    refreshInterval: 300,
    onLockLost: onLost, // without it the error is thrown in a timer, and you cannot catch it
  });
  if (!(await mutex.tryAcquire())) return false;
  try {
    while (mutex.isAcquired && (await next()));
    return mutex.isAcquired;
  } finally {
    await mutex.release();
  }
}
