import type { AcquireRequest, HoldProtocol, OwnerId } from './holding/protocol.js';
import type { Hold } from './holding/hold.js';
import { HeldLease } from './holding/held-lease.js';
import { tell } from './api/observer.js';
import type { ResolvedAcquireOptions } from './api/options.js';
import type { Call, Refusal } from './waiting/waiter.js';

/** One call for a lease: what is wanted, and how long the caller is willing to wait. */
export interface Acquisition extends Call {
  readonly protocol: HoldProtocol;
  readonly key: string;
  readonly options: ResolvedAcquireOptions;
  /** The owner of a surrounding hold of another kind that lets this call in. */
  companion: OwnerId | undefined;
  /** It has got what it wants before, and too late. */
  wasGranted: boolean;
}

/** `again`: what the attempt was built on is gone, and there is time for another. */
export type Attempt = HeldLease | Refusal | 'again';

export function requestOf({ options, companion }: Acquisition, holdCount: number): AcquireRequest {
  const { leaseTimeMs, fenced, waitTimeMs, minReplicas } = options;
  return { holdCount, leaseTimeMs, fenced, waitTimeMs, companion, minReplicas };
}

/** Turns a grant into a lease that is kept from now on. */
export function leaseOf(
  acquisition: Acquisition,
  hold: Hold,
  fencingToken: number | undefined,
  parent: HeldLease | undefined,
): HeldLease {
  const { context, options, deadline, name, kind, label } = acquisition;
  const holdCount = hold.leases.length + 1;
  const watchedUntil = options.watched ? context.clock.now() + options.maxHoldMs : -Infinity;
  const lease = new HeldLease(
    hold,
    holdCount,
    fencingToken,
    parent,
    watchedUntil,
    context.keeper,
    options.minReplicas,
  );
  context.keeper.keep(lease);
  const { observer } = context.settings;
  if (observer !== undefined) {
    const { waitedMs } = deadline;
    tell(observer, { type: 'acquired', name, kind, label, waitedMs, holdCount });
  }
  return lease;
}
