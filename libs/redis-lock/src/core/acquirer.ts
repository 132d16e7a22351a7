import { LockArgumentError, withLockName } from './api/errors.js';
import { hearsCalls, tell } from './api/observer.js';
import type { AnyAcquireOptions, ResolvedAcquireOptions } from './api/options.js';
import { resolveAcquireOptions } from './api/resolve-options.js';
import { HeldLease } from './holding/held-lease.js';
import { Hold } from './holding/hold.js';
import { leadOf } from './holding/owner-steps.js';
import type { HoldProtocol } from './holding/protocol.js';
import { checkWork, runLocked, surroundingLease } from './holding/scope.js';
import { Joiner, refuseNested } from './join.js';
import { timeoutError, waitedMs, type Acquisition } from './acquisition.js';
import type { LockContext } from './lock-context.js';
import { Releases } from './release.js';
import { shapesOf } from './kept-shapes.js';
import { isAbort, refuseAborted } from './time/abort.js';
import { isTraced, traced } from './trace.js';
import { isNoAnswer, shortLeaseError, type Refusal } from './waiting/known.js';
import { GRANTED, Waiter } from './waiting/waiter.js';
import type { WaitQueues } from './waiting/wait-queues.js';

/** After this number of grants whose lease was over before the answer came, the call gives up. */
const MOST_LATE = 3;

/** The three verbs that acquire leases, for everything of one kind on one connection. */
export class Acquirer {
  private readonly queues: WaitQueues;
  private readonly releases: Releases;
  private readonly joiner: Joiner;
  /** The options of calls without options: for waiting, and for one attempt. */
  private readonly defaults: ResolvedAcquireOptions;
  private readonly onceDefaults: ResolvedAcquireOptions;

  /** Nothing reads them: `kept-shapes.ts` says why they stay. */
  private readonly kept: readonly object[];

  constructor(
    private readonly context: LockContext,
    private readonly protocol: HoldProtocol,
  ) {
    const { settings } = context;
    this.queues = context.queues(protocol.kind, protocol.isShared);
    this.releases = new Releases(context, context.holds, this.queues);
    this.joiner = new Joiner(context, protocol, this.leaseOf);
    this.defaults = Object.freeze(resolveAcquireOptions(undefined, settings, settings.waitTimeMs));
    this.onceDefaults = Object.freeze(resolveAcquireOptions(undefined, settings, 0));
    this.kept = shapesOf(this.releases, protocol, this.defaults);
  }

  acquire(name: string, given: AnyAcquireOptions | undefined): Promise<HeldLease> {
    return this.take(name, given, this.defaults, refuse);
  }

  tryAcquire(name: string, given: AnyAcquireOptions | undefined): Promise<HeldLease | null> {
    return this.take(name, given, this.onceDefaults, () => null);
  }

  async using<T>(
    name: string,
    work: (lease: HeldLease) => T,
    options: AnyAcquireOptions | undefined,
  ): Promise<Awaited<T>> {
    checkWork(work);
    return runLocked(await this.take(name, options, this.defaults, refuse, true), work);
  }

  private take<R>(
    name: string,
    given: AnyAcquireOptions | undefined,
    defaults: ResolvedAcquireOptions,
    refused: (acquisition: Acquisition, refusal: Refusal) => R,
    seesWork = false,
  ): Promise<HeldLease | R> {
    const { context, protocol } = this;
    let acquisition: Acquisition;
    try {
      let options =
        given === undefined
          ? defaults
          : resolveAcquireOptions(given, context.settings, defaults.waitTimeMs, protocol.options);
      if (!seesWork && options.holdAfter === 'success') throw new LockArgumentError(SEES_NO_WORK);
      const key = context.keys.key(name);
      if (options.signal !== undefined) refuseAborted(options.signal);
      if (options.nesting === 'refuse') options = refuseNested(context, protocol, name, options);
      const { kind } = protocol;
      const startedAt = context.clock.now();
      acquisition = { session: context, name, kind, label: options.label, key, options, startedAt };
    } catch (error) {
      const reason = error as Error;
      return Promise.reject(reason);
    }
    if (!isTraced()) return this.settle(acquisition, refused);
    const take = () => this.settle(acquisition, refused);
    return traced(acquisition, take, (taken) => !(taken instanceof HeldLease));
  }

  private async settle<R>(
    acquisition: Acquisition,
    refused: (acquisition: Acquisition, refusal: Refusal) => R,
  ): Promise<HeldLease | R> {
    const { protocol, queues } = this;
    const { session, name, key, options, startedAt } = acquisition;
    const { signal, waitTimeMs } = options;
    const mayJoin = protocol.nesting !== 'none' && options.nesting === 'join';
    let taken: HeldLease | Refusal | undefined;
    let lateGrants = 0;
    let tooShort: LockArgumentError | undefined;
    try {
      while (taken === undefined) {
        // While the call waited, the hold that it would join may have been released.
        const parent = mayJoin ? surroundingLease(protocol, key) : undefined;
        if (parent !== undefined) {
          taken = await this.joiner.join(acquisition, parent);
          continue;
        }
        const hold = this.holdFor(acquisition);
        const waiter = new Waiter(session, hold, hold, waitTimeMs, signal, startedAt);
        // An enclosing hold admits the call, however many callers wait.
        const isLetIn = lateGrants > 0 || hold.companion !== undefined;
        const outcome = await waiter.waitIn(queues, lateGrants > 0, isLetIn);
        taken = outcome === GRANTED ? this.granted(waiter, hold) : outcome;
        if (taken === undefined) tooShort = this.lateError(waiter, hold, ++lateGrants);
      }
    } catch (error) {
      if (tooShort !== undefined && isNoAnswer(error)) throw tooShort;
      throw isAbort(signal, error) ? error : withLockName(error, name);
    }
    if (!(taken instanceof HeldLease)) {
      this.tellRefused(acquisition);
      return refused(acquisition, taken);
    }
    if (signal?.aborted === true) {
      // The signal aborted between the answer and here.
      await taken[Symbol.asyncDispose]();
      refuseAborted(signal);
    }
    if (options.minHoldMs > 0) this.keep(taken, options);
    return taken;
  }

  private keep(taken: HeldLease, { minHoldMs, holdAfter }: ResolvedAcquireOptions): void {
    const until = Math.floor(this.context.clock.now()) + minHoldMs;
    if (holdAfter === 'success') taken.keptUntil = until;
    else taken.hold.keepUntil(until);
  }

  private tellRefused(acquisition: Acquisition): void {
    const { name, kind, label, options } = acquisition;
    if (options.waitTimeMs === 0) return;
    const event = { type: 'timed-out', name, kind, label } as const;
    tell(this.context.settings.observer, { ...event, waitedMs: waitedMs(acquisition) });
  }

  /** The hold of a new owner, which requests the lock. */
  private holdFor({ name, key, options }: Acquisition): Hold {
    const { context, protocol } = this;
    const owner = protocol.newOwner?.(options) ?? context.newOwner();
    const hold = new Hold(context, protocol, key, owner, options);
    const companion = options.nesting === 'wait' ? undefined : protocol.companion?.(key, name);
    if (companion !== undefined) hold.companion = companion;
    return hold;
  }

  /** Undefined if the lease may be over: the answer took longer, or the machine stood still. */
  private granted(waiter: Waiter, hold: Hold): HeldLease | undefined {
    const { context, protocol, queues } = this;
    const { grantMs, use, sentAt, fencingToken } = waiter;
    const now = context.clock.now();
    hold.confirm(sentAt, grantMs > 0 ? grantMs : hold.leaseTimeMs);
    if (grantMs > 0) hold.owedLeaseMs = hold.leaseTimeMs;
    if (now >= hold.validUntil || hold.isSuspended(leadOf(context.clock, now))) {
      // The queue has counted the use of the key for this owner.
      use?.endLate(hold.owner);
      void waiter.cancel();
      return undefined;
    }
    hold.grantedAt = Math.floor(now);
    hold.batchCount = waiter.batchCount;
    hold.batchSince = waiter.batchSince > 0 ? waiter.batchSince : Math.floor(sentAt);
    if (protocol.grantChannel !== undefined) hold.listener = queues;
    use?.heldBy(hold, context.holds);
    return this.leaseOf(hold, hold.options, fencingToken, undefined, waiter.startedAt, now, 1);
  }

  /**
   * Undefined if the lease was not over, as after a suspension.
   * @throws {LockArgumentError} the call has received too many grants whose leases were over
   */
  private lateError(
    { sentAt, grantMs }: Waiter,
    hold: Hold,
    lateGrants: number,
  ): LockArgumentError | undefined {
    const now = this.context.clock.now();
    if (now < hold.validUntil || grantMs > 0) return undefined;
    const error = shortLeaseError(hold, now - sentAt);
    if (lateGrants >= MOST_LATE) throw error;
    return error;
  }

  /** Turns a grant into a lease, and watches it from now on. */
  private readonly leaseOf = (
    hold: Hold,
    options: ResolvedAcquireOptions,
    fencingToken: number | undefined,
    parent: HeldLease | undefined,
    startedAt: number,
    now: number,
    holdCount: number,
  ): HeldLease => {
    const { holds, settings } = this.context;
    const watchedUntil = options.watchdogLeaseMs > 0 ? now + options.maxHoldMs : -Infinity;
    const lease = new HeldLease(
      hold,
      holdCount,
      fencingToken,
      parent,
      watchedUntil,
      options,
      this.releases,
    );
    hold.add(lease);
    holds.watch(hold, now);
    const { observer } = settings;
    if (hearsCalls(observer)) {
      const { name, kind } = hold;
      const waitedMs = now - startedAt;
      tell(observer, { type: 'acquired', name, kind, label: options.label, waitedMs, holdCount });
    }
    return lease;
  };
}

const SEES_NO_WORK =
  "holdAfter: 'success' needs using or a decorator: acquire and tryAcquire do not see how the work ends";

function refuse(acquisition: Acquisition, refusal: Refusal): never {
  throw timeoutError(acquisition, refusal);
}
