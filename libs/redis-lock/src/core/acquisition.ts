import type { Deadline } from './deadline.js';
import { LockBackendError, LockTimeoutError, quoteName, type BackendOutcome } from './errors.js';
import type { HoldProtocol } from './hold-protocol.js';
import type { Hold } from './hold.js';
import { HeldLease } from './lease.js';
import type { LockContext } from './lock-context.js';
import { tell } from './observer.js';
import type { ResolvedAcquireOptions } from './options.js';

/** One call for a lock: what is wanted, and how long the caller is willing to wait. */
export interface Acquisition {
  readonly context: LockContext;
  readonly protocol: HoldProtocol;
  readonly name: string;
  readonly key: string;
  readonly options: ResolvedAcquireOptions;
  readonly deadline: Deadline;
  /** The caller does not wait for the lock, only for one answer. */
  readonly once: boolean;
}

/** Somebody else has the lock. */
export interface Refusal {
  readonly remainingMs: number;
  readonly blockedBy: 'other' | 'sibling';
}

/** `again`: what the attempt was built on is gone, and there is time for another. */
export type Attempt = HeldLease | Refusal | 'again';

/** Turns a grant into a lease that is kept from now on. */
export function leaseOf(
  acquisition: Acquisition,
  hold: Hold,
  fencingToken: number | undefined,
  parent: HeldLease | undefined,
): HeldLease {
  const { context, options, deadline, name } = acquisition;
  const holdCount = hold.leases.size + 1;
  const watch = {
    watched: options.watched,
    until: context.clock.now() + options.maxHoldMs,
  };
  const lease = new HeldLease(hold, holdCount, fencingToken, parent, watch, context.keeper);
  context.keeper.keep(lease);
  const { observer } = context.settings;
  if (observer !== undefined) {
    tell(observer, { type: 'acquired', name, waitedMs: deadline.waitedMs, holdCount });
  }
  return lease;
}

export function timeoutError({ name, deadline }: Acquisition, refusal: Refusal): LockTimeoutError {
  return new LockTimeoutError(name, {
    waitedMs: deadline.waitedMs,
    retryAfterMs: refusal.remainingMs,
    blockedBy: refusal.blockedBy,
  });
}

export function noAnswerError(
  { name, deadline }: Acquisition,
  outcome: BackendOutcome,
  cause?: LockBackendError,
): LockBackendError {
  const waited = String(Math.round(deadline.waitedMs));
  const why = cause === undefined ? 'it has not answered' : cause.message;
  return new LockBackendError(
    `Lock ${quoteName(name)} was not acquired: Redis could not be asked for ${waited} ms: ${why}`,
    { lockName: name, retryable: true, outcome, cause },
  );
}
