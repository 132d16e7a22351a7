import { AsyncLocalStorage } from 'node:async_hooks';

import { LockStateError } from '../api/errors.js';
import type { HoldProtocol } from './protocol.js';
import type { HeldLease, Lease, ScopedLease } from './held-lease.js';

/**
 * The work that runs under a lease, and the scope it was started in. Scopes say which hold a nested
 * acquisition joins. They are no identity: two branches of one scope must not both get in.
 */
interface OwnerScope {
  /** None if the work was let in without its lock. */
  readonly lease: ScopedLease | undefined;
  outer: OwnerScope | undefined;
}

const scopes = new AsyncLocalStorage<OwnerScope>();

/**
 * Runs the work in no scope and for no request: as this module was loaded, before anybody had a scope.
 * For all that one caller sets off and others share, such as timers and connections: what listens there
 * would join the caller's hold, and the store of the request would live on with it. Costs 0.2 µs.
 */
export const outOfScope: <T>(work: () => T) => T = AsyncLocalStorage.snapshot();

/** Runs the work in a scope of its own; what surrounds the call is not touched. */
export function runInScope<T>(lease: ScopedLease | undefined, work: () => T): T {
  return scopes.run({ lease, outer: lastingOf(scopes.getStore()) }, work);
}

/**
 * The innermost of these scopes that is not over. Those that are must not be kept: work that a timer
 * starts runs in the scope of what set the timer, for ever.
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

/** The way from a decorated body to its lease. */
export const CurrentLock = {
  /**
   * The lease of the innermost `using` or `@WithLock` that surrounds the caller.
   * @throws {LockStateError} there is none, or that one runs without its lock (`onBackendError`)
   */
  lease(): Lease {
    const lease = scopes.getStore()?.lease;
    if (lease === undefined) {
      throw new LockStateError(
        'No lock surrounds this call: CurrentLock.lease() works inside using() and @WithLock only',
      );
    }
    return lease;
  },
};
