import { describeValue } from '../core/api/errors.js';
import { LEASE, timeProblem } from '../core/api/options.js';
import { isPlainObject } from '../core/api/shapes.js';
import { refuse, refuseUnknown } from '../core/api/refuse.js';
import type { WithLockOptions } from './with-lock.options.js';
import { lockDecorator, type LockedMethodDecorator } from './with-lock.decorator.js';

/** How long the lock of a job is held. Both times are in milliseconds. */
export interface CronLockOptions extends Pick<
  WithLockOptions<[]>,
  'connection' | 'label' | 'onBackendError'
> {
  /**
   * The lock stays taken for this time, however short the job is. So an instance whose clock is
   * behind finds that the job was run. Choose more than the clocks of the instances differ, and
   * less than the time between two runs.
   */
  readonly atLeastMs: number;
  /**
   * A job that takes longer loses its lock, and the next run may begin; so it is after the death of
   * an instance. Without it the lock is held as long as the job runs. After a death it is then free
   * one lease of the module later.
   */
  readonly atMostMs?: number | undefined;
}

/**
 * If several instances call the method by their schedule at the same time, one runs it; in the
 * others the call resolves with undefined at once. Stands above or below `@Cron`, `@Interval` and
 * `@Timeout`.
 *
 * Rejects with `LockBackendError` when Redis could not be asked, so that a job never runs in all
 * instances by accident. Rejects with `LeaseLostError` when it took longer than `atMostMs`: a long
 * job asks `CurrentLock.lease().assertHeld()` before each write that counts.
 * @param name of the job, the same in all instances
 * @throws {LockConfigurationError} when the class is defined: the name, an option or the method
 * cannot work
 * @example
 * @Cron('0 3 * * *')
 * @CronLock('nightly-report', { atLeastMs: 60_000, atMostMs: 3_600_000 })
 * async report(): Promise<void> { … }
 */
export function CronLock(
  name: string,
  options: CronLockOptions,
): LockedMethodDecorator<[], 'skip'> {
  const { atLeastMs, atMostMs, ...others } = checked(name, options);
  return lockDecorator('@CronLock', name, {
    ...others,
    ...{ waitTimeMs: 0, onBusy: 'skip', minHoldMs: atLeastMs },
    ...(atMostMs !== undefined && { leaseTimeMs: atMostMs }),
  });
}

const OPTIONS = ['atLeastMs', 'atMostMs', 'connection', 'label', 'onBackendError'];

function checked(name: unknown, options: unknown): CronLockOptions {
  const where = `@CronLock(${describeValue(name)})`;
  if (typeof name !== 'string') refuse(where, 'the name of the job must be a text');
  if (!isPlainObject(options)) {
    const such = 'a plain object of options such as { atLeastMs: 60_000, atMostMs: 3_600_000 }';
    refuse(where, `it needs ${such}, not ${describeValue(options)}`);
  }
  const given = options as CronLockOptions;
  refuseUnknown(given, OPTIONS, where);
  const { atLeastMs, atMostMs } = given;
  for (const [option, ms] of Object.entries({ atLeastMs, atMostMs })) {
    if (option === 'atMostMs' && ms === undefined) continue;
    const problem = timeProblem(option, ms, LEASE);
    if (problem !== undefined) refuse(where, problem);
  }
  if (atMostMs !== undefined && atMostMs < atLeastMs) {
    refuse(where, 'atMostMs must not be less than atLeastMs');
  }
  return given;
}
