/* eslint-disable @typescript-eslint/no-explicit-any, @typescript-eslint/no-invalid-void-type -- a
   decorator must accept methods of any parameters, and those that promise nothing */
import { UseInterceptors, type ExecutionContext } from '@nestjs/common';
import type { Observable } from 'rxjs';

import { isGenerator } from '../core/holding/scope.js';
import { LockConfigurationError, quoteName } from '../core/api/errors.js';
import { isLabel } from '../core/api/options.js';
import { giveUpWithClient, takeRequest } from './leaving-clients.js';
import { checkAtStart, installHost, type FindServices } from './lock-host.js';
import { nameFromArguments, type DecoratedMethod } from './lock-key.js';
import type { MethodKind, LockNames } from './lock-kinds.js';
import { namesFrom } from './lock-names.js';
import { interceptByPlan, LockInterceptor, namesFromContext } from './lock.interceptor.js';
import { keepMessages, lockedObservable, lockedPromise, type Slots } from './locked-call.js';
import {
  checkProfile,
  resolvePlan,
  type InterceptorOptions,
  type LockPlan,
  type OnBackendError,
  type OnBusy,
  type WithLockOptions,
} from './with-lock.options.js';
import { refuse } from '../core/api/refuse.js';

/** The value that a method, or a handler in its place, promises or emits. */
type ValueOf<Returned> = [Awaited<Returned>] extends [never]
  ? never
  : Awaited<Returned> extends Observable<infer Value>
    ? Awaited<Value>
    : Awaited<Returned>;

/**
 * The values that a handler may return in place of the method. Any value suits a method without
 * one.
 */
type Answer<M extends (...args: any[]) => unknown> =
  void extends ValueOf<ReturnType<M>> ? unknown : ValueOf<ReturnType<M>>;

/**
 * `unknown` where such a value suits the method, and otherwise the reason. The compiler can check
 * the first two conditions for a type parameter, as in `Promise<Entity | null>`.
 */
type Fit<M extends (...args: any[]) => unknown, Value> =
  Promise<Value> extends ReturnType<M>
    ? unknown
    : Observable<Value> extends ReturnType<M>
      ? unknown
      : [Value] extends [Answer<M>]
        ? unknown
        : 'The handler returns a value that this method does not return';

/** A handler without a `return` returns undefined. */
type Defined<Value> = Value extends void ? undefined : Value;

/** `unknown` where the handler suits the method, and otherwise the reason. */
type Misfit<M extends (...args: any[]) => unknown, Given> = 'throw' extends Given
  ? unknown
  : Given extends 'skip'
    ? unknown extends Fit<M, undefined>
      ? unknown
      : "'skip' resolves with undefined, which this method does not return"
    : Given extends (args: infer Args extends readonly unknown[], error: never) => infer Returned
      ? Parameters<M> extends [...Args, ...any[]]
        ? Fit<M, Defined<ValueOf<Returned>>>
        : 'The handler takes parameters that this method does not have'
      : unknown;

/**
 * Accepts methods that return a Promise or an Observable and whose arguments begin with `A`.
 * @typeParam Busy the option `onBusy`, which has to suit the method
 * @typeParam Failed the option `onBackendError`, which has to suit the method
 */
export type LockedMethodDecorator<A extends any[], Busy = unknown, Failed = unknown> = <
  M extends (...args: any[]) => Promise<any> | Observable<any>,
>(
  target: object,
  property: string | symbol,
  descriptor: TypedPropertyDescriptor<M> &
    (Parameters<M> extends [...A, ...any[]]
      ? unknown
      : 'The key function of @WithLock does not fit this method, or its parameters have no types: write (id: string) => …') &
    Misfit<M, Busy> &
    Misfit<M, Failed>,
) => void;

/** The options of a decorator whose handlers return a value in place of the method. */
type Handled<
  A extends any[],
  Busy,
  Failed,
  Without extends keyof WithLockOptions<[]> = never,
> = Omit<WithLockOptions<[...A, ...unknown[]]>, Without | 'onBusy' | 'onBackendError'> & {
  /** @default 'throw' */
  readonly onBusy?: Busy | undefined;
  /**
   * Only `run` lets the method run without its lock.
   * @default 'throw'
   */
  readonly onBackendError?: Failed | undefined;
};

/** A template, several templates for a multi lock, or a function that returns the names. */
export type WithLockKey<A extends any[]> = LockNames | ((...args: A) => LockNames);

/**
 * Runs every call of the method under the lock that the key names, across all processes.
 *
 * The call waits for the lock, runs the method, and releases the lock before it settles. An error
 * of the method passes through unchanged. Inside the method, `CurrentLock.lease()` returns the
 * lease. The call rejects with:
 * - `LockTimeoutError`: another owner held the lock for all of `waitTimeMs` (see `onBusy`);
 * - `LockKeyError`: an argument cannot be part of a name;
 * - `LeaseLostError`: the lock was lost while the method ran.
 * @param key a template with arguments as placeholders, as in `product_<id>` (see `LockKey`), or a
 * function of the arguments. Several names are one multi lock: all are acquired, or none
 * @throws {LockConfigurationError} when the class is defined: the template, an option or the method
 * cannot work
 * @example
 * @WithLock('product_<id>')
 * async buy(@LockKey('id') productId: string, buyer: string): Promise<Order> { … }
 */
export function WithLock<
  A extends any[] = [],
  Busy extends OnBusy<[...A, ...unknown[]]> = OnBusy<[...A, ...unknown[]]>,
  Failed extends OnBackendError<[...A, ...unknown[]]> = OnBackendError<[...A, ...unknown[]]>,
>(key: WithLockKey<A>, options?: Handled<A, Busy, Failed>): LockedMethodDecorator<A, Busy, Failed>;
/**
 * Runs each request to the handler under a lock. An interceptor acquires it; the method stays as it
 * is.
 *
 * The key is a template with `<params.x>`, `<query.x>` and `<body.x>`, or a function of the
 * `ExecutionContext`. The values are raw: the interceptor runs before the pipes.
 * @throws {LockConfigurationError} at class definition or start: the template or an option cannot
 * work, or Nest does not intercept the method
 */
export function WithLock(
  key: WithLockKey<[context: ExecutionContext]>,
  options: InterceptorOptions,
): MethodDecorator;
export function WithLock(
  key: WithLockKey<any>,
  options: WithLockOptions<any> | InterceptorOptions = {},
) {
  return lockDecorator('@WithLock', key, options);
}

/** `WithLock` for one kind of lock, without the options `Without`. */
export interface KindDecorator<Without extends keyof WithLockOptions<[]>> {
  <
    A extends any[] = [],
    Busy extends OnBusy<[...A, ...unknown[]]> = OnBusy<[...A, ...unknown[]]>,
    Failed extends OnBackendError<[...A, ...unknown[]]> = OnBackendError<[...A, ...unknown[]]>,
  >(
    key: WithLockKey<A>,
    options?: Handled<A, Busy, Failed, Without>,
  ): LockedMethodDecorator<A, Busy, Failed>;
  (
    key: WithLockKey<[context: ExecutionContext]>,
    options: Omit<InterceptorOptions, Without>,
  ): MethodDecorator;
}

function by(kind: MethodKind, name: string) {
  return (key: unknown, options: WithLockOptions<any> | InterceptorOptions = {}) =>
    lockDecorator(name, key, options, kind);
}

/**
 * As `@WithLock`, with the fair lock: callers of all processes acquire it in the order of their
 * calls.
 */
export const WithFairLock: KindDecorator<'kind' | 'permits' | 'capacity'> = by(
  'fair',
  '@WithFairLock',
);

/**
 * As `@WithLock`, with the read lock of the name: calls run beside readers, never beside a writer.
 */
export const WithReadLock: KindDecorator<'kind' | 'permits' | 'capacity' | 'fenced'> = by(
  'read',
  '@WithReadLock',
);

/**
 * As `@WithLock`, with the write lock of the name: no reader and no other writer runs beside it.
 */
export const WithWriteLock: KindDecorator<'kind' | 'permits' | 'capacity'> = by(
  'write',
  '@WithWriteLock',
);

/**
 * As `@WithLock`, with permits of the semaphore of the name: their number limits the calls at once.
 * The option `capacity` sets the number if it is not set yet. Without it, calls wait until
 * `SemaphoreService.get(name).trySetPermits(n)` sets it.
 * @example
 * @WithSemaphore('gateway', { capacity: 5 })
 * async call(): Promise<Answer> { … }
 */
export const WithSemaphore: KindDecorator<'kind' | 'fenced'> = by('semaphore', '@WithSemaphore');

/**
 * @param kind of the decorator itself, which its options cannot change
 * @param slots the method starts at most once in each
 */
export function lockDecorator(
  name: string,
  key: unknown,
  options: WithLockOptions<any> | InterceptorOptions,
  kind?: MethodKind,
  slots?: Slots,
): MethodDecorator {
  return (target, property, descriptor: TypedPropertyDescriptor<any> | undefined) => {
    refuseOtherDecorators(name, property);
    const where = whereOf(name, key, target, property);
    const method: unknown = descriptor?.value;
    if (descriptor === undefined || typeof method !== 'function') {
      refuse(where, 'only methods can run under a lock');
    }
    if (typeof target === 'function') {
      refuse(where, 'a static method cannot run under a lock; make it an instance method');
    }
    if (isGenerator(method)) {
      throw new LockConfigurationError(
        `${where}: a generator does not run when it is called; make the method async, ` +
          'or return an Observable',
      );
    }
    const plan = resolvePlan(options, where, labelOf(key, target, property), kind);
    checkProfileAtStart(target, plan, where);
    const decorated: DecoratedMethod = { target, property };
    const mayBeSeveral = plan.kind !== 'semaphore';
    if (plan.via === 'interceptor') {
      const namesOf = namesFromContext(key, where, mayBeSeveral);
      interceptByPlan(decorated, method, { ...plan, where, namesOf });
      UseInterceptors(LockInterceptor)(target, property, descriptor);
    } else {
      const servicesOf = installHost(target, plan, where);
      const namesOfCall = namesOf(key, where, decorated, mayBeSeveral);
      const locked = { ...plan, slots, where, servicesOf, namesOf: namesOfCall };
      descriptor.value = wrap(decorated, method as Method, locked);
    }
  };
}

function checkProfileAtStart(target: object, plan: LockPlan, where: string): void {
  if (plan.acquire.profile === undefined) return;
  checkAtStart(target, plan.connection, (settings) => {
    checkProfile(plan, settings, where);
  });
}

/** Standard decorators of ECMAScript get the function and a context. */
function refuseOtherDecorators(name: string, property: unknown): void {
  if (typeof property !== 'object' || property === null) return;
  throw new LockConfigurationError(
    `${name} is compiled as an ECMAScript decorator, and NestJS needs TypeScript decorators: ` +
      'set the compiler option experimentalDecorators',
  );
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

interface MethodPlan extends LockPlan {
  readonly where: string;
  readonly slots: Slots | undefined;
  readonly servicesOf: FindServices;
  namesOf(args: readonly unknown[]): LockNames;
}

function whereOf(
  decorator: string,
  key: unknown,
  target: object,
  property: string | symbol,
): string {
  const owner = typeof target === 'function' ? target : target.constructor;
  const shown = typeof key === 'string' ? quoteName(key) : '…';
  return `${decorator}(${shown}) on ${owner.name}.${String(property)}`;
}

/** The label of the method's locks in metrics. It does not depend on the arguments. */
function labelOf(key: unknown, target: object, property: string | symbol): string {
  const template = Array.isArray(key) ? key.join(', ') : key;
  if (isLabel(template)) return template;
  return `${target.constructor.name}.${String(property)}`;
}

function namesOf(
  key: unknown,
  where: string,
  method: DecoratedMethod,
  mayBeSeveral: boolean,
): (args: readonly unknown[]) => LockNames {
  const maker = {
    fill: (template: string) => nameFromArguments(template, where, method),
    call: (fn: Method, args: readonly unknown[]) => fn(...args),
    forms:
      "a template such as 'product_<id>', several templates, or a function (...args) => string",
  };
  return namesFrom<readonly unknown[]>(key, where, maker, mayBeSeveral);
}

function wrap(method: DecoratedMethod, original: Method, plan: MethodPlan): Method {
  const locked = returnsObservable(method, plan.where) ? lockedObservable : lockedPromise;
  const wrapper: Method = function (...args) {
    const request = takeRequest(plan);
    const atEnd = keepMessages(args);
    const call = {
      ...{ plan, args, atEnd, signal: request?.signal },
      services: () => plan.servicesOf(this),
      names: () => plan.namesOf(args),
    };
    const work = () => original.apply(this, args);
    return locked(call, () => (request === undefined ? work() : request.run(work)));
  };
  inPlaceOf(original, wrapper);
  if (plan.onDisconnect === 'cancel') giveUpWithClient(wrapper, plan);
  return wrapper;
}

/**
 * Nest and its packages store the data of decorators on the function itself. The wrapper needs that
 * data too: without it, guards would not run. Copies, not a prototype: to instrumentation a
 * function with a prototype of its own is no method.
 */
function inPlaceOf(original: Method, wrapper: Method): Method {
  for (const key of Reflect.getOwnMetadataKeys(original) as unknown[]) {
    Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, original), wrapper);
  }
  // Its name and length, and properties that decorators put on it without reflect-metadata.
  return Object.defineProperties(wrapper, Object.getOwnPropertyDescriptors(original));
}

/** Reads the return type that the compiler emits. False where it emits none, or `Object`. */
function returnsObservable({ target, property }: DecoratedMethod, where: string): boolean {
  const type: unknown = Reflect.getOwnMetadata('design:returntype', target, property);
  if (typeof type !== 'function' || type === Object) return false;
  const prototype = type.prototype as Readonly<Record<string, unknown>> | null | undefined;
  if (typeof prototype?.subscribe === 'function') return true;
  if (typeof prototype?.then === 'function') return false;
  throw new LockConfigurationError(
    `${where}: the method returns ${type.name}, and acquiring a lock takes time; ` +
      'make it async, or return an Observable',
  );
}
