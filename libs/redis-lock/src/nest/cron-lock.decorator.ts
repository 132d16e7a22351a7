import { describeValue } from '../core/api/errors.js';
import { LEASE, timeProblem } from '../core/api/options.js';
import { DEFAULT_NAME } from '../core/api/settings.js';
import { isPlainObject } from '../core/api/shapes.js';
import { KeySpace } from '../core/redis/key-names.js';
import { refuse, refuseArguments, refuseUnknown } from '../core/api/refuse.js';
import { checkAtStart } from './lock-host.js';
import type { WithLockOptions } from './with-lock.options.js';
import type { Slots } from './locked-call.js';
import { lockDecorator, type LockedMethodDecorator } from './with-lock.decorator.js';

/** The lengths of slots that have a word, in milliseconds. */
const SLOTS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

/**
 * How often a job runs, and how long its lock is held. `per` or `atLeastMs` is required; the latter
 * may come from the profile. Times are in milliseconds.
 */
export interface CronLockOptions extends Pick<
  WithLockOptions<[]>,
  'connection' | 'label' | 'onBackendError'
> {
  /**
   * The name of an entry in the module's `profiles`, for times from the configuration. Its
   * `minHoldMs` is `atLeastMs`, and its `leaseTimeMs` is `atMostMs`. Its `holdAfter` counts for the
   * slot, too. Options of the job itself take precedence. A job never waits: it ignores the
   * `waitTimeMs` of the profile.
   */
  readonly profile?: string | undefined;
  /**
   * The lock stays held at least for this time, however short the job is. So an instance whose
   * clock is behind finds that the job has run. Choose more than the clocks of the instances
   * differ, and less than the time between two runs.
   */
  readonly atLeastMs?: number | undefined;
  /**
   * The job starts at most once in each slot of this length, in all instances together. An instance
   * that is late or was restarted does not run it again. A slot begins at each full minute, hour or
   * day of UTC. A number is a length in whole seconds, as `90_000`; its slots begin at the
   * multiples since 1970.
   *
   * The instance's own clock decides the slot when the job is called, rounded to the second. Choose
   * a slot no longer than the time between two runs, and longer than an instance may be late. For a
   * daily job by local time choose `hour`: two of its runs may fall into one day of UTC.
   *
   * Redis keeps the mark of a slot for twice its length, but at most for 24 hours.
   */
  readonly per?: 'minute' | 'hour' | 'day' | number | undefined;
  /**
   * A job that takes longer loses its lock, and the next run may start. The same happens after a
   * crash of an instance. Without this option the lock is held as long as the job runs. After a
   * crash it then expires with the watchdog's lease.
   */
  readonly atMostMs?: number | undefined;
  /**
   * When the slot, or `atLeastMs`, counts. With `success` a failed run does not count: the next call
   * of any instance runs the job again. After a crash the lease has to expire first.
   * @default 'always'
   */
  readonly holdAfter?: 'always' | 'success' | undefined;
}

/**
 * Runs a scheduled method in one instance; in the others the call resolves with undefined at once.
 * With `per` the method starts at most once in a slot of time, even if the instance crashes. A slot
 * that begins while the former run still works has no run. Place it above or below `@Cron`,
 * `@Interval` and `@Timeout`.
 *
 * It rejects with `LockBackendError` when Redis does not answer, so that a job never runs in all
 * instances by accident. It rejects with `LeaseLostError` when the job took longer than `atMostMs`.
 * A long job calls `CurrentLock.lease().assertHeld()` before each important write.
 * @param name of the job, the same in all instances. With placeholders, as in `report_<tenant>`,
 * each tenant has its own lock and its own slots
 * @throws {LockConfigurationError} when the class is defined: the name, an option or the method
 * cannot work
 * @example
 * @Cron('0 3 * * *')
 * @CronLock('nightly-report', { per: 'hour', atMostMs: 3_600_000 })
 * async report(): Promise<void> { … }
 */
export function CronLock(
  name: string,
  options: CronLockOptions,
): LockedMethodDecorator<[], 'skip'> {
  const { atLeastMs, atMostMs, per, ...others } = checked(name, options);
  const plan = {
    ...others,
    ...{ waitTimeMs: 0, onBusy: 'skip' as const },
    ...(atLeastMs !== undefined && { minHoldMs: atLeastMs }),
    ...(atMostMs !== undefined && { leaseTimeMs: atMostMs }),
  };
  const slots = per === undefined ? undefined : slotsOf(name, lengthOf(per));
  const decorate = lockDecorator('@CronLock', name, plan, undefined, slots);
  const { profile, connection = DEFAULT_NAME } = others;
  if (profile === undefined) return decorate;
  return (target, property, descriptor) => {
    decorate(target, property, descriptor);
    checkAtStart(target, connection, ({ profiles }) => {
      const { minHoldMs } = profiles[profile] ?? {};
      checkTimes({ per, atLeastMs: atLeastMs ?? minHoldMs, atMostMs }, whereOf(name));
    });
  };
}

function lengthOf(per: keyof typeof SLOTS | number): number {
  return typeof per === 'number' ? per : SLOTS[per];
}

/**
 * Kept for one slot more: meanwhile an instance whose clock is behind may call the job of this
 * slot.
 */
function slotsOf(name: string, lengthMs: number): Slots {
  const at = (job: string, time: number) => {
    // A schedule has whole seconds, and a timer or an adjusted clock may be early.
    const firedAt = Math.round(time / 1_000) * 1_000;
    const begin = new Date(Math.floor(firedAt / lengthMs) * lengthMs);
    return `${job}@${begin.toISOString().replace(/(:00)?\.000Z$/, 'Z')}`;
  };
  // No slot has a longer name than the second one. An x stands for each value.
  const shortest = name.replaceAll(/<[^>]*>/g, 'x');
  refuseArguments(whereOf(name), () => new KeySpace('').key(at(shortest, lengthMs)));
  const keepMs = Math.min(2 * lengthMs, LEASE.max);
  return { keepMs, label: `${name}@<slot>`, at };
}

const OPTIONS = [
  'atLeastMs',
  'atMostMs',
  'per',
  'profile',
  'holdAfter',
  'connection',
  'label',
  'onBackendError',
];

function whereOf(name: unknown): string {
  return `@CronLock(${describeValue(name)})`;
}

function checked(name: unknown, options: unknown): CronLockOptions {
  const where = whereOf(name);
  if (typeof name !== 'string') refuse(where, 'the name of the job must be a text');
  if (!isPlainObject(options)) {
    const such = "a plain object of options such as { per: 'hour', atMostMs: 3_600_000 }";
    refuse(where, `it needs ${such}, not ${describeValue(options)}`);
  }
  const given = options as CronLockOptions;
  refuseUnknown(given, OPTIONS, where);
  const { atLeastMs, atMostMs, per } = given;
  for (const [option, ms] of Object.entries({ atLeastMs, atMostMs })) {
    if (ms === undefined) continue;
    const problem = timeProblem(option, ms, LEASE);
    if (problem !== undefined) refuse(where, problem);
  }
  checkSlot(per, where);
  // The times of a profile are known when the application starts.
  if (given.profile === undefined) checkTimes(given, where);
  return given;
}

type Times = Pick<CronLockOptions, 'atLeastMs' | 'atMostMs' | 'per'>;

function checkTimes({ atLeastMs, atMostMs, per }: Times, where: string): void {
  if (atLeastMs === undefined && per === undefined) {
    refuse(where, 'set per, the slot of time in which the job runs once, or atLeastMs');
  }
  if (per !== undefined && atLeastMs !== undefined && atLeastMs >= lengthOf(per)) {
    refuse(where, 'atLeastMs must be less than per, or the job skips every second slot');
  }
  if (atMostMs !== undefined && atLeastMs !== undefined && atMostMs < atLeastMs) {
    refuse(where, 'atMostMs must not be less than atLeastMs');
  }
}

function checkSlot(per: unknown, where: string): void {
  if (per === undefined || Object.keys(SLOTS).includes(per as string)) return;
  const problem = timeProblem('per', per, { min: 1_000, max: LEASE.max });
  if (problem !== undefined) refuse(where, `${problem}; or it is 'minute', 'hour' or 'day'`);
  // The time of a call is rounded to the second: two runs, 1.5 s apart, may fall into one slot of 1.5 s.
  if (Number(per) % 1_000 !== 0) refuse(where, 'per must be whole seconds, such as 90_000');
}
