import { describeValue, LockArgumentError, LockConfigurationError, quoteName } from './errors.js';
import type { AcquireOptions, WaitOptions } from './lock.js';
import type { LockObserver } from './observer.js';
import {
  hasMethods,
  isAbortSignal,
  isPlainObject,
  UNSAFE_CHARACTERS,
  unknownOption,
  withDefaultOptions,
} from './shapes.js';

/** The options of calls under one name. */
type Profile = Omit<AnyAcquireOptions, 'signal' | 'profile' | 'label'>;

/** What no application has to know; the defaults fit nearly all. Every time is in milliseconds. */
export interface LockTuning {
  /**
   * The longest pause of a waiter between two questions to Redis, if a wake-up message is lost.
   * @default 1_000
   */
  readonly pollIntervalMs: number;
  /**
   * The lease of a lock that was handed over to a waiting process, until that process confirms it.
   * It is the stall after a process that dies at this moment. No more than the lease.
   * @default 3_000
   */
  readonly claimTimeMs: number;
  /**
   * Whether Java services share the locks that are handed over. `auto` leaves the lock to them once
   * a second, if any listens. `redisson` does so with every release, and `none` never, so that the
   * keys of fencing tokens may end.
   * @default 'auto'
   */
  readonly interop: 'auto' | 'redisson' | 'none';
  /**
   * The wait time that a waiter of a fair lock without a time limit adds to the scores behind it:
   * Redisson removes a waiter after its score. Java services that share the lock need the same
   * value.
   * @default 300_000
   */
  readonly fairLockWaitTimeMs: number;
  /**
   * Whether waiters are woken by messages, or poll ever more rarely; for servers without pub/sub.
   * Releases are announced all the same.
   * @default 'message'
   */
  readonly wakeUp: 'message' | 'poll';
  /**
   * How releases are announced and received in a Cluster; elsewhere always by PUBLISH. `auto` takes
   * sharded messages where the servers have them, as Redisson does. All services that share locks
   * need the same way, or some of them `both`; otherwise waiters find a free lock by their poll.
   * @default 'auto'
   */
  readonly publish: 'auto' | 'plain' | 'sharded' | 'both';
}

/** The settings of all locks of one connection. Every time is in milliseconds. */
export interface LockSettings extends LockTuning {
  /**
   * The name of this connection, where an application has several: `@InjectLocks(LockService, name)`
   * and the option `connection` of decorators ask for it by this name.
   * @default 'default'
   */
  readonly name: string;
  /**
   * Put before every name. End it with a `:`, so that no application's prefix begins another's.
   * @default ''
   */
  readonly keyPrefix: string;
  /**
   * The lease of a call without `leaseTimeMs`: the watchdog renews it every third of it, until the
   * release. Longer means fewer renewals, but a longer stall after a crash.
   * @default 30_000
   */
  readonly watchdogLeaseMs: number;
  /**
   * How long `acquire`, `using` and `@WithLock` wait unless the call sets it.
   * @default 10_000
   */
  readonly waitTimeMs: number;
  /**
   * How long a shutdown waits for the holders before it releases their locks; for the requests that
   * Nest's server lets finish, it waits as long as the server does.
   * @default 2_000
   */
  readonly shutdownTimeoutMs: number;
  /**
   * How many callers of this process may wait for one key of one kind of lock. One more is refused at
   * once with `LockLimitError`; those that wait are left alone. A single attempt (`waitTimeMs: 0`)
   * does not wait: it is neither counted nor refused.
   * @default 10_000
   */
  readonly maxWaitersPerKey: number;
  /**
   * How many keys this process may hold, wait for or ask for at a time, of all kinds of lock together.
   * A call for one more is refused at once with `LockLimitError`.
   * @default 100_000
   */
  readonly maxKeys: number;
  /**
   * Options by names, which calls, decorators and templates take with `profile`. So they can come
   * from configuration. A profile with an option that a kind of lock does not have is refused there.
   * @default {}
   */
  readonly profiles: Readonly<Record<string, Profile>>;
  /** Gets the events of every lock. */
  readonly observer?: LockObserver | undefined;
}

/** The name of an application's only connection. */
export const DEFAULT_NAME = 'default';

const DEFAULT_TUNING: LockTuning = {
  pollIntervalMs: 1_000,
  claimTimeMs: 3_000,
  interop: 'auto',
  fairLockWaitTimeMs: 300_000,
  wakeUp: 'message',
  publish: 'auto',
};

export const DEFAULT_SETTINGS: LockSettings = Object.freeze({
  name: DEFAULT_NAME,
  keyPrefix: '',
  watchdogLeaseMs: 30_000,
  waitTimeMs: 10_000,
  shutdownTimeoutMs: 2_000,
  maxWaitersPerKey: 10_000,
  maxKeys: 100_000,
  profiles: {},
  ...DEFAULT_TUNING,
});

/** The names of the options that stand under `tuning`. */
export const TUNING = Object.keys(DEFAULT_TUNING);

const DAY_MS = 24 * 60 * 60 * 1_000;

export interface Range {
  readonly min: number;
  readonly max: number;
  readonly infinite?: boolean;
}

const WAIT: Range = { min: 0, max: DAY_MS, infinite: true };
export const LEASE: Range = { min: 10, max: DAY_MS };
const MIN_HOLD: Range = { min: 0, max: DAY_MS };
/** A Java service reads the numbers of a semaphore as 32 bits. */
export const LARGEST_COUNT = 2 ** 31 - 1;
/** The permits of one call: all of them travel in one script. */
const PERMITS: Range = { min: 1, max: 1_000 };
const REPLICAS: Range = { min: 0, max: 100 };

const SETTING_RANGES = {
  watchdogLeaseMs: { min: 100, max: DAY_MS },
  waitTimeMs: WAIT,
  pollIntervalMs: { min: 10, max: 60_000 },
  claimTimeMs: { min: 500, max: 60_000 },
  shutdownTimeoutMs: { min: 0, max: DAY_MS },
  fairLockWaitTimeMs: { min: 1, max: DAY_MS },
} as const satisfies Record<string, Range>;

const LIMIT_RANGES = {
  maxWaitersPerKey: { min: 1, max: 1_000_000 },
  // A Map has no room for many more.
  maxKeys: { min: 1, max: 10_000_000 },
} as const satisfies Record<string, Range>;

/** Fills in the defaults and checks everything, once. */
export function resolveSettings(given: Partial<LockSettings> = {}): LockSettings {
  const settings: LockSettings = { ...DEFAULT_SETTINGS, ...withoutUndefined(given) };
  for (const [option, range] of Object.entries(SETTING_RANGES)) {
    const value: unknown = settings[option as keyof typeof SETTING_RANGES];
    const problem = timeProblem(pathOf(option), value, range);
    if (problem !== undefined) throw new LockConfigurationError(problem);
  }
  for (const [option, range] of Object.entries(LIMIT_RANGES)) {
    const value: unknown = settings[option as keyof typeof LIMIT_RANGES];
    const problem = numberProblem(option, value, range, 'a whole number');
    if (problem !== undefined) throw new LockConfigurationError(problem);
  }
  if (!isConnectionName(settings.name)) {
    throw new LockConfigurationError(unusableName(settings.name));
  }
  if (typeof settings.keyPrefix !== 'string') {
    throw new LockConfigurationError(
      `keyPrefix must be a string, not ${describeValue(settings.keyPrefix)}`,
    );
  }
  checkChoice('wakeUp', settings.wakeUp, "'message' or 'poll'");
  checkChoice('interop', settings.interop, "'auto', 'redisson' or 'none'");
  checkChoice('publish', settings.publish, "'auto', 'plain', 'sharded' or 'both'");
  const { observer } = settings;
  if (observer !== undefined && !hasMethods(observer, 'observe')) {
    throw new LockConfigurationError(
      `observer must be an object with a method observe(event), not ${describeValue(observer)}`,
    );
  }
  return { ...settings, profiles: checkedProfiles(settings.profiles) };
}

function checkedProfiles(given: unknown): LockSettings['profiles'] {
  if (!isPlainObject(given)) {
    throw new LockConfigurationError(
      'profiles must be a plain object of options by names, such as ' +
        `{ checkout: { waitTimeMs: 2_000 } }, not ${describeValue(given)}`,
    );
  }
  for (const [name, options] of Object.entries(given)) {
    try {
      checkAcquireOptions(options as Profile, PROFILE_OPTIONS);
    } catch (error) {
      throw new LockConfigurationError(
        `profiles, ${quoteName(name)}: ${(error as Error).message}`,
        { cause: error },
      );
    }
  }
  return given as LockSettings['profiles'];
}

function checkChoice(option: string, value: unknown, choices: string): void {
  if (typeof value === 'string' && choices.includes(`'${value}'`)) return;
  throw new LockConfigurationError(
    `${pathOf(option)} must be ${choices}, not ${describeValue(value)}`,
  );
}

/** The option as an application writes it. */
function pathOf(option: string): string {
  return TUNING.includes(option) ? `tuning.${option}` : option;
}

/** Whether a connection can have this name. */
export function isConnectionName(name: unknown): name is string {
  return typeof name === 'string' && /^[\w.:-]{1,100}$/.test(name);
}

export function unusableName(name: unknown): string {
  return (
    'name must consist of letters, digits, "_", "-", "." and ":", 100 at most, ' +
    `not ${describeValue(name)}`
  );
}

/** One acquisition with all defaults filled in. */
export interface ResolvedAcquireOptions {
  readonly waitTimeMs: number;
  readonly leaseTimeMs: number;
  /** Whether the watchdog renews the lease. */
  readonly watched: boolean;
  readonly signal: AbortSignal | undefined;
  readonly fenced: boolean;
  /** `Infinity` when the watchdog has no limit. */
  readonly maxHoldMs: number;
  readonly minReplicas: number;
  readonly permits: number;
  readonly label: string | undefined;
  readonly minHoldMs: number;
}

/** The options of a call of any kind; each kind allows some of these. */
export interface AnyAcquireOptions extends AcquireOptions {
  readonly permits?: number | undefined;
}

export const WAIT_OPTIONS = [
  'waitTimeMs',
  'signal',
  'profile',
] as const satisfies readonly (keyof WaitOptions)[];

/** Readers write nothing that a token could guard. */
export const READ_OPTIONS = [
  ...WAIT_OPTIONS,
  'leaseTimeMs',
  'maxHoldMs',
  'minReplicas',
  'label',
] as const satisfies readonly (keyof AcquireOptions)[];

export const LOCK_OPTIONS = [...READ_OPTIONS, 'fenced'] as const;

/** Only a lock with one owner and a key of its own can stay taken. */
export const REENTRANT_OPTIONS = [...LOCK_OPTIONS, 'minHoldMs'] as const;

export const PERMIT_OPTIONS = [...READ_OPTIONS, 'permits'] as const;

/** A signal belongs to one call, and a label to the locks that it names. */
const PROFILE_OPTIONS = [...REENTRANT_OPTIONS, ...PERMIT_OPTIONS].filter(
  (option) => !['signal', 'profile', 'label'].includes(option),
);

/** Fills in the defaults of one call and checks it; the only place that does either. */
export function resolveAcquireOptions(
  given: AnyAcquireOptions | undefined,
  settings: LockSettings,
  defaultWaitMs: number,
  known: readonly string[] = LOCK_OPTIONS,
): ResolvedAcquireOptions {
  const options = given === undefined ? undefined : withProfile(given, settings, known);
  return {
    waitTimeMs: options?.waitTimeMs ?? defaultWaitMs,
    leaseTimeMs: options?.leaseTimeMs ?? settings.watchdogLeaseMs,
    watched: options?.leaseTimeMs === undefined,
    signal: options?.signal,
    fenced: options?.fenced ?? false,
    maxHoldMs: options?.maxHoldMs ?? Infinity,
    minReplicas: options?.minReplicas ?? 0,
    permits: options?.permits ?? 1,
    label: options?.label,
    minHoldMs: options?.minHoldMs ?? 0,
  };
}

/**
 * The checked options of a call, with those of its profile.
 * @throws {LockArgumentError} an option cannot be used, or there is no such profile
 */
export function withProfile(
  options: AnyAcquireOptions,
  { profiles }: Pick<LockSettings, 'profiles'>,
  known: readonly string[] = LOCK_OPTIONS,
): AnyAcquireOptions {
  checkAcquireOptions(options, known);
  if (options.profile === undefined) return options;
  const { profile, ...own } = options;
  if (!Object.hasOwn(profiles, profile)) {
    const names = Object.keys(profiles).map(quoteName).join(', ') || 'none';
    refuseArgument(`there is no profile ${quoteName(profile)}; the module has ${names}`);
  }
  const merged = withDefaultOptions<AnyAcquireOptions>(profiles[profile] ?? {}, own);
  try {
    checkAcquireOptions(merged, known);
  } catch (error) {
    refuseArgument(`with the profile ${quoteName(profile)}: ${(error as Error).message}`);
  }
  return merged;
}

export function checkLeaseTime(value: unknown): void {
  refuseArgument(timeProblem('leaseTimeMs', value, LEASE));
}

export function checkCount(option: string, value: unknown, range: Range): void {
  refuseArgument(numberProblem(option, value, range, 'a whole number'));
}

function checkAcquireOptions(options: AnyAcquireOptions, known: readonly string[]): void {
  if (!isPlainObject(options)) {
    const hint = isAbortSignal(options) ? '; write { signal }' : '';
    refuseArgument(`options must be a plain object, not ${describeValue(options)}${hint}`);
  }
  refuseArgument(unknownOption(options, known));
  const { waitTimeMs, leaseTimeMs, maxHoldMs, signal, fenced } = options;
  const { permits, minReplicas, label, minHoldMs, profile } = options;
  if (waitTimeMs !== undefined) refuseArgument(timeProblem('waitTimeMs', waitTimeMs, WAIT));
  if (leaseTimeMs !== undefined) checkLeaseTime(leaseTimeMs);
  if (maxHoldMs !== undefined) refuseArgument(timeProblem('maxHoldMs', maxHoldMs, LEASE));
  if (permits !== undefined) checkCount('permits', permits, PERMITS);
  if (minReplicas !== undefined) checkCount('minReplicas', minReplicas, REPLICAS);
  if (leaseTimeMs !== undefined && maxHoldMs !== undefined) {
    refuseArgument('leaseTimeMs has no watchdog that maxHoldMs could stop; give one of the two');
  }
  if (signal !== undefined && !isAbortSignal(signal)) {
    refuseArgument(`signal must be an AbortSignal, not ${describeValue(signal)}`);
  }
  if (fenced !== undefined && typeof fenced !== 'boolean') {
    refuseArgument(`fenced must be true or false, not ${describeValue(fenced)}`);
  }
  if (minHoldMs !== undefined) {
    refuseArgument(timeProblem('minHoldMs', minHoldMs, MIN_HOLD));
    if (leaseTimeMs !== undefined && leaseTimeMs < minHoldMs) {
      refuseArgument('leaseTimeMs must not be less than minHoldMs');
    }
  }
  if (profile !== undefined && typeof profile !== 'string') {
    refuseArgument(`profile must be the name of a profile, not ${describeValue(profile)}`);
  }
  if (label !== undefined && !isLabel(label)) {
    refuseArgument(
      `label must be a text of 1 to ${String(MAX_LABEL)} characters, none of them a control or ` +
        `invisible, not ${describeValue(label)}`,
    );
  }
}

function refuseArgument(problem: string | undefined): void {
  if (problem !== undefined) throw new LockArgumentError(problem);
}

/** The problem of a time, as a sentence that names the option, the value and the fix. */
export function timeProblem(option: string, value: unknown, range: Range): string | undefined {
  return numberProblem(option, value, range, 'a whole number of milliseconds');
}

function numberProblem(
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

export function isLabel(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value !== '' &&
    value.length <= MAX_LABEL &&
    !UNSAFE_CHARACTERS.test(value)
  );
}

function withoutUndefined(given: Partial<LockSettings>): Partial<LockSettings> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
