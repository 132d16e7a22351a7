import type { ExecutionContext } from '@nestjs/common';

import {
  describeValue,
  LockConfigurationError,
  type LockBackendError,
  type LockTimeoutError,
} from '../core/api/errors.js';
import type { AcquireOptions } from '../core/api/lock.js';
import { withProfile, type AnyAcquireOptions } from '../core/api/options.js';
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
 * The reaction when another owner has the lock for the whole waiting time:
 * - `throw`: the call rejects with `LockTimeoutError`.
 * - `skip`: the call resolves with undefined; the method does not run.
 * - a function: the call resolves with its result, or rejects with its error.
 *
 * It applies to nothing else. Without Redis the holder is unknown: see `onBackendError`.
 */
export type OnBusy<Args extends readonly unknown[]> =
  'throw' | 'skip' | Handler<Args, LockTimeoutError>;

/**
 * The reaction when Redis could not be asked for the lock, or refused:
 * - `throw`: the call rejects with `LockBackendError`.
 * - `run`: the method runs **without the lock**, beside other holders. Every time is logged.
 * - a function: the call resolves with its result, or rejects with its error.
 */
export type OnBackendError<Args extends readonly unknown[]> =
  'throw' | 'run' | Handler<Args, LockBackendError>;

/** As the type of a method, it takes a function with narrower arguments: those of the decorated one. */
type Handler<Args extends readonly unknown[], E> = {
  handle(args: Args, error: E): Precise;
}['handle'];

/** Any value. As the type of an answer, it lets the compiler keep `'busy'`, and not make it a `string`. */
type Precise =
  // eslint-disable-next-line @typescript-eslint/no-invalid-void-type, @typescript-eslint/no-empty-object-type -- with both, it is any value at all
  | ('' | 0 | 0n | boolean | null | undefined | void | {})
  | { readonly [name: string]: Precise }
  | (readonly Precise[] | []);

/** How a decorated method takes its lock. Every time is in milliseconds. */
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
   * How many permits of a semaphore this call takes.
   * @default 1
   */
  readonly permits?: number | undefined;
  /**
   * How many permits the semaphore has in all. The first call sets this number where nobody has; a
   * number that is set stays as it is.
   */
  readonly capacity?: number | undefined;
  /**
   * The name of the connection whose locks these are.
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
   * - `method`: the lock is taken around the method itself, after guards, interceptors and pipes.
   *   Calls from anywhere take it.
   * - `interceptor`, in options with a key of a request: an interceptor takes the lock, after guards and
   *   before pipes. Only requests take it, a call of the method does not.
   * @default 'method'
   */
  readonly via?: 'method' | undefined;
}

/** The options of a decorator whose lock an interceptor takes. */
export type InterceptorOptions = Omit<WithLockOptions<[context: ExecutionContext]>, 'via'> & {
  readonly via: 'interceptor';
};

/** The options of one decorator with all defaults filled in. */
export interface LockPlan {
  readonly kind: MethodKind;
  readonly connection: string;
  readonly acquire: AnyAcquireOptions;
  readonly via: 'method' | 'interceptor';
  onBusy(args: readonly unknown[], error: LockTimeoutError): unknown;
  /** Whether the method runs without the lock where Redis cannot be asked. */
  readonly runsUnlocked: boolean;
  onBackendError(args: readonly unknown[], error: LockBackendError): unknown;
}

const KINDS = Object.keys(OPTIONS_OF);
const OWN_OPTIONS = ['kind', 'connection', 'onBusy', 'onBackendError', 'via'];

/**
 * Checks the options of a decorator, once, when the class is defined.
 * @param label for metrics, where the options have none
 * @param fixed the kind of a decorator that has no such option
 * @throws {LockConfigurationError} naming the option, the value and the fix
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
      `${where}: the decorator itself says the kind; leave out the option kind, or take @WithLock`,
    );
  }
  const {
    kind = fixed ?? 'lock',
    connection = DEFAULT_NAME,
    via = 'method',
    onBusy,
    onBackendError,
    ...given
  } = options as WithLockOptions<unknown[]> | InterceptorOptions;
  const acquire = { label, ...given };
  checkWords({ kind, via, connection }, where);
  const known = OPTIONS_OF[kind].filter((option) => option !== 'signal');
  refuseUnknown(acquire, [...known, ...OWN_OPTIONS], where);
  checkAcquire(acquire, known, where);
  return {
    ...{ kind, connection, acquire, via },
    onBusy: handlerOf('onBusy', onBusy, ['throw', 'skip'], where),
    runsUnlocked: onBackendError === 'run',
    onBackendError: handlerOf('onBackendError', onBackendError, ['throw', 'run'], where),
  };
}

function checkWords(
  { kind, via, connection }: Readonly<Record<'kind' | 'via' | 'connection', unknown>>,
  where: string,
): void {
  if (!KINDS.includes(kind as string)) {
    refuseValue(where, 'kind', `one of ${KINDS.join(', ')}`, kind);
  }
  if (via !== 'method' && via !== 'interceptor') {
    refuseValue(where, 'via', "'method' or 'interceptor'", via);
  }
  if (!isConnectionName(connection)) {
    refuseValue(where, 'connection', 'the name of a connection', connection);
  }
}

/** Profiles are known when the application starts. */
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
    refuse(where, 'permits, of one call, must not be more than capacity, of all calls');
  }
}

/**
 * Checks what a plan takes from the settings of its connection.
 * @throws {LockConfigurationError} there is no such profile, or it does not suit this kind of lock
 */
export function checkProfile(
  { acquire, kind }: Pick<LockPlan, 'acquire' | 'kind'>,
  settings: LockSettings,
  where: string,
): void {
  refuseArguments(where, () => withProfile(acquire, settings, OPTIONS_OF[kind]));
}

/** The function that answers in place of the method, or throws. Among the words, only `throw` throws. */
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
