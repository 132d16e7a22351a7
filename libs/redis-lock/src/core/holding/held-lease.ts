import { inspect } from 'node:util';

import { releasedError, type LeaseLostError } from '../api/errors.js';
import type { Lease, PermitLease } from '../api/lease.js';
import { checkLeaseTime } from '../api/options.js';
import { outOfScope } from '../time/clock.js';
import type { Deadline, OVER } from '../time/deadline.js';
import type { Hold, LeaseListener, LeaseTerms } from './hold.js';
import type { Holds } from './holds.js';

/** A lease, with the leases that work inside its scope may join. */
export interface ScopedLease extends Lease {
  readonly members: readonly HeldLease[];
  /** The work under the lease has ended without an error. */
  succeeded?(): void;
}

const DONE = Promise.resolve();

/** Renews and loses the holds of leases, and releases the leases. */
export interface LeaseKeeper {
  readonly holds: Holds;
  release(lease: HeldLease): Promise<void>;
}

/**
 * A lease is a node in the tree of its owner's leases. The children of one lease take turns. A turn
 * ends when the child and everything nested in it are released.
 */
export class HeldLease implements PermitLease, ScopedLease, LeaseListener {
  private abort: AbortController | undefined = undefined;
  /** Set as soon as the release begins. */
  private releasing: Promise<void> | undefined = undefined;
  /** Redis has answered the release. */
  isReleased = false;
  /** Final, also if only the release has found the loss. */
  private lostError: LeaseLostError | undefined = undefined;
  /** A child, or something nested in one, has the turn. */
  hasChild = false;
  private queue: Set<() => void> | undefined = undefined;
  /** The end of `minHoldMs`, if it counts only after success. Most leases have none. */
  declare keptUntil?: number;

  constructor(
    readonly hold: Hold,
    readonly holdCount: number,
    readonly fencingToken: number | undefined,
    readonly parent: HeldLease | undefined,
    readonly watchedUntil: number,
    readonly options: LeaseTerms,
    private readonly keeper: LeaseKeeper,
  ) {}

  get name(): string {
    return this.hold.name;
  }

  get owner(): string {
    return this.hold.owner;
  }

  get permitIds(): readonly string[] {
    return this.hold.owner.split(',');
  }

  get members(): readonly HeldLease[] {
    return [this];
  }

  /** Not released yet: a nested acquisition may still join it. */
  get isOpen(): boolean {
    return this.releasing === undefined;
  }

  get state(): Lease['state'] {
    if (this.lostError !== undefined) return 'lost';
    if (!this.isOpen) return 'released';
    const { hold } = this;
    if (hold.isLive && hold.isOver()) this.keeper.holds.lose(hold, 'expired');
    return hold.state;
  }

  get remainingMs(): number {
    return this.isOpen ? this.hold.remainingMs : 0;
  }

  get signal(): AbortSignal {
    if (this.abort === undefined) {
      this.abort = new AbortController();
      if (this.lostError !== undefined) this.abort.abort(this.lostError);
    }
    return this.abort.signal;
  }

  assertHeld(): void {
    if (this.lostError !== undefined) throw this.lostError;
    if (!this.isOpen) throw releasedError(this.name);
    const { hold } = this;
    if (hold.isOver()) throw this.keeper.holds.lose(hold, 'expired');
    if (hold.remainingMs === 0) throw hold.lossBy('expired');
    if (hold.isSuspended()) {
      this.keeper.holds.renewSoon(hold);
      throw hold.lossBy('suspended');
    }
  }

  async renew(leaseTimeMs?: number): Promise<void> {
    if (leaseTimeMs !== undefined) checkLeaseTime(leaseTimeMs);
    if (this.lostError !== undefined) throw this.lostError;
    if (!this.isOpen) throw releasedError(this.name);
    await this.keeper.holds.renew(
      this.hold,
      leaseTimeMs ?? Math.max(this.hold.leaseMs, this.hold.owedLeaseMs),
    );
  }

  succeeded(): void {
    if (this.keptUntil !== undefined) this.hold.keepUntil(this.keptUntil);
  }

  release(): Promise<void> {
    if (this.releasing !== undefined) return this.isReleased ? DONE : this.releasing;
    // A listener of its loss may release it again meanwhile.
    this.releasing = DONE;
    this.releasing = this.keeper.release(this);
    if (this.parent !== undefined) this.endTurn();
    return this.releasing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release().catch(() => undefined);
  }

  /** Logs show this. It contains neither the owner nor the connection and its password. */
  toJSON() {
    const { name, state, holdCount, fencingToken, remainingMs } = this;
    return { name, state, holdCount, fencingToken, remainingMs };
  }

  [inspect.custom]() {
    return this.toJSON();
  }

  onLost(error: LeaseLostError): void {
    this.lostError = error;
    const abort = this.abort;
    if (abort === undefined) return;
    outOfScope(() => {
      abort.abort(error);
    });
  }

  /**
   * Waits for the turn among the children of this lease. The lease may be released meanwhile.
   * Rejects as soon as it is lost.
   */
  waitForTurn(deadline: Deadline): Promise<true | typeof OVER> {
    return deadline.wait<true>((resolve, reject) => {
      const take = () => {
        this.queue?.delete(take);
        this.hasChild = true;
        resolve(true);
      };
      if (!this.hasChild) {
        take();
        return () => undefined;
      }
      this.queue ??= new Set();
      this.queue.add(take);
      const stopListening = this.hold.whenLost(reject);
      return () => {
        stopListening();
        this.queue?.delete(take);
      };
    });
  }

  /** The number of children that wait for their turn. */
  get waitingChildren(): number {
    return this.queue?.size ?? 0;
  }

  /** The child with the turn was released, or was not acquired. */
  passTurn(): void {
    this.hasChild = false;
    const [next] = this.queue ?? [];
    if (next === undefined) this.endTurn();
    else next();
  }

  private endTurn(): void {
    if (!this.isOpen && !this.hasChild) this.parent?.passTurn();
  }
}
