import { AsyncLocalStorage } from 'node:async_hooks';

import { describeValue, LeaseLostError, LockArgumentError, LockStateError } from '../api/errors.js';
import type { HoldProtocol } from './protocol.js';
import type { Lease } from '../api/lease.js';
import type { HeldLease, ScopedLease } from './held-lease.js';

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

  /**
   * The lease of the innermost `using` or decorated method that surrounds the caller; with a name, of the
   * innermost that holds this lock. Undefined where there is none, or where the method runs without its
   * lock (`onBackendError: 'run'`).
   *
   * Work that goes on after the release of the innermost lease still finds it: its `assertHeld()` throws.
   * @param name as the lock was acquired; one of several names gives the lease of that lock
   * @throws {LockArgumentError} the name is no text
   */
  find(name?: string): Lease | undefined {
    if (name !== undefined && typeof name !== 'string') {
      throw new LockArgumentError(`The name of a lock must be a text, not ${describeValue(name)}`);
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
};

function namedLease(lease: ScopedLease | undefined, name: string): Lease | undefined {
  return lease?.name === name ? lease : lease?.members.find((member) => member.name === name);
}

/**
 * Runs the work under a lease and gives the lease back. The work's own error passes through; a
 * release that failed for Redis' sake changes nothing, since the work is done.
 * @throws {LeaseLostError} the lease was lost meanwhile, so that the work may have met another holder
 */
export async function runLocked<L extends ScopedLease, T>(
  lease: L,
  work: (lease: L) => T,
): Promise<Awaited<T>> {
  let result: Awaited<T>;
  try {
    result = await runInScope(lease, () => work(lease));
  } catch (error) {
    await lease[Symbol.asyncDispose]();
    throw error;
  }
  try {
    await lease.release();
  } catch (error) {
    if (!(error instanceof LeaseLostError)) return result;
    throw withResult(error, lease.name, result);
  }
  return result;
}

/** The same loss, told by the work that has returned this. */
function withResult(loss: LeaseLostError, lockName: string, result: unknown): LeaseLostError {
  const { reason, confirmedAt, confirmedAgoMs, stoodStillMs } = loss;
  const { renewalFailedAt, renewalFailedWith } = loss;
  return new LeaseLostError(lockName, reason, {
    ...{ confirmedAt, confirmedAgoMs, stoodStillMs, renewalFailedAt, renewalFailedWith },
    ...{ cause: loss, result },
  });
}

/** @throws {LockArgumentError} it is no function, or one whose body does not run when it is called */
export function checkWork(work: unknown): void {
  if (typeof work === 'function' && !isGenerator(work)) return;
  const what =
    typeof work === 'function' ? 'a generator, whose body would not run' : describeValue(work);
  throw new LockArgumentError(`using needs a function to run, not ${what}`);
}

/** True also for a generator of another realm. */
export function isGenerator(work: object): boolean {
  const kind: unknown = Reflect.get(work, Symbol.toStringTag);
  return kind === 'AsyncGeneratorFunction' || kind === 'GeneratorFunction';
}
