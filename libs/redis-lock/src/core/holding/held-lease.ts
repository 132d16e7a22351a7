import { inspect } from 'node:util';

import type { Deadline, OVER } from '../time/deadline.js';
import { LeaseLostError, LockStateError, quoteName } from '../api/errors.js';
import type { Hold } from './hold.js';
import type { Keeper } from './holds.js';
import { checkLeaseTime } from '../api/options.js';
import { outOfScope } from './scope.js';

/**
 * `held`; `suspect`: Redis could not be asked to renew, or the machine stood still; `lost`: final,
 * somebody else may have it; `released`: given back.
 */
export type LeaseState = 'held' | 'suspect' | 'lost' | 'released';

/** A lock that was granted, and the right to give it back. */
export interface Lease extends AsyncDisposable {
  readonly name: string;
  /** `<client uuid>:<number>`, as Redis shows it. Not a secret, but not for logs either. */
  readonly owner: string;
  /** How many leases the owner had when this one was granted: 1, or more in a nested call. */
  readonly holdCount: number;
  /** Rises with every fenced grant of this name; undefined unless `fenced` was asked for. */
  readonly fencingToken: number | undefined;
  readonly state: LeaseState;
  /** What is left of the lease by the local clock, counted from the send time; 0 once it is over. */
  readonly remainingMs: number;
  /**
   * Aborts with a `LeaseLostError` as soon as the loss is known. A stalled process learns of
   * nothing until it goes on: call `assertHeld()` before each write that counts.
   */
  readonly signal: AbortSignal;

  /**
   * Returns if the lock is held for sure. Synchronous, by the clocks, without asking Redis.
   * @throws {LeaseLostError} the lease is over, or the machine stood still and no renewal has
   * confirmed it since
   * @throws {LockStateError} it was released
   */
  assertHeld(): void;

  /**
   * Resolves once Redis has prolonged the lease: it then lasts at least `leaseTimeMs` from the
   * moment of the call. Never makes it shorter.
   * @param leaseTimeMs as long as the present lease, unless given
   * @throws {LeaseLostError} it is held no more
   * @throws {LockBackendError} Redis could not be asked
   */
  renew(leaseTimeMs?: number): Promise<void>;

  /**
   * Gives back exactly this lease; the lock is free once all leases of its owner are given back.
   * A second call does nothing.
   * @throws {LeaseLostError} it was not held any more
   * @throws {LockBackendError} Redis could not be asked; the release is tried on until the lease ends
   */
  release(): Promise<void>;

  /** As `release`, but never rejects, so that an error of the work is not buried. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Permits of a semaphore that were granted together. */
export interface PermitLease extends Lease {
  /** By which any client, a Java service included, can give them back; 32 hexadecimal digits each. */
  readonly permitIds: readonly string[];
}

/** A lease, and what work inside its scope may join. */
export interface ScopedLease extends Lease {
  readonly members: readonly HeldLease[];
}

const DONE = Promise.resolve();

/**
 * A lease is a node in the tree of its owner's leases: the children of one lease take turns, and a
 * turn ends when the child and everything nested in it are given back.
 */
export class HeldLease implements PermitLease, ScopedLease {
  #abort: AbortController | undefined;
  /** Set as soon as it is released. */
  #releasing: Promise<void> | undefined;
  /** Or it is known that it cannot be. */
  #isGivenBack = false;
  /** Final, also when only the release has found it out. */
  #lostError: LeaseLostError | undefined;
  #hasChild = false;
  #queue: Set<() => void> | undefined;

  constructor(
    readonly hold: Hold,
    readonly holdCount: number,
    readonly fencingToken: number | undefined,
    readonly parent: HeldLease | undefined,
    /** Until then the watchdog renews it; `-Infinity` if it never does. */
    readonly watchedUntil: number,
    private readonly keeper: Keeper,
    /** How many replicas must have it, and its renewals. */
    readonly minReplicas = 0,
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
    return this.#releasing === undefined;
  }

  get state(): LeaseState {
    if (this.#lostError !== undefined) return 'lost';
    if (!this.isOpen) return 'released';
    const { hold } = this;
    if (hold.isLive && hold.remainingMs === 0) this.keeper.lose(hold, 'expired');
    return hold.state;
  }

  get remainingMs(): number {
    return this.isOpen ? this.hold.remainingMs : 0;
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.#lostError !== undefined) this.#abort.abort(this.#lostError);
    }
    return this.#abort.signal;
  }

  assertHeld(): void {
    if (this.#lostError !== undefined) throw this.#lostError;
    if (!this.isOpen) throw this.#releasedError();
    const { hold } = this;
    if (hold.remainingMs === 0) throw this.keeper.lose(hold, 'expired');
    if (hold.isSuspended()) {
      this.keeper.renewSoon(hold);
      throw new LeaseLostError(this.name, 'suspended');
    }
  }

  async renew(leaseTimeMs?: number): Promise<void> {
    if (leaseTimeMs !== undefined) checkLeaseTime(leaseTimeMs);
    if (this.#lostError !== undefined) throw this.#lostError;
    if (!this.isOpen) throw this.#releasedError();
    await this.keeper.renew(
      this.hold,
      leaseTimeMs ?? Math.max(this.hold.leaseTimeMs, this.hold.owedLeaseMs),
    );
  }

  release(): Promise<void> {
    if (this.#releasing !== undefined) return this.#isGivenBack ? DONE : this.#releasing;
    // Whoever hears meanwhile that it is lost may release it again.
    this.#releasing = DONE;
    this.#releasing = this.keeper.giveBack(this);
    this.#endTurn();
    return this.#releasing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release().catch(() => undefined);
  }

  /** What logs show of it: neither the owner, nor the connection and its password. */
  toJSON() {
    const { name, state, holdCount, fencingToken, remainingMs } = this;
    return { name, state, holdCount, fencingToken, remainingMs };
  }

  [inspect.custom]() {
    return this.toJSON();
  }

  onGivenBack(): void {
    this.#isGivenBack = true;
  }

  onLost(error: LeaseLostError): void {
    this.#lostError = error;
    const abort = this.#abort;
    if (abort === undefined) return;
    outOfScope(() => {
      abort.abort(error);
    });
  }

  /**
   * Waits for the turn among the children of this lease. The lease may be released meanwhile;
   * rejects as soon as it is lost.
   */
  waitForTurn(deadline: Deadline): Promise<true | typeof OVER> {
    return deadline.wait<true>((resolve, reject) => {
      const take = () => {
        this.#queue?.delete(take);
        this.#hasChild = true;
        resolve(true);
      };
      if (!this.#hasChild) {
        take();
        return () => undefined;
      }
      this.#queue ??= new Set();
      this.#queue.add(take);
      const stopListening = this.hold.whenLost(reject);
      return () => {
        stopListening();
        this.#queue?.delete(take);
      };
    });
  }

  /** How many wait for their turn. */
  get waitingChildren(): number {
    return this.#queue?.size ?? 0;
  }

  /** Whether a child, or something nested in one, has the turn. */
  get hasChild(): boolean {
    return this.#hasChild;
  }

  /** The child that had the turn is done, or never came to be. */
  passTurn(): void {
    this.#hasChild = false;
    const [next] = this.#queue ?? [];
    if (next === undefined) this.#endTurn();
    else next();
  }

  #endTurn(): void {
    if (!this.isOpen && !this.#hasChild) this.parent?.passTurn();
  }

  #releasedError(): LockStateError {
    return new LockStateError(`Lock ${quoteName(this.name)} was already released by this lease`, {
      lockName: this.name,
    });
  }
}
