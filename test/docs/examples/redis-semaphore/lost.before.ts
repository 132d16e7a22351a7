import type { Redis } from 'ioredis';
import { Mutex } from 'redis-semaphore';

export async function importRows(
  redis: Redis,
  next: () => Promise<boolean>,
  tell: (error: Error) => void,
): Promise<boolean> {
  const mutex = new Mutex(redis, 'import', {
    acquireAttemptsLimit: 1,
    lockTimeout: 3_000,
    refreshInterval: 300,
    onLockLost: tell, // without it the loss is thrown where nobody can catch it
  });
  if (!(await mutex.tryAcquire())) return false;
  try {
    while (mutex.isAcquired && (await next()));
    return mutex.isAcquired;
  } finally {
    await mutex.release();
  }
}
