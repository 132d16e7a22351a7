import type { ExecutionContext } from '@nestjs/common';

import {
  describeValue,
  LockConfigurationError,
  type LockBackendError,
  type LockTimeoutError,
} from '../core/api/errors.js';
import type { AcquireOptions } from '../core/api/lock.js';
import type { AnyAcquireOptions } from '../core/api/options.js';
import { withProfile } from '../core/api/resolve-options.js';
import {
  DEFAULT_NAME,
  DEFAULT_SETTINGS,
  isConnectionName,
  type LockSettings,
} from '../core/api/settings.js';
import { OPTIONS_OF, type MethodKind } from './lock-kinds.js';
import {
  checkObject,
  refuse,
  refuseArguments,
  refuseUnknown,
  refuseValue,
} from '../core/api/refuse.js';

/**
 * The reaction when another owner holds the lock for the whole waiting time:
 * - `throw`: the call rejects with `LockTimeoutError`.
 * - `skip`: the call resolves with undefined; the method does not run.
 * - a function: the call resolves with its result, or rejects with its error.
 *
 * It applies to no other error. When Redis does not answer, see `onBackendError`.
 */
export type OnBusy<Args extends readonly unknown[]> =
  'throw' | 'skip' | Handler<Args, LockTimeoutError>;

/**
 * The reaction when Redis did not answer, or refused the command:
 * - `throw`: the call rejects with `LockBackendError`.
 * - `run`: the method runs **without the lock**, beside other holders. Each such run is logged.
 * - a function: the call resolves with its result, or rejects with its error.
 */
export type OnBackendError<Args extends readonly unknown[]> =
  'throw' | 'run' | Handler<Args, LockBackendError>;

/**
 * A method type, so that it accepts a function with narrower parameters: those of the decorated
 * method.
 */
type Handler<Args extends readonly unknown[], E> = {
  handle(args: Args, error: E): Precise;
}['handle'];

/** Any value. As a return type, it makes the compiler keep `'busy'` instead of `string`. */
type Precise =
  // eslint-disable-next-line @typescript-eslint/no-invalid-void-type, @typescript-eslint/no-empty-object-type -- with both, it is any value at all
  | ('' | 0 | 0n | boolean | null | undefined | void | {})
  | { readonly [name: string]: Precise }
  | (readonly Precise[] | []);

/** How a decorated method acquires its lock. Every time is in milliseconds. */
export interface WithLockOptions<Args extends readonly unknown[]> extends Omit<
  AcquireOptions,
  'signal'
> {
  /**
   * The kind of lock: the lock, the fair lock, one side of the read-write lock, or permits.
   * @default 'lock'
   */
  readonly kind?: 'lock' | 'fair' | 'read' | 'write' | 'semaphore' | undefined;
  /**
   * How many permits of a semaphore this call acquires.
   * @default 1
   */
  readonly permits?: number | undefined;
  /**
   * How many permits the semaphore has in total. The first call sets this number if it is not set
   * yet; later calls do not change it.
   */
  readonly capacity?: number | undefined;
  /**
   * The name of the connection to use.
   * @default 'default'
   */
  readonly connection?: string | undefined;
  /** @default 'throw' */
  readonly onBusy?: OnBusy<Args> | undefined;
  /**
   * Only `run` lets the method run without its lock.
   * @default 'throw'
   */
  readonly onBackendError?: OnBackendError<Args> | undefined;
  /**
   * The reaction when the client of an HTTP request closes the connection while its handler waits:
   * - `cancel`: the handler does not run, and leaves the queue. The call rejects with an
   *   `HttpException` of status 499.
   * - `wait`: it waits on, and the handler runs without a client.
   *
   * After the grant the handler always runs to its end. Calls by other code do not know the client.
   * @default 'cancel'
   */
  readonly onDisconnect?: 'cancel' | 'wait' | undefined;
  /**
   * - `method`: every call of the method acquires the lock; for requests after guards, interceptors
   *   and pipes.
   * - `interceptor`, with a key of a request: an interceptor acquires the lock, after guards and
   *   before pipes. Only requests acquire it; a call of the method does not.
   * @default 'method'
   */
  readonly via?: 'method' | undefined;
}

/** The options of a decorator whose lock an interceptor acquires. */
export type InterceptorOptions = Omit<WithLockOptions<[context: ExecutionContext]>, 'via'> & {
  readonly via: 'interceptor';
};

/** The options of one decorator with all defaults filled in. */
export interface LockPlan {
  readonly kind: MethodKind;
  readonly connection: string;
  readonly acquire: AnyAcquireOptions;
  readonly via: 'method' | 'interceptor';
  readonly onDisconnect: 'cancel' | 'wait';
  onBusy(args: readonly unknown[], error: LockTimeoutError): unknown;
  /** Whether the method runs without the lock while Redis does not answer. */
  readonly runsUnlocked: boolean;
  onBackendError(args: readonly unknown[], error: LockBackendError): unknown;
}

const KINDS = Object.keys(OPTIONS_OF);
const OWN_OPTIONS = ['kind', 'connection', 'onBusy', 'onBackendError', 'onDisconnect', 'via'];

/**
 * Checks the options of a decorator, once, when the class is defined.
 * @param label for metrics, where the options have none
 * @param fixed the kind of a decorator that has no such option
 * @throws {LockConfigurationError} the message names the option, the value and the fix
 */
export function resolvePlan(
  options: unknown,
  where: string,
  label: string,
  fixed?: MethodKind,
): LockPlan {
  checkObject(where, options);
  if (fixed !== undefined && 'kind' in options) {
    throw new LockConfigurationError(
      `${where}: this decorator has a fixed kind; remove the option kind, or use @WithLock`,
    );
  }
  const {
    kind = fixed ?? 'lock',
    connection = DEFAULT_NAME,
    via = 'method',
    onDisconnect = 'cancel',
    onBusy,
    onBackendError,
    ...given
  } = options as WithLockOptions<unknown[]> | InterceptorOptions;
  const acquire = { label, ...given };
  checkWords({ kind, via, connection, onDisconnect }, where);
  const known = OPTIONS_OF[kind].filter((option) => option !== 'signal');
  refuseUnknown(acquire, [...known, ...OWN_OPTIONS], where);
  checkAcquire(acquire, known, where);
  return {
    ...{ kind, connection, acquire, via, onDisconnect },
    onBusy: handlerOf('onBusy', onBusy, ['throw', 'skip'], where),
    runsUnlocked: onBackendError === 'run',
    onBackendError: handlerOf('onBackendError', onBackendError, ['throw', 'run'], where),
  };
}

function checkWords(
  given: Readonly<Record<'kind' | 'via' | 'connection' | 'onDisconnect', unknown>>,
  where: string,
): void {
  const { kind, via, connection, onDisconnect } = given;
  if (!KINDS.includes(kind as string)) {
    refuseValue(where, 'kind', `one of ${KINDS.join(', ')}`, kind);
  }
  if (via !== 'method' && via !== 'interceptor') {
    refuseValue(where, 'via', "'method' or 'interceptor'", via);
  }
  if (onDisconnect !== 'cancel' && onDisconnect !== 'wait') {
    refuseValue(where, 'onDisconnect', "'cancel' or 'wait'", onDisconnect);
  }
  if (!isConnectionName(connection)) {
    refuseValue(where, 'connection', 'the name of a connection', connection);
  }
}

/** Profiles are not known before the application starts. */
function checkAcquire(
  { profile, ...acquire }: AnyAcquireOptions,
  known: readonly string[],
  where: string,
): void {
  if (profile !== undefined && typeof profile !== 'string') {
    refuseValue(where, 'profile', 'the name of a profile', profile);
  }
  refuseArguments(where, () => withProfile(acquire, DEFAULT_SETTINGS, known));
  const { permits = 1, capacity = permits } = acquire;
  if (permits > capacity) {
    refuse(where, 'permits (of one call) must not exceed capacity (of all calls)');
  }
}

/**
 * Checks the profile of a plan against the settings of its connection.
 * @throws {LockConfigurationError} there is no such profile, or it does not suit this kind of lock
 */
export function checkProfile(
  { acquire, kind }: Pick<LockPlan, 'acquire' | 'kind'>,
  settings: LockSettings,
  where: string,
): void {
  refuseArguments(where, () => withProfile(acquire, settings, OPTIONS_OF[kind]));
}

/** Returns the function that replaces the method, or throws. Only the word `throw` throws. */
function handlerOf(
  option: string,
  given: unknown = 'throw',
  words: readonly string[],
  where: string,
): (args: readonly unknown[], error: Error) => unknown {
  if (typeof given === 'function') {
    const handler = given as (args: readonly unknown[], error: Error) => unknown;
    return (args, error) => handler([...args], error);
  }
  if (!words.includes(given as string)) {
    throw new LockConfigurationError(
      `${where}: ${option} must be '${words.join("', '")}' or a function (args, error) => value, ` +
        `not ${describeValue(given)}`,
    );
  }
  return (_, error) => {
    if (given === 'throw') throw error;
    return undefined;
  };
}
