import { describeValue, LockConfigurationError, quoteName } from './errors.js';
import type { LockObserver } from './observer.js';
import {
  checkAcquireOptions,
  DAY_MS,
  numberProblem,
  PROFILE_OPTIONS,
  timeProblem,
  WAIT,
  type AnyAcquireOptions,
  type Range,
} from './options.js';
import { hasMethods, isPlainObject } from './shapes.js';

/** The options of calls under one name. */
type Profile = Omit<AnyAcquireOptions, 'signal' | 'profile' | 'label'>;

/** Locks work with these defaults in nearly every application. Every time is in milliseconds. */
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
  // The application may change its own objects later, to what was not checked.
  const profiles = Object.entries(given as LockSettings['profiles']);
  return Object.fromEntries(profiles.map(([name, options]) => [name, { ...options }]));
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

function withoutUndefined(given: Partial<LockSettings>): Partial<LockSettings> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
