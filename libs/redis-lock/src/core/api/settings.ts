import { describeValue, LockConfigurationError, quoteName } from './errors.js';
import type { Nesting } from './lock.js';
import type { LockObserver } from './observer.js';
import {
  checkAcquireOptions,
  DAY_MS,
  nestingProblem,
  numberProblem,
  PROFILE_OPTIONS,
  timeProblem,
  WAIT,
  WATCHDOG_LEASE,
  type AnyAcquireOptions,
  type Range,
} from './options.js';
import { hasMethods, isPlainObject } from './shapes.js';

/** The options of calls, stored under one name. */
type Profile = Omit<AnyAcquireOptions, 'signal' | 'profile' | 'label'>;

/** Most applications keep these defaults. Every time is in milliseconds. */
export interface LockTuning {
  /**
   * The longest pause between two polls of a waiter, in case a wake-up message is lost.
   * @default 1_000
   */
  readonly pollIntervalMs: number;
  /**
   * The lease of a lock that was handed over to another process, until that process confirms it. If
   * that process dies at this moment, the lock stalls for this time. At most the lease time. The
   * process sends its renewal to the whole lease before the work begins.
   * @default 3_000
   */
  readonly claimTimeMs: number;
  /**
   * Whether Java services share the locks that are handed over.
   * - `auto`: after up to 8 sections of Node, waiting Java threads get as many.
   * - `redisson`: it is left to them after each section.
   * - `none`: it is never left to them, and the keys of fencing tokens may expire.
   *
   * @default 'auto'
   */
  readonly interop: 'auto' | 'redisson' | 'none';
  /**
   * The waiting time that a fair lock assumes for a waiter without a time limit. It counts in the
   * scores of the waiters behind it: Redisson removes a waiter after its score. Java services that
   * share the lock need the same value.
   * @default 300_000
   */
  readonly fairLockWaitTimeMs: number;
  /**
   * Whether messages wake the waiters, or the waiters poll with growing pauses, for servers without
   * pub/sub. Releases are announced in both cases.
   * @default 'message'
   */
  readonly wakeUp: 'message' | 'poll';
  /**
   * How releases are announced and received in a Cluster. Elsewhere always by PUBLISH. `auto` uses
   * sharded messages where the servers have them, as Redisson does. All services that share locks
   * need the same mode, or some of them `both`. Otherwise waiters find a free lock only by polling.
   * @default 'auto'
   */
  readonly publish: 'auto' | 'plain' | 'sharded' | 'both';
}

/** The settings of all locks of one connection. Every time is in milliseconds. */
export interface LockSettings extends LockTuning {
  /**
   * The name of this connection, for an application with several. Use it in
   * `@InjectLockService(LockService, name)` and in the option `connection` of decorators.
   * @default 'default'
   */
  readonly name: string;
  /**
   * Put before every name. End it with `:`, so that no application's prefix begins another's.
   * @default ''
   */
  readonly keyPrefix: string;
  /**
   * The lease of a call without `leaseTimeMs`. The watchdog renews it after each third, until the
   * release. Longer means fewer renewals, but a longer stall after a crash. A call may have its own.
   * @default 30_000
   */
  readonly watchdogLeaseMs: number;
  /**
   * How long `acquire`, `using` and `@WithLock` wait unless the call sets it.
   * @default 10_000
   */
  readonly waitTimeMs: number;
  /**
   * How long a shutdown waits for the holders before it releases their locks. Requests that Nest's
   * server lets finish keep their locks as long as the server waits.
   * @default 2_000
   */
  readonly shutdownTimeoutMs: number;
  /**
   * How many callers of this process may wait for one key of one kind of lock. One more is refused
   * at once with `LockLimitError`; the others keep waiting. A single attempt (`waitTimeMs: 0`) does
   * not wait, so it does not count and is never refused.
   * @default 10_000
   */
  readonly maxWaitersPerKey: number;
  /**
   * How many keys this process may use at a time, held or waited for, of all kinds of lock
   * together. A call for one more is refused at once with `LockLimitError`.
   * @default 100_000
   */
  readonly maxKeys: number;
  /**
   * The behaviour of a call inside of a hold of the same lock, unless the call sets it. `refuse`
   * finds every such call of an application: the error shows both places.
   * @default 'join'
   */
  readonly nesting: Nesting;
  /**
   * Redis may evict a held lock if its `maxmemory-policy` is not `noeviction`, and `maxmemory` is
   * set. With `refuse`, the start of the application, or each call of `openLocks`, then rejects with
   * `LockConfigurationError`. Without the permission for `INFO` there is only a warning.
   * @default 'warn'
   */
  readonly onEviction: 'warn' | 'refuse';
  /**
   * Options by name, so that they can come from configuration. Calls, decorators and templates
   * select one with `profile`. A call is refused when its kind of lock does not have an option of
   * the profile.
   * @default {}
   */
  readonly profiles: Readonly<Record<string, Profile>>;
  /** Receives the events of every lock. */
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
  nesting: 'join',
  onEviction: 'warn',
  profiles: {},
  ...DEFAULT_TUNING,
});

/** The names of the options under `tuning`. */
export const TUNING = Object.keys(DEFAULT_TUNING);

const SETTING_RANGES = {
  watchdogLeaseMs: WATCHDOG_LEASE,
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
  const problem = nestingProblem(settings.nesting);
  if (problem !== undefined) throw new LockConfigurationError(problem);
  checkChoice('onEviction', settings.onEviction, "'warn' or 'refuse'");
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
      'profiles must be a plain object of options by name, such as ' +
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
  // A copy: the application may change its own objects after the check.
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
