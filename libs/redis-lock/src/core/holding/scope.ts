import { AsyncLocalStorage } from 'node:async_hooks';
import { types } from 'node:util';

import {
  describeValue,
  LeaseLostError,
  LockArgumentError,
  LockStateError,
  quoteName,
} from '../api/errors.js';
import type { HoldProtocol } from './protocol.js';
import type { Lease } from '../api/lease.js';
import type { HeldLease, ScopedLease } from './held-lease.js';

/**
 * The work that runs under a lease, and the scope that started it. Scopes decide which hold a
 * nested acquisition joins. They are no identity: two branches of one scope must not both acquire.
 */
interface OwnerScope {
  /** Undefined if the work runs without its lock. */
  readonly lease: ScopedLease | undefined;
  outer: OwnerScope | undefined;
  /** The request that the work answers, until a lock of its handler is granted. */
  readonly request?: object;
}

/** Undefined outside of every hold. */
const scopes = new AsyncLocalStorage<OwnerScope | undefined>();

/** Runs the work in its own scope. The surrounding scope stays unchanged. */
export function runInScope<T>(lease: ScopedLease | undefined, work: () => T): T {
  return scopes.run({ lease, outer: lastingOf(scopes.getStore()) }, work);
}

/**
 * Runs the work in the present scope, with the request that it answers. A storage of its own would
 * make every `await` of the process slower before Node 24.
 */
export function runForRequest<T>(request: object, work: () => T): T {
  const { lease, outer } = scopes.getStore() ?? {};
  return scopes.run({ lease, outer, request }, work);
}

/** Undefined where the caller is not the handler of a request, or holds its lock already. */
export function presentRequest(): object | undefined {
  return scopes.getStore()?.request;
}

/**
 * The innermost of these scopes that is not over. The others must not be kept. Work that a timer
 * starts always runs in the scope that set the timer.
 */
function lastingOf(innermost: OwnerScope | undefined): OwnerScope | undefined {
  let scope = innermost;
  while (scope !== undefined && !scope.lease?.members.some(({ isOpen }) => isOpen)) {
    scope = scope.outer;
  }
  return scope;
}

/** The innermost lease on this lock that surrounds the caller and is not released. */
export function surroundingLease(protocol: HoldProtocol, key: string): HeldLease | undefined {
  for (let scope = scopes.getStore(); scope !== undefined; scope = scope.outer) {
    for (const lease of scope.lease?.members ?? []) {
      if (lease.isOpen && lease.hold.protocol === protocol && lease.hold.key === key) return lease;
    }
    scope.outer = lastingOf(scope.outer);
  }
  return undefined;
}

/** The leases that surround the caller and are not released, the innermost first. */
export function surroundingLeases(): HeldLease[] {
  const leases: HeldLease[] = [];
  for (let scope = scopes.getStore(); scope !== undefined; scope = scope.outer) {
    leases.push(...(scope.lease?.members.filter(({ isOpen }) => isOpen) ?? []));
    scope.outer = lastingOf(scope.outer);
  }
  return leases;
}

/** Gives a decorated method access to its lease, and starts work outside of every hold. */
export const CurrentLock = {
  /**
   * The lease of the innermost `using` or `@WithLock` that surrounds the caller.
   * @throws {LockStateError} there is none, or its method runs without its lock (`onBackendError`)
   */
  lease(): Lease {
    const lease = scopes.getStore()?.lease;
    if (lease === undefined) {
      throw new LockStateError(
        'No lock surrounds this call: CurrentLock.lease() works only inside using() and @WithLock',
      );
    }
    return lease;
  },

  /**
   * The lease of the innermost `using` or decorated method that surrounds the caller. With a name,
   * of the innermost that holds this lock. Undefined if there is none, or if the method runs
   * without its lock (`onBackendError: 'run'`).
   *
   * Work that goes on after the release of the innermost lease still finds it: its `assertHeld()`
   * throws.
   * @param name as you acquired the lock; one of several names returns the lease of that lock
   * @throws {LockArgumentError} the name is no string
   */
  find(name?: string): Lease | undefined {
    if (name !== undefined && typeof name !== 'string') {
      throw new LockArgumentError(`A lock name must be a string, not ${describeValue(name)}`);
    }
    const innermost = scopes.getStore();
    if (name === undefined) return innermost?.lease;
    let scope = innermost;
    while (scope !== undefined) {
      const lease = namedLease(scope.lease, name);
      if (lease !== undefined) return lease;
      scope.outer = lastingOf(scope.outer);
      scope = scope.outer;
    }
    return undefined;
  },

  /**
   * Runs the work outside of every hold, and returns its result. A call inside it joins no hold, and
   * `find()` returns undefined. Use it to start queues, timers and listeners that go on by
   * themselves. Node runs their callbacks in the async context that started them. Other stores of
   * `AsyncLocalStorage`, such as the request's, stay.
   * @throws {LockArgumentError} the work is no function
   * @example
   * CurrentLock.exit(() => events.emit('order.paid', order));
   */
  exit<T>(work: () => T): T {
    if (typeof work === 'function') return scopes.run(undefined, work);
    throw new LockArgumentError(
      `CurrentLock.exit needs a function to run, not ${describeValue(work)}`,
    );
  },
};

function namedLease(lease: ScopedLease | undefined, name: string): Lease | undefined {
  return lease?.name === name ? lease : lease?.members.find((member) => member.name === name);
}

/**
 * Runs the work under a lease, then releases the lease. The work's own error passes through. A
 * release that failed because of Redis changes nothing, because the work is done.
 * @throws {LeaseLostError} the lease was lost meanwhile: another owner may have held the lock
 * @throws {LockArgumentError} the result is lazy: the work would begin after the release
 */
export async function runLocked<L extends ScopedLease, T>(
  lease: L,
  work: (lease: L) => T,
): Promise<Awaited<T>> {
  let result: Awaited<T>;
  try {
    result = await runInScope(lease, () => work(lease));
    refuseLazy(result, lease.name);
  } catch (error) {
    await lease[Symbol.asyncDispose]();
    throw error;
  }
  lease.succeeded?.();
  try {
    await lease.release();
  } catch (error) {
    if (!(error instanceof LeaseLostError)) return result;
    throw withResult(error, lease.name, result);
  }
  return result;
}

/** The same loss, with the result of the work. */
function withResult(loss: LeaseLostError, lockName: string, result: unknown): LeaseLostError {
  const { reason, confirmedAt, confirmedAgoMs, stoodStillMs } = loss;
  const { renewalFailedAt, renewalFailedWith } = loss;
  return new LeaseLostError(lockName, reason, {
    ...{ confirmedAt, confirmedAgoMs, stoodStillMs, renewalFailedAt, renewalFailedWith },
    ...{ cause: loss, result },
  });
}

/** @throws {LockArgumentError} the value is no function, or a generator */
export function checkWork(work: unknown): void {
  if (typeof work === 'function' && !isGenerator(work)) return;
  const what =
    typeof work === 'function' ? 'a generator, whose body would not run' : describeValue(work);
  throw new LockArgumentError(`using needs a function to run, not ${what}`);
}

/** Looks with `in`, because a getter of the result might fail after the work is done. */
function refuseLazy(result: unknown, lockName: string): void {
  if (typeof result !== 'object' || result === null) return;
  const isObservable = 'lift' in result && 'subscribe' in result;
  if (!isObservable && !(Symbol.asyncIterator in result) && !types.isGeneratorObject(result))
    return;
  const [what, instead] = isObservable
    ? ['an Observable', 'Return lastValueFrom(observable)']
    : ['an iterator or a stream', 'Read it inside of the work'];
  throw new LockArgumentError(
    `The work under lock ${quoteName(lockName)} returned ${what}, which would run after the ` +
      `release. ${instead}; return it as a property of an object if it needs no lock`,
  );
}

/** True also for a generator of another realm. */
export function isGenerator(work: object): boolean {
  const kind: unknown = Reflect.get(work, Symbol.toStringTag);
  return kind === 'AsyncGeneratorFunction' || kind === 'GeneratorFunction';
}
