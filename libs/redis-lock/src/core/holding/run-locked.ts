import { LeaseLostError } from '../api/errors.js';
import type { ScopedLease } from './held-lease.js';
import { runInScope } from './scope.js';

/**
 * Runs the work under a lease and gives the lease back. The work's own error passes through; a
 * release that failed for Redis' sake changes nothing, since the work is done.
 * @throws {LeaseLostError} the lease was lost meanwhile, so that the work may have met another holder
 */
export async function runLocked<L extends ScopedLease, T>(
  lease: L,
  work: (lease: L) => T,
): Promise<Awaited<T>> {
  let result: Awaited<T>;
  try {
    result = await runInScope(lease, () => work(lease));
  } catch (error) {
    await lease[Symbol.asyncDispose]();
    throw error;
  }
  try {
    await lease.release();
  } catch (error) {
    if (!(error instanceof LeaseLostError)) return result;
    throw new LeaseLostError(lease.name, error.reason, { cause: error, result });
  }
  return result;
}
