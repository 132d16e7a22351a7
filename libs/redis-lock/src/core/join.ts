import { leaseOf, requestOf, type Acquisition, type Attempt } from './acquisition.js';
import { OVER } from './time/deadline.js';
import { LockBackendError, LockLimitError } from './api/errors.js';
import type { HeldLease } from './holding/held-lease.js';
import { tell } from './api/observer.js';
import { untilAnswered } from './redis/retry.js';
import { noAnswerError } from './waiting/waiter.js';

/**
 * Joins a hold that surrounds the call: same owner, one lease more. Siblings take turns, where the
 * lock is one for a single holder.
 */
export async function enterNested(acquisition: Acquisition, parent: HeldLease): Promise<Attempt> {
  const { context, protocol, deadline, once } = acquisition;
  const { hold } = parent;
  if (hold.lostError !== undefined) throw hold.lostError;
  if (hold.remainingMs === 0) throw context.keeper.lose(hold, 'expired');
  if (protocol.nesting === 'together') return joinInTime(acquisition, parent, undefined);

  const { maxWaitersPerKey } = context.settings;
  if (!once && parent.waitingChildren >= maxWaitersPerKey) {
    throw new LockLimitError(acquisition.name, 'maxWaitersPerKey', maxWaitersPerKey);
  }
  const busy = once && parent.hasChild;
  if (busy || (await context.countWaiting(parent.waitForTurn(deadline))) === OVER) {
    return { remainingMs: hold.remainingMs, blockedBy: 'sibling' };
  }
  if (deadline.remainingMs === 0) {
    // The turn came with the last moment: the sibling had it all the time.
    parent.passTurn();
    return { remainingMs: hold.remainingMs, blockedBy: 'sibling' };
  }
  return joinInTime(acquisition, parent, parent);
}

/** @param turnOf the parent whose turn this call has, if turns are taken */
async function joinInTime(
  acquisition: Acquisition,
  parent: HeldLease,
  turnOf: HeldLease | undefined,
): Promise<Attempt> {
  const { deadline } = acquisition;
  const joining = join(acquisition, parent, turnOf);
  try {
    // A suspect parent gets its verdict also when Redis never answers.
    const lease = await deadline.wait<HeldLease | undefined>((resolve, reject) => {
      joining.then(resolve, reject);
      return parent.hold.whenLost(reject);
    });
    if (lease !== OVER) return lease ?? 'again';
  } catch (error) {
    void giveBackLate(acquisition, joining);
    throw error;
  }
  void giveBackLate(acquisition, joining);
  throw noAnswerError(acquisition, 'unknown', parent.hold.refusal);
}

/**
 * Undefined when the parent was released while this call waited. The turn is passed on by the lease
 * when it is released, or here when there is none.
 */
async function join(
  acquisition: Acquisition,
  parent: HeldLease,
  turnOf: HeldLease | undefined,
): Promise<HeldLease | undefined> {
  const { hold } = parent;
  let lease: HeldLease | undefined;
  try {
    if (parent.isOpen) lease = await hold.serially(() => enter(acquisition, parent, turnOf));
    return lease;
  } catch (error) {
    const mayHaveEntered = error instanceof LockBackendError && error.outcome === 'unknown';
    if (mayHaveEntered) void acquisition.context.keeper.reconcile(hold);
    throw error;
  } finally {
    if (lease === undefined) turnOf?.passTurn();
  }
}

async function enter(
  acquisition: Acquisition,
  parent: HeldLease,
  turnOf: HeldLease | undefined,
): Promise<HeldLease | undefined> {
  const { context, protocol, key, options, deadline } = acquisition;
  const { hold } = parent;
  // All leases may have been released while this one waited for the owner's other scripts.
  if (!hold.isLive || hold.leases.length === 0) {
    if (hold.lostError !== undefined) throw hold.lostError;
    return undefined;
  }
  const request = requestOf(acquisition, hold.leases.length + 1);
  const until = () => (deadline.remainingMs === 0 ? 0 : hold.validUntil);
  const ask = () => protocol.acquire(key, hold.owner, request);
  const { connection, clock } = context;
  const { value, sentAt } = await untilAnswered(connection, clock, until, ask, hold);
  if (value.kind !== 'granted') throw context.keeper.lose(hold, 'gone');
  if (hold.lostError !== undefined) throw hold.lostError;
  hold.confirm(sentAt, options.leaseTimeMs);
  if (hold.remainingMs === 0) throw context.keeper.lose(hold, 'expired');
  return leaseOf(acquisition, hold, value.fencingToken ?? parent.fencingToken, turnOf);
}

/** The caller has given up: should the join succeed all the same, it is undone. */
async function giveBackLate(
  { context, name, kind, label }: Acquisition,
  joining: Promise<HeldLease | undefined>,
): Promise<void> {
  const lease = await joining.catch(() => undefined);
  if (lease === undefined) return;
  tell(context.settings.observer, { type: 'late-grant', name, kind, label });
  await lease[Symbol.asyncDispose]();
}
