import type { Acquisition } from './acquisition.js';
import { LockBackendError, LockLimitError, LockNestingError, quoteName } from './api/errors.js';
import { tell } from './api/observer.js';
import type { ResolvedAcquireOptions } from './api/options.js';
import type { HeldLease } from './holding/held-lease.js';
import type { Hold } from './holding/hold.js';
import { leadOf } from './holding/owner-steps.js';
import type { HoldProtocol } from './holding/protocol.js';
import { surroundingLeases } from './holding/scope.js';
import type { LockContext } from './lock-context.js';
import { frameOf, presentCallSite } from './call-site.js';
import { ANSWER_MS } from './redis/connection.js';
import { untilAnswered } from './redis/retry.js';
import { Deadline, OVER } from './time/deadline.js';
import { noAnswerError, type Refusal } from './waiting/known.js';

type LeaseOf = (
  hold: Hold,
  options: ResolvedAcquireOptions,
  fencingToken: number | undefined,
  turnOf: HeldLease | undefined,
  startedAt: number,
  now: number,
  holdCount: number,
) => HeldLease;

/**
 * The options of a call that is in no hold of its lock, with its place.
 * @throws {LockNestingError} it is in one, of either side of a read-write lock
 */
export function refuseNested(
  context: LockContext,
  { nesting }: HoldProtocol,
  name: string,
  options: ResolvedAcquireOptions,
): ResolvedAcquireOptions {
  if (nesting === 'none') return options;
  const key = context.keys.key(name);
  const calledAt = presentCallSite(`Lock ${quoteName(name)} was acquired here`);
  for (const { hold } of surroundingLeases()) {
    if (hold.session !== context || hold.key !== key) continue;
    const { calledAt: cause, label } = hold.options;
    const acquiredAt = frameOf(cause, label);
    const details = { acquiredAt, calledAt: frameOf(calledAt, options.label), cause };
    throw new LockNestingError(name, details);
  }
  return { ...options, calledAt };
}

/**
 * Joins a hold that surrounds the call: the same owner, one more lease. Siblings take turns if the
 * lock has a single holder.
 */
export class Joiner {
  constructor(
    private readonly context: LockContext,
    private readonly protocol: HoldProtocol,
    private readonly leaseOf: LeaseOf,
  ) {}

  /** Undefined if the hold was released meanwhile: the call starts again. */
  async join(
    acquisition: Acquisition,
    parent: HeldLease,
  ): Promise<HeldLease | Refusal | undefined> {
    const { context, protocol } = this;
    const { name, options, startedAt } = acquisition;
    const { hold } = parent;
    const once = options.waitTimeMs === 0;
    const limitMs = once ? ANSWER_MS : options.waitTimeMs;
    const deadline = new Deadline(context.times, limitMs, options.signal, startedAt);
    context.holds.refuseDead(hold);
    if (protocol.nesting === 'together') return this.joinInTime(acquisition, deadline, parent);

    const { maxWaitersPerKey } = context.settings;
    if (!once && parent.waitingChildren >= maxWaitersPerKey) {
      throw new LockLimitError(name, 'maxWaitersPerKey', maxWaitersPerKey);
    }
    const busy = once && parent.hasChild;
    if (busy || (await context.countWaiting(parent.waitForTurn(deadline))) === OVER) {
      return { remainingMs: hold.remainingMs, blockedBy: 'sibling' };
    }
    if (deadline.remainingMs === 0) {
      // The turn came when the time was up. The sibling held it until then.
      parent.passTurn();
      return { remainingMs: hold.remainingMs, blockedBy: 'sibling' };
    }
    return this.joinInTime(acquisition, deadline, parent, parent);
  }

  /** @param turnOf the parent whose turn this call has, if turns are taken */
  private async joinInTime(
    acquisition: Acquisition,
    deadline: Deadline,
    parent: HeldLease,
    turnOf?: HeldLease,
  ): Promise<HeldLease | undefined> {
    const { hold } = parent;
    const joining = this.joinInTurn(acquisition, deadline, parent, turnOf);
    try {
      // A suspect parent is decided even if Redis never answers.
      const lease = await deadline.wait<HeldLease | undefined>((resolve, reject) => {
        joining.then(resolve, reject);
        return hold.whenLost(reject);
      });
      if (lease !== OVER) return lease;
    } catch (error) {
      void this.releaseLate(acquisition, joining);
      throw error;
    }
    void this.releaseLate(acquisition, joining);
    const { name } = acquisition;
    throw noAnswerError({ name, waitedMs: deadline.waitedMs }, 'unknown', hold.lastRefusal);
  }

  /**
   * Undefined if the parent was released while this call waited. The lease passes the turn on when
   * it is released. Without a lease, this method does.
   */
  private async joinInTurn(
    acquisition: Acquisition,
    deadline: Deadline,
    parent: HeldLease,
    turnOf: HeldLease | undefined,
  ): Promise<HeldLease | undefined> {
    const { hold } = parent;
    let lease: HeldLease | undefined;
    try {
      if (parent.isOpen) {
        lease = await hold.serially(() => this.acquire(acquisition, deadline, parent, turnOf));
      }
      return lease;
    } catch (error) {
      const mayHaveJoined = error instanceof LockBackendError && error.outcome === 'unknown';
      if (mayHaveJoined) void this.context.holds.reconcile(hold);
      throw error;
    } finally {
      if (lease === undefined) turnOf?.passTurn();
    }
  }

  private async acquire(
    acquisition: Acquisition,
    deadline: Deadline,
    parent: HeldLease,
    turnOf: HeldLease | undefined,
  ): Promise<HeldLease | undefined> {
    const { context, protocol, leaseOf } = this;
    const { options } = acquisition;
    const { hold } = parent;
    // All leases may have been released while this one waited for the owner's other scripts.
    if (!hold.isLive || hold.leases.length === 0) {
      if (hold.lostError !== undefined) throw hold.lostError;
      return undefined;
    }
    const holdCount = hold.leases.length + 1;
    const until = () => (deadline.remainingMs === 0 ? 0 : hold.validUntil);
    const ask = () => protocol.acquire(hold, options, holdCount);
    let fencingToken: number | undefined;
    do {
      const lead = leadOf(context.clock);
      const { value, sentAt } = await untilAnswered(context, until, ask, hold);
      if (value.kind !== 'granted') throw context.holds.lose(hold, 'gone');
      if (hold.lostError !== undefined) throw hold.lostError;
      hold.confirm(sentAt, options.leaseTimeMs, lead);
      context.holds.refuseDead(hold);
      fencingToken = value.fencingToken ?? parent.fencingToken;
      // The machine stood still before it read the answer: only a later one proves the lease.
    } while (hold.isSuspended());
    const { startedAt } = acquisition;
    const now = context.clock.now();
    // Other leases may have been released meanwhile: they do not make it the first.
    const count = Math.max(2, hold.leases.length + 1);
    return leaseOf(hold, options, fencingToken, turnOf, startedAt, now, count);
  }

  /** The caller has stopped waiting. If the join still succeeds, this undoes it. */
  private async releaseLate(
    { name, kind, label }: Acquisition,
    joining: Promise<HeldLease | undefined>,
  ): Promise<void> {
    const lease = await joining.catch(() => undefined);
    if (lease === undefined) return;
    tell(this.context.settings.observer, { type: 'late-grant', name, kind, label });
    await lease[Symbol.asyncDispose]();
  }
}
