import type Redlock from 'redlock';
import { ExecutionError, type Lock } from 'redlock';

export async function importOnce(redlock: Redlock, work: () => Promise<void>): Promise<boolean> {
  let lock: Lock;
  try {
    lock = await redlock.acquire(['import'], 30_000, { retryCount: 0 });
  } catch (error) {
    if (error instanceof ExecutionError) return false; // busy, or Redis is down
    throw error;
  }
  try {
    await work(); // at most 30 s: redlock does not renew here
    return true;
  } finally {
    await lock.release().catch(() => undefined); // otherwise it can replace the error of the work
  }
}
