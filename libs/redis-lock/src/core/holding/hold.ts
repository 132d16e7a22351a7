import { AsyncResource } from 'node:async_hooks';

import type { Appointment } from '../time/timer-heap.js';
import { queueMicrotask, systemClock, type Clock } from '../time/clock.js';
import { LeaseLostError, type LeaseLostReason, type LockBackendError } from '../api/errors.js';
import type {
  Claim,
  AcquireAnswer,
  AcquireRequest,
  Successor,
  HoldProtocol,
  ReleaseAnswer,
  OwnerId,
} from './protocol.js';
import type { KeyUse } from '../waiting/keys-in-use.js';
import type { HeldLease, LeaseState } from './held-lease.js';
import type { LockedKind } from '../api/observer.js';
import type { Reply } from '../redis/connection.js';
import type { Asker } from '../redis/retry.js';

/** Those in this process who wait for what somebody holds. */
export interface Successors {
  /** The holder leaves: who is next, and is told what became of it. */
  next(hold: Hold): Succession | undefined;
  /** It was left to outsiders, before whom everybody here stands back for a moment. */
  opened(hold: Hold): void;
  /** The holder has it no more, for whatever reason. */
  ended(hold: Hold): void;
}

export interface Succession {
  readonly heir: Successor;
  /** The script that names the heir is on its way. */
  sent(running: Promise<unknown>): void;
  settle(reply: Reply<ReleaseAnswer>): void;
  /** What became of it is not known, or it was refused. */
  fail(): void;
}

/** Not in a lead: small whole numbers take no memory of their own, and each hold has two. */
const FIRST_LEAD = systemClock.wall() - systemClock.now();

/** By how much the wall clock is ahead of the monotonic one, which stands still in a suspension. */
export function leadOf(clock: Clock): number {
  return Math.round(clock.wall() - clock.now() - FIRST_LEAD);
}

/** What became of the last lease; without a reply it ends by itself. */
export function outcomeOf(reply: Reply<ReleaseAnswer> | undefined): 'done' | 'unknown' | 'failed' {
  if (reply === undefined) return 'failed';
  return reply.value === 'absent' ? 'unknown' : 'done';
}

/** How much shorter than the server's lease ours is: clocks may differ by 1 %, and tick in steps. */
function driftOf(leaseTimeMs: number): number {
  return leaseTimeMs * 0.01 + 2;
}

/** How far the wall clock must run ahead of the monotonic one before a suspension is assumed. */
function suspensionOf(leaseTimeMs: number): number {
  return Math.min(1_000, Math.max(50, leaseTimeMs / 10));
}

/**
 * One owner's hold on one lock: all its leases, how long Redis has promised them, and what is known
 * about that promise.
 */
export class Hold implements Appointment, Asker {
  agendaIndex = -1;
  /** When the watchdog renews next, if it renews at all. */
  renewAt = 0;
  /** Set while a renewal is on its way or waits for its turn. */
  renewing = false;
  /** The lease that it was promised, if what it was handed is worth less so far. */
  owedLeaseMs = 0;
  /** How often the lock was handed on within this process, up to this hold; and since when (ms). */
  passes = 0;
  turnSince = 0;
  /** When it was first granted, in whole ms by the local clock. */
  grantedAt = 0;
  /** Those who are next, if it can hand the lock on. */
  successors: Successors | undefined;
  /** A message of its grant may come, however late. */
  mayBeTold = false;
  /** That of the key, as long as it is held. */
  use: KeyUse | undefined;
  /** Why the last try of the present step has failed. */
  refusal: LockBackendError | undefined;
  /** Why the state is `suspect`, or was when the lease ran out. */
  doubt: unknown;

  #leases: HeldLease[] = [];
  #lossListeners: Set<(error: LeaseLostError) => void> | undefined;
  readonly #clock: Clock;
  #state: LeaseState = 'held';
  #lostError: LeaseLostError | undefined;
  /** The lead of the wall clock when the last step was sent, and when the one that was confirmed. */
  #askedLead: number;
  #confirmedLead: number;
  #validUntil = 0;
  #leaseTimeMs = 0;
  /** In whole ms by the local clock; 0 if it need not stay taken. */
  #keptUntil = 0;
  /** How many scripts of this owner are on their way, and what waits until there are none. */
  #steps = 0;
  #inTurn: (() => void)[] | undefined;

  constructor(
    readonly protocol: HoldProtocol,
    readonly name: string,
    readonly key: string,
    readonly owner: OwnerId,
    clock: Clock,
    readonly label?: string,
  ) {
    this.#clock = clock;
    this.#askedLead = leadOf(clock);
    this.#confirmedLead = this.#askedLead;
  }

  get kind(): LockedKind {
    return this.protocol.kind;
  }

  /** Those not yet released. Redis is told absolute counts, so it follows whatever it missed. */
  get leases(): readonly HeldLease[] {
    return this.#leases;
  }

  /** How many replicas must have a renewal for it to count. */
  get minReplicas(): number {
    let most = 0;
    for (const { minReplicas } of this.#leases) most = Math.max(most, minReplicas);
    return most;
  }

  add(lease: HeldLease): void {
    // There is one, nearly always: an array that grows takes room for 16 more.
    this.#leases = this.#leases.length === 0 ? [lease] : [...this.#leases, lease];
  }

  drop(lease: HeldLease): void {
    this.#leases = this.#leases.filter((other) => other !== lease);
  }

  dropAll(): void {
    this.#leases = [];
  }

  get state(): LeaseState {
    if (this.#state === 'held' && this.isSuspended()) return 'suspect';
    return this.#state;
  }

  get lostError(): LeaseLostError | undefined {
    return this.#lostError;
  }

  get isLive(): boolean {
    return this.#state === 'held' || this.#state === 'suspect';
  }

  /** The monotonic time up to which Redis has certainly not given the lock to anybody else. */
  get validUntil(): number {
    return this.#validUntil;
  }

  get leaseTimeMs(): number {
    return this.#leaseTimeMs;
  }

  get heldMs(): number {
    return this.#clock.now() - this.grantedAt;
  }

  /** For how long it has to stay taken yet, if it is left now; not above 0 if it need not. */
  get keepMs(): number {
    return this.#keptUntil === 0 ? 0 : Math.ceil(this.#keptUntil - this.#clock.now());
  }

  /** It stays taken for so long from now on, also when it is left before. */
  keepFor(ms: number): void {
    if (ms > 0) this.#keptUntil = Math.max(this.#keptUntil, Math.floor(this.#clock.now()) + ms);
  }

  get remainingMs(): number {
    return this.isLive ? Math.max(0, this.#validUntil - this.#clock.now()) : 0;
  }

  /** Whether the wall clock went on while the monotonic one stood still. */
  isSuspended(): boolean {
    return leadOf(this.#clock) - this.#confirmedLead > suspensionOf(this.#leaseTimeMs);
  }

  /** Redis has confirmed the owner with a request sent at this time. Never shortens the promise. */
  confirm(sentAt: number, leaseTimeMs: number): void {
    const validUntil = sentAt + leaseTimeMs - driftOf(leaseTimeMs);
    if (validUntil >= this.#validUntil) {
      this.#validUntil = validUntil;
      this.#leaseTimeMs = leaseTimeMs;
    }
    if (leaseTimeMs >= this.owedLeaseMs) this.owedLeaseMs = 0;
    // Not that of the answer: the machine may have stood still while it was on its way.
    this.#confirmedLead = this.#askedLead;
    this.doubt = undefined;
    if (this.#state === 'suspect') this.#state = 'held';
  }

  suspect(doubt: unknown): boolean {
    this.doubt = doubt;
    if (this.#state !== 'held') return false;
    this.#state = 'suspect';
    return true;
  }

  /** Final. Every lease learns of it. */
  lose(reason: LeaseLostReason): LeaseLostError {
    if (this.#lostError !== undefined) return this.#lostError;
    const cause = this.doubt === undefined ? {} : { cause: this.doubt };
    this.#lostError = new LeaseLostError(this.name, reason, cause);
    if (this.#state !== 'released') this.#over('lost');
    for (const lease of this.#leases) lease.onLost(this.#lostError);
    for (const listener of this.#lossListeners ?? []) listener(this.#lostError);
    return this.#lostError;
  }

  /** Calls back once the hold is lost; the returned function ends it. */
  whenLost(listener: (error: LeaseLostError) => void): () => void {
    const listeners = (this.#lossListeners ??= new Set());
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }

  end(): void {
    if (this.isLive) this.#over('released');
  }

  enter(request: AcquireRequest, claim?: Claim): Promise<Reply<AcquireAnswer>> {
    const { protocol, key, owner } = this;
    return this.serially(() =>
      claim !== undefined && protocol.acquireOrQueue !== undefined
        ? protocol.acquireOrQueue(key, owner, request, claim)
        : protocol.acquire(key, owner, request),
    );
  }

  /** Whether a script of this owner is on its way, or its turn has just come. */
  get isBusy(): boolean {
    return this.#steps > 0 || this.#inTurn !== undefined;
  }

  /**
   * Runs the step once no other script of this owner is on its way: absolute counts are only right
   * in the order in which they were meant. No step goes before those whose turn has just come: behind
   * the withdrawal of its caller, an attempt would take the lock for nobody. A step that waits for
   * another one of its own would wait for ever. It runs in the scope of its caller, whenever.
   */
  serially<T>(step: () => Promise<T>): Promise<T> {
    if (!this.isBusy) return this.#begin(step);
    const scope = new AsyncResource('LockStep');
    return new Promise((resolve) => {
      (this.#inTurn ??= []).push(() => {
        // A step that throws rejects.
        resolve(
          new Promise<T>((begin) => {
            begin(scope.runInAsyncScope(() => this.#begin(step)));
          }),
        );
      });
    });
  }

  /** Makes every later step wait for this one, which was sent just now. */
  occupy(running: Promise<unknown>): void {
    this.beginStep(leadOf(this.#clock));
    const end = () => {
      this.endStep();
    };
    running.then(end, end);
  }

  /** As `occupy`, for many holds by one step. */
  beginStep(lead: number): void {
    this.#askedLead = lead;
    this.#steps += 1;
  }

  endStep(): void {
    this.#steps -= 1;
    // First whoever has sent the step hears of its answer.
    if (this.#inTurn === undefined || this.#steps > 0) return;
    queueMicrotask(() => {
      this.#goOn();
    });
  }

  #begin<T>(step: () => Promise<T>): Promise<T> {
    const running = step();
    this.occupy(running);
    return running;
  }

  #goOn(): void {
    // One that fails at once sends nothing.
    while (this.#steps === 0) {
      const next = this.#inTurn?.shift();
      if (next === undefined) break;
      next();
    }
    if (this.#inTurn?.length === 0) this.#inTurn = undefined;
  }

  #over(state: 'lost' | 'released'): void {
    this.#state = state;
    this.use?.end();
  }
}
