import { describeValue } from './errors.js';
import type { AcquireOptions, Nesting, WaitOptions } from './lock.js';
import { refuseArgument } from './refuse.js';
import { isAbortSignal, isPlainObject, UNSAFE_CHARACTERS, unknownOption } from './shapes.js';

export const DAY_MS = 24 * 60 * 60 * 1_000;

export interface Range {
  readonly min: number;
  readonly max: number;
  readonly infinite?: boolean;
}

export const WAIT: Range = { min: 0, max: DAY_MS, infinite: true };
export const LEASE: Range = { min: 10, max: DAY_MS };
export const WATCHDOG_LEASE: Range = { min: 100, max: DAY_MS };
const MIN_HOLD: Range = { min: 0, max: DAY_MS };
/** Java services read the numbers of a semaphore as 32 bits. */
export const LARGEST_COUNT = 2 ** 31 - 1;
/** The permits of a whole semaphore. */
export const CAPACITY: Range = { min: 1, max: LARGEST_COUNT };
/** The permits of one call. One script carries all of them. */
const PERMITS: Range = { min: 1, max: 1_000 };
const REPLICAS: Range = { min: 0, max: 100 };

/** One acquisition with all defaults filled in. */
export interface ResolvedAcquireOptions {
  readonly waitTimeMs: number;
  readonly leaseTimeMs: number;
  /** The lease that the watchdog renews; 0 if the lease is fixed. */
  readonly watchdogLeaseMs: number;
  readonly signal: AbortSignal | undefined;
  readonly fenced: boolean;
  /** `Infinity` when the watchdog has no limit. */
  readonly maxHoldMs: number;
  readonly minReplicas: number;
  readonly permits: number;
  /** Undefined when the call sets no number of permits. */
  readonly capacity?: number | undefined;
  readonly label: string | undefined;
  readonly minHoldMs: number;
  readonly holdAfter: 'always' | 'success';
  readonly nesting: Nesting;
  /** Where the call was made. Known only while `nesting` is `refuse`. */
  readonly calledAt?: Error;
}

/** The options of a call of any kind. Each kind allows some of them. */
export interface AnyAcquireOptions extends AcquireOptions {
  readonly permits?: number | undefined;
  readonly capacity?: number | undefined;
}

export const WAIT_OPTIONS = [
  'waitTimeMs',
  'signal',
  'profile',
] as const satisfies readonly (keyof WaitOptions)[];

const LEASE_OPTIONS = [
  ...WAIT_OPTIONS,
  'leaseTimeMs',
  'watchdogLeaseMs',
  'maxHoldMs',
  'minReplicas',
  'label',
] as const satisfies readonly (keyof AcquireOptions)[];

/** Readers write nothing that a token could guard. */
export const READ_OPTIONS = [
  ...LEASE_OPTIONS,
  'nesting',
] as const satisfies readonly (keyof AcquireOptions)[];

export const LOCK_OPTIONS = [...READ_OPTIONS, 'fenced'] as const;

/** Only a lock with one owner and its own key can stay held after a release. */
export const REENTRANT_OPTIONS = [...LOCK_OPTIONS, 'minHoldMs', 'holdAfter'] as const;

/** No call joins permits that it holds. */
export const PERMIT_OPTIONS = [...LEASE_OPTIONS, 'permits', 'capacity'] as const;

/** A signal belongs to one call, and a label to the locks that it names. */
export const PROFILE_OPTIONS = [...new Set([...REENTRANT_OPTIONS, ...PERMIT_OPTIONS])].filter(
  (option) => !['signal', 'profile', 'label'].includes(option),
);

export function checkLeaseTime(value: unknown): void {
  refuseArgument(timeProblem('leaseTimeMs', value, LEASE));
}

export function checkCount(option: string, value: unknown, range: Range): void {
  refuseArgument(numberProblem(option, value, range, 'a whole number'));
}

/** @throws {LockArgumentError} the value is no plain object, or one option is unknown */
export function checkOptionNames(options: unknown, known: readonly string[]): void {
  if (isPlainObject(options)) {
    refuseArgument(unknownOption(options, known));
    return;
  }
  const hint = known.includes('signal') && isAbortSignal(options) ? '; write { signal }' : '';
  refuseArgument(`options must be a plain object, not ${describeValue(options)}${hint}`);
}

export function checkAcquireOptions(options: AnyAcquireOptions, known: readonly string[]): void {
  checkOptionNames(options, known);
  const { waitTimeMs, leaseTimeMs, watchdogLeaseMs, maxHoldMs, signal, fenced } = options;
  const { permits, capacity, minReplicas, label, minHoldMs, holdAfter } = options;
  const { profile, nesting } = options;
  if (waitTimeMs !== undefined) refuseArgument(timeProblem('waitTimeMs', waitTimeMs, WAIT));
  if (leaseTimeMs !== undefined) checkLeaseTime(leaseTimeMs);
  if (watchdogLeaseMs !== undefined) {
    refuseArgument(timeProblem('watchdogLeaseMs', watchdogLeaseMs, WATCHDOG_LEASE));
  }
  if (maxHoldMs !== undefined) refuseArgument(timeProblem('maxHoldMs', maxHoldMs, LEASE));
  if (permits !== undefined) checkCount('permits', permits, PERMITS);
  if (capacity !== undefined) checkCount('capacity', capacity, CAPACITY);
  if (minReplicas !== undefined) checkCount('minReplicas', minReplicas, REPLICAS);
  if (minHoldMs !== undefined) refuseArgument(timeProblem('minHoldMs', minHoldMs, MIN_HOLD));
  if (holdAfter !== undefined && !['always', 'success'].includes(holdAfter)) {
    refuseArgument(`holdAfter must be 'always' or 'success', not ${describeValue(holdAfter)}`);
  }
  if (signal !== undefined && !isAbortSignal(signal)) {
    refuseArgument(`signal must be an AbortSignal, not ${describeValue(signal)}`);
  }
  if (fenced !== undefined && typeof fenced !== 'boolean') {
    refuseArgument(`fenced must be true or false, not ${describeValue(fenced)}`);
  }
  if (profile !== undefined && typeof profile !== 'string') {
    refuseArgument(`profile must be the name of a profile, not ${describeValue(profile)}`);
  }
  if (nesting !== undefined) refuseArgument(nestingProblem(nesting));
  checkLabel('label', label);
  refusePairs(options);
}

/** Refuses options that are valid alone, but not together. */
function refusePairs(options: AnyAcquireOptions): void {
  const { leaseTimeMs, minHoldMs = 0 } = options;
  if (leaseTimeMs === undefined) return;
  for (const option of ['maxHoldMs', 'watchdogLeaseMs'] as const) {
    if (options[option] === undefined) continue;
    refuseArgument(
      `leaseTimeMs and ${option} exclude each other: a fixed lease has no watchdog; give one of the two`,
    );
  }
  if (leaseTimeMs < minHoldMs) refuseArgument('leaseTimeMs must not be less than minHoldMs');
}

const NESTINGS: readonly unknown[] = ['join', 'wait', 'refuse'] satisfies Nesting[];

export function nestingProblem(value: unknown): string | undefined {
  if (NESTINGS.includes(value)) return undefined;
  return `nesting must be 'join', 'wait' or 'refuse', not ${describeValue(value)}`;
}

/** The problem of a time, as a sentence that names the option, the value and the fix. */
export function timeProblem(option: string, value: unknown, range: Range): string | undefined {
  return numberProblem(option, value, range, 'a whole number of milliseconds');
}

export function numberProblem(
  option: string,
  value: unknown,
  range: Range,
  what: string,
): string | undefined {
  if (range.infinite === true && value === Infinity) return undefined;
  const fits = Number.isInteger(value) && Number(value) >= range.min && Number(value) <= range.max;
  if (fits && !Object.is(value, -0)) return undefined;
  const orInfinity = range.infinite === true ? ', or Infinity' : '';
  return (
    `${option} must be ${what} from ${String(range.min)} to ` +
    `${String(range.max)}${orInfinity}, not ${describeValue(value)}`
  );
}

/** The longest text that metrics keep for a lock. */
const MAX_LABEL = 1_024;

export function checkLabel(option: string, value: unknown): void {
  if (value === undefined || isLabel(value)) return;
  refuseArgument(
    `${option} must be a text of 1 to ${String(MAX_LABEL)} characters, without control or ` +
      `invisible characters, not ${describeValue(value)}`,
  );
}

export function isLabel(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value !== '' &&
    value.length <= MAX_LABEL &&
    !UNSAFE_CHARACTERS.test(value)
  );
}
