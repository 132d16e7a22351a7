import { describeValue, LockConfigurationError } from '../core/api/errors.js';
import { TUNING, type LockSettings, type LockTuning } from '../core/api/settings.js';
import { refuse, refuseUnknown } from '../core/api/refuse.js';
import { isPlainObject } from '../core/api/shapes.js';
import type { ConnectionOption, NodeOption } from '../ioredis/choose-client.js';

/** Independent Redis servers, ideally three or five, for `RedLockService`. */
export interface RedLockOptions {
  /**
   * One entry for each server: a url, ioredis options, or a `Redis` of yours, which this library
   * never closes.
   */
  readonly nodes: readonly NodeOption[];
  /**
   * The longest lease that any process of the fleet requests; the same value in all processes.
   * After a restart a server does not vote for this time.
   * @default `watchdogLeaseMs`
   */
  readonly longestLeaseMs?: number | undefined;
}

/** Every option is optional. Every time is in milliseconds. */
export interface RedisLockOptions extends Partial<Omit<LockSettings, 'name' | keyof LockTuning>> {
  /**
   * A url, ioredis options, or a `Redis` or `Cluster` of yours (ioredis or iovalkey), which this
   * library never closes.
   * The first wait opens a second connection, for messages.
   * @default 'redis://127.0.0.1:6379'
   */
  readonly connection?: ConnectionOption;
  /** Without it, `RedLockService` refuses every call. */
  readonly redLock?: RedLockOptions | undefined;
  /** For Redis without pub/sub, Java services and other rare cases; the defaults fit nearly all. */
  readonly tuning?: Partial<LockTuning> | undefined;
}

/** The options after a check of their names. Core and adapter check the values later. */
export interface FamilyOptions {
  /**
   * If present but undefined, an environment variable is missing: this does not choose the default.
   */
  readonly connection?: unknown;
  readonly redLock: RedLockChoice | undefined;
  readonly settings: Partial<LockSettings>;
}

/** The servers of the red lock, and the longest lease that any process requests from them. */
export interface RedLockChoice {
  readonly nodes: readonly unknown[];
  readonly longestLeaseMs: number | undefined;
}

type Options = Readonly<Record<string, unknown>>;

const OPTIONS = [
  ...['connection', 'keyPrefix', 'watchdogLeaseMs', 'waitTimeMs', 'shutdownTimeoutMs'],
  ...['maxWaitersPerKey', 'maxKeys', 'nesting', 'onEviction', 'profiles', 'redLock'],
  ...['observer', 'tuning'],
];

/**
 * @param from begins the messages
 * @param extras the names of further options
 * @throws {LockConfigurationError} the options are no object, or have an unknown name
 */
export function readOptions(
  given: unknown,
  from: string,
  extras: readonly string[] = [],
): FamilyOptions {
  const options = optionsObject(given, from);
  refuseMoved(options, from);
  refuseUnknown(options, [...OPTIONS, ...extras], from);
  const { connection, redLock, tuning, ...settings } = options;
  return {
    ...('connection' in options && { connection }),
    redLock: redLockChoice(redLock),
    settings: { ...settings, ...tuningOf(tuning) },
  };
}

/** @throws {LockConfigurationError} they are no plain object */
export function optionsObject(given: unknown, from: string): Options {
  if (isPlainObject(given)) return given as Options;
  // A text is not shown: it may be a url with a password.
  const what = typeof given === 'string' ? 'a text' : describeValue(given);
  throw new LockConfigurationError(
    `${from}: the options must be a plain object, such as { connection: 'redis://…' }, not ${what}`,
  );
}

/** Refuses `leaseTimeMs` here: a fixed lease would silently be renewed without an end. */
function refuseMoved(options: Options, from: string): void {
  if ('leaseTimeMs' in options) {
    refuse(
      from,
      'leaseTimeMs is an option of a call, for a lease without renewal; ' +
        'watchdogLeaseMs is the lease that the watchdog renews',
    );
  }
  const moved = TUNING.find((option) => option in options);
  if (moved !== undefined) refuse(from, `${moved} belongs under tuning: { ${moved}: … }`);
}

function tuningOf(tuning: unknown): Partial<LockTuning> {
  if (tuning === undefined) return {};
  if (!isPlainObject(tuning)) {
    throw new LockConfigurationError(
      `tuning must be a plain object, such as { wakeUp: 'poll' }, not ${describeValue(tuning)}`,
    );
  }
  refuseUnknown(tuning, TUNING, 'tuning');
  return tuning;
}

function redLockChoice(given: unknown): RedLockChoice | undefined {
  if (given === undefined) return undefined;
  if (!isPlainObject(given)) {
    throw new LockConfigurationError(
      `redLock must be a plain object with nodes, not ${describeValue(given)}`,
    );
  }
  refuseUnknown(given, ['nodes', 'longestLeaseMs'], 'redLock');
  const { nodes, longestLeaseMs } = given as Options;
  if (!Array.isArray(nodes)) {
    throw new LockConfigurationError(
      `redLock.nodes must be a list of independent Redis servers, not ${describeValue(nodes)}`,
    );
  }
  // A copy has no holes.
  return { nodes: [...(nodes as unknown[])], longestLeaseMs: longestLeaseMs as number | undefined };
}
