import type Redlock from 'redlock';
import { ExecutionError, type Lock } from 'redlock';

export async function importOnce(redlock: Redlock, work: () => Promise<void>): Promise<boolean> {
  let lock: Lock;
  try {
    lock = await redlock.acquire(['import'], 30_000, { retryCount: 0 });
  } catch (error) {
    if (error instanceof ExecutionError) return false; // busy, or Redis is down: who knows
    throw error;
  }
  try {
    await work(); // 30 s, and nobody renews
    return true;
  } finally {
    await lock.release().catch(() => undefined); // else it may bury the error of the work
  }
}
