/* eslint-disable @typescript-eslint/no-explicit-any -- a decorator must accept methods of any parameters */
import { UseInterceptors, type ExecutionContext } from '@nestjs/common';
import type { Observable } from 'rxjs';

import { describeValue, LockConfigurationError, quoteName } from '../core/errors.js';
import { installHost, lockServiceOf } from './lock-host.js';
import { nameFromArguments, type DecoratedMethod } from './lock-key.js';
import { interceptByPlan, LockInterceptor, nameFromContext } from './lock.interceptor.js';
import { lockedObservable, lockedPromise } from './locked-call.js';
import { resolvePlan, type LockPlan, type WithLockOptions } from './with-lock.options.js';

/** Accepts methods that return a Promise or an Observable and whose arguments begin with `A`. */
export type LockedMethodDecorator<A extends any[]> = <
  M extends (...args: any[]) => Promise<any> | Observable<any>,
>(
  target: object,
  property: string | symbol,
  descriptor: TypedPropertyDescriptor<M> &
    (Parameters<M> extends [...A, ...any[]] ? unknown : 'the key wants other arguments'),
) => void;

/**
 * Runs a request to the handler under a lock, by an interceptor that leaves the method as it is.
 *
 * The key is a template of `<params.x>`, `<query.x>` and `<body.x>`, which are raw values that no
 * pipe has seen, or a function of the `ExecutionContext`.
 * @throws {LockConfigurationError} when the class is defined, or when the application starts: the
 * template or an option cannot work, or the method is no handler that Nest intercepts
 */
export function WithLock(
  key: string | ((context: ExecutionContext) => string),
  options: WithLockOptions<[context: ExecutionContext]> & { readonly via: 'interceptor' },
): MethodDecorator;
/**
 * Runs every call of the method under the lock that the key names, in all processes.
 *
 * The call waits for the lock, runs the method, and releases the lock before it settles, also when
 * the method fails; its own error passes through untouched. It rejects with `LockTimeoutError` when
 * somebody else had the lock for `waitTimeMs` (see `onBusy`), with `LockKeyError` when an argument
 * cannot be part of a name, and with `LeaseLostError` when the lock was lost meanwhile.
 * `CurrentLock.lease()` is the lease, inside the method.
 * @param key a template whose placeholders are arguments, as in `product_<id>` (see `LockKey`), or a
 * function of the arguments
 * @throws {LockConfigurationError} when the class is defined: the template, an option or the method
 * cannot work
 * @example
 * @WithLock('product_<id>')
 * async buy(@LockKey('id') productId: string, buyer: string): Promise<Order> { … }
 */
export function WithLock<A extends any[] = []>(
  key: string | ((...args: A) => string),
  options?: WithLockOptions<[...A, ...any[]]> & { readonly via?: 'method' | undefined },
): LockedMethodDecorator<A>;
export function WithLock(
  key: string | ((...args: any[]) => string),
  options: WithLockOptions<any> = {},
): MethodDecorator {
  return (target, property, descriptor: TypedPropertyDescriptor<any> | undefined) => {
    const where = whereOf(key, target, property);
    const method: unknown = descriptor?.value;
    if (typeof target === 'function') {
      throw new LockConfigurationError(`${where}: a static method has no object to take locks for`);
    }
    if (descriptor === undefined || typeof method !== 'function') {
      throw new LockConfigurationError(
        `${where}: only methods can run under a lock (with the compiler option experimentalDecorators)`,
      );
    }
    const plan = resolvePlan(options, where);
    const decorated: DecoratedMethod = { target, property };
    if (plan.via === 'interceptor') {
      interceptByPlan(decorated, method, { ...plan, where, nameOf: nameFromContext(key, where) });
      UseInterceptors(LockInterceptor)(target, property, descriptor);
    } else {
      installHost(target);
      const locked = { ...plan, where, nameOf: nameOf(key, where, decorated) };
      descriptor.value = wrap(decorated, method as Method, locked);
    }
  };
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

interface MethodPlan extends LockPlan {
  readonly where: string;
  nameOf(args: readonly unknown[]): string;
}

function whereOf(key: unknown, target: object, property: string | symbol): string {
  const owner = typeof target === 'function' ? target : target.constructor;
  const shown = typeof key === 'string' ? quoteName(key) : '…';
  return `@WithLock(${shown}) on ${owner.name}.${String(property)}`;
}

function nameOf(
  key: unknown,
  where: string,
  method: DecoratedMethod,
): (args: readonly unknown[]) => string {
  if (typeof key === 'string') return nameFromArguments(key, where, method);
  if (isNameFunction(key)) return (args) => key(...args);
  throw new LockConfigurationError(
    `${where}: the key must be a template such as 'product_<id>' or a function ` +
      `(...args) => string, not ${describeValue(key)}`,
  );
}

function isNameFunction(key: unknown): key is (...args: readonly unknown[]) => string {
  return typeof key === 'function';
}

function wrap(method: DecoratedMethod, original: Method, plan: MethodPlan): Method {
  const { where, acquire } = plan;
  const locked = returnsObservable(method, where) ? lockedObservable : lockedPromise;
  const wrapper: Method = function (...args) {
    const call = {
      where,
      locks: () => lockServiceOf(this, where),
      name: () => plan.nameOf(args),
      options: acquire,
      onBusy: plan.onBusy.bind(plan, args),
    };
    return locked(call, () => original.apply(this, args));
  };
  return inPlaceOf(original, wrapper);
}

/**
 * Nest and its packages keep what decorators say on the function itself. It must be found whichever
 * side of ours they stand on: losing it would switch off guards.
 */
function inPlaceOf(original: Method, wrapper: Method): Method {
  for (const key of Reflect.getOwnMetadataKeys(original) as unknown[]) {
    Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, original), wrapper);
  }
  // Properties that decorators put on the function, without reflect-metadata.
  Object.setPrototypeOf(wrapper, original);
  return Object.defineProperties(wrapper, {
    name: { value: original.name, configurable: true },
    length: { value: original.length, configurable: true },
  });
}

/** By the return type that the compiler emits; unknown where it emits none, or `Object`. */
function returnsObservable({ target, property }: DecoratedMethod, where: string): boolean {
  const type: unknown = Reflect.getOwnMetadata('design:returntype', target, property);
  if (typeof type !== 'function' || type === Object) return false;
  const prototype = type.prototype as Readonly<Record<string, unknown>> | null | undefined;
  if (typeof prototype?.subscribe === 'function') return true;
  if (typeof prototype?.then === 'function') return false;
  throw new LockConfigurationError(
    `${where}: the method returns ${type.name}; a lock needs time to be taken, so make it async, ` +
      'or have it return an Observable',
  );
}
