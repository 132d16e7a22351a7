import { LeaseLostError, type LockBackendError } from '../api/errors.js';
import type { Lease } from '../api/lease.js';
import type { LockKind } from '../api/observer.js';
import type { ResolvedAcquireOptions } from '../api/options.js';
import type { Reply } from '../redis/connection.js';
import { nodesChannel } from '../redis/key-names.js';
import type { Tries } from '../redis/retry.js';
import type { Session } from '../session.js';
import type { Group, Timed } from '../time/timer-heap.js';
import type { Asker, Channels } from './asker.js';
import { dateOf, leadOf, OwnerSteps } from './owner-steps.js';
import type { AcquireAnswer, Claim, HoldProtocol, Owned, OwnerId, Renewal } from './protocol.js';

/** The options of a lease that its renewals follow. */
export type LeaseTerms = Pick<ResolvedAcquireOptions, 'minReplicas' | 'watchdogLeaseMs'>;

/** A lease, as its hold sees it. */
export interface LeaseListener {
  /** Until then the watchdog renews it; `-Infinity` without renewal. */
  readonly watchedUntil: number;
  readonly options: LeaseTerms;
  onLost(error: LeaseLostError): void;
}

/** Called when a hold was released or lost. */
export interface HoldListener {
  ended(hold: Hold): void;
}

/** Called when a hold is due. */
export interface HoldGuard {
  look(hold: Hold): void;
}

/** The key of a hold, counted among the keys in use until the hold is over. */
export interface CountedKey {
  readonly isOnly: boolean;
  leftBy(hold: Hold): boolean;
  end(isReader?: boolean): void;
}

/** A failed renewal, as the error of a loss shows it. */
interface FailedRenewal {
  readonly renewalFailedAt: Date;
  readonly renewalFailedWith: string;
  readonly cause: unknown;
}

const NO_LEASES: readonly LeaseListener[] = [];

/**
 * One owner's hold on one lock: its leases, the time that Redis has promised, and doubts about it.
 * Before the grant it sends the attempts.
 */
export class Hold extends OwnerSteps implements Asker, Owned, Renewal, Timed, Tries {
  heapIndex = -1;
  group: Group | undefined = undefined;
  /** The watchdog, while it is held. */
  guard: HoldGuard | undefined = undefined;
  /** When the watchdog renews next, if it renews. */
  renewAt = 0;
  /** The lease time of the renewal that is on its way. */
  renewMs = 0;
  /** A renewal is on its way, or waits for its lane. */
  renewing = false;
  /** The lease time of the caller, while Redis has granted a shorter one; otherwise 0. */
  owedLeaseMs = 0;
  /**
   * The number of grants in a row within this process, up to this hold. The time (ms) of the first.
   */
  batchCount = 0;
  batchSince = 0;
  /** When it was first granted, in whole ms by the local clock. */
  grantedAt = 0;
  listener: HoldListener | undefined = undefined;
  /** A message of its grant may still come. */
  mayBeTold = false;
  countedKey: CountedKey | undefined = undefined;
  /** Why the last attempt of the present step failed. */
  refusal: LockBackendError | undefined = undefined;
  /** The last renewal, if it failed. */
  failed: FailedRenewal | undefined = undefined;
  /** Until then the watchdog renews it: the latest of its leases. A field, since it reads all holds. */
  watchedUntil = -Infinity;
  /** How many replicas must confirm a renewal for it to count. */
  minReplicas = 0;
  /** The lease that the watchdog renews: the longest of its leases; 0 if all are fixed. */
  watchdogLeaseMs = 0;
  /** The leases that are not released. Scripts name their number: a lost script does no harm. */
  leases: readonly LeaseListener[] = NO_LEASES;
  lostError: LeaseLostError | undefined = undefined;
  /** Until then, by the monotonic clock, Redis has certainly granted the lock to no other owner. */
  validUntil = 0;
  leaseMs = 0;

  /** The owner of an enclosing hold of another kind that admits this one. Most holds have none. */
  declare companion?: OwnerId;
  private lossListeners: Set<(error: LeaseLostError) => void> | undefined = undefined;
  private known: Lease['state'] = 'held';
  /** When the last step that Redis confirmed was sent, in whole ms by the monotonic clock. */
  private confirmedAt = 0;
  /** The lead of the wall clock when the step was sent that `validUntil` comes from. */
  private confirmedLead = 0;
  /** The end of `minHoldMs`, in whole ms by the local clock; 0 without one. */
  private keptUntil = 0;

  constructor(
    session: Session,
    readonly protocol: HoldProtocol,
    readonly key: string,
    readonly owner: OwnerId,
    readonly options: ResolvedAcquireOptions,
  ) {
    super(session);
  }

  get name(): string {
    return this.session.keys.nameOf(this.key);
  }

  get kind(): LockKind {
    return this.protocol.kind;
  }

  get label(): string | undefined {
    return this.options.label;
  }

  // Before the grant.

  get queueId(): string {
    return this.protocol.waiting === 'in turn' ? this.key : this.owner;
  }

  get isLed(): boolean {
    return this.protocol.waiting === 'each';
  }

  get isHandedOver(): boolean {
    return this.protocol.grantChannel !== undefined;
  }

  get leaseTimeMs(): number {
    return this.options.leaseTimeMs;
  }

  get capacity(): number | undefined {
    return this.options.capacity;
  }

  get mode(): 'start' | 'enter' {
    return this.options.fenced || this.options.minReplicas > 0 ? 'enter' : 'start';
  }

  get leavesTrace(): boolean {
    return this.protocol.remembersWaiters;
  }

  /** Why Redis has not executed the present step, or the renewal for which it waits. */
  get lastRefusal(): LockBackendError | undefined {
    return this.refusal ?? this.callersRenewals?.refusal;
  }

  channels(): Channels {
    const { protocol, key, owner } = this;
    const wakeUp = protocol.wakeUpChannel(key, owner);
    const grants = protocol.grantChannel?.(key, owner);
    const nodes = protocol.countsOutsiders === true ? nodesChannel(wakeUp) : undefined;
    return { wakeUp, grants, nodes: grants === wakeUp ? undefined : nodes };
  }

  /** `answered` has to follow its answer. */
  ask(claim?: Claim): Promise<Reply<AcquireAnswer>> {
    if (claim !== undefined) this.mayBeTold = true;
    return this.isBusy ? this.whenFree(() => this.sendAsk(claim)) : this.sendAsk(claim);
  }

  /** A script of another owner, which is on its way now, may make this owner the next. */
  named(): void {
    this.mayBeTold = true;
    this.begin();
  }

  cancel(): Promise<void> {
    const { session, protocol, options } = this;
    const endsAt = session.clock.now() + options.leaseTimeMs;
    const cancel = () => session.background.untilDone(endsAt, () => protocol.cancel(this, options));
    return session.background.run(() => this.serially(cancel), this, true);
  }

  cancelStray(owner: OwnerId): Promise<void> {
    const { session, protocol, key, options } = this;
    const cancel = () => protocol.cancel({ key, owner }, options);
    return session.background.insist(this, session.settings.claimTimeMs, cancel);
  }

  cancelStrays(owners: readonly OwnerId[]): Promise<void> {
    const { session, protocol, key } = this;
    if (protocol.cancelStrays === undefined) return Promise.resolve();
    const cancel = protocol.cancelStrays.bind(protocol, key, owners);
    return session.background.insist(this, session.settings.claimTimeMs, cancel);
  }

  private sendAsk(claim: Claim | undefined): Promise<Reply<AcquireAnswer>> {
    this.begin();
    return this.protocol.acquire(this, this.options, 1, claim);
  }

  // While it is held.

  /** The watchdog renews it. */
  isWatched(now: number): boolean {
    return now < this.watchedUntil || this.owedLeaseMs > 0;
  }

  add(lease: LeaseListener): void {
    // Nearly always there is one. An array that grows takes room for 16 more.
    this.leases = this.leases.length === 0 ? [lease] : [...this.leases, lease];
    this.widen(lease);
  }

  drop(lease: LeaseListener): void {
    const isLast = this.leases.length === 1 && this.leases[0] === lease;
    this.leases = isLast ? NO_LEASES : this.leases.filter((other) => other !== lease);
    this.watchedUntil = -Infinity;
    this.minReplicas = 0;
    this.watchdogLeaseMs = 0;
    for (const other of this.leases) this.widen(other);
  }

  private widen({ watchedUntil, options }: LeaseListener): void {
    this.watchedUntil = Math.max(this.watchedUntil, watchedUntil);
    this.minReplicas = Math.max(this.minReplicas, options.minReplicas);
    this.watchdogLeaseMs = Math.max(this.watchdogLeaseMs, options.watchdogLeaseMs);
  }

  get state(): Lease['state'] {
    if (this.known === 'held' && (this.remainingMs === 0 || this.isSuspended())) return 'suspect';
    return this.known;
  }

  get isLive(): boolean {
    return this.known === 'held' || this.known === 'suspect';
  }

  get heldMs(): number {
    return this.session.clock.now() - this.grantedAt;
  }

  /** The rest of `minHoldMs`; 0 or less when it is over. */
  get keepMs(): number {
    return this.keptUntil === 0 ? 0 : Math.ceil(this.keptUntil - this.session.clock.now());
  }

  /** After an earlier release the lock stays held until then: the end of `minHoldMs`. */
  keepUntil(time: number): void {
    this.keptUntil = Math.max(this.keptUntil, time);
  }

  get remainingMs(): number {
    return this.isLive ? Math.max(0, this.validUntil - this.session.clock.now()) : 0;
  }

  /**
   * Its lease is over, by the local clock. After a hand-over, the answer to the first renewal may
   * be here, and not read yet. Then the watchdog decides.
   */
  isOver(now = this.session.clock.now()): boolean {
    return now >= this.validUntil && !(this.renewing && this.owedLeaseMs > 0);
  }

  /** The wall clock ran while the monotonic one stood still: a tenth of the lease, 50 ms to 1 s. */
  isSuspended(lead = leadOf(this.session.clock)): boolean {
    return lead - this.confirmedLead > Math.min(1_000, Math.max(50, this.leaseMs / 10));
  }

  onDue(): void {
    this.guard?.look(this);
  }

  /**
   * Redis has confirmed the owner for a request sent at this time. A longer promise stays.
   * @param lead the lead of the wall clock at the sending
   * @returns whether it was suspect
   */
  confirm(sentAt: number, leaseTimeMs: number, lead = this.askedLead): boolean {
    // Shorter than the server's lease: clocks may differ by 1 %, and tick in steps.
    // Rounded down, which only shortens the promise: V8 keeps whole numbers in the object itself.
    const validUntil = Math.floor(sentAt + leaseTimeMs * 0.99 - 2);
    if (this.isSuspended(lead)) {
      // The lease in Redis ran on while the monotonic clock stood still.
      this.validUntil -= lead - this.confirmedLead;
      this.confirmedLead = lead;
      this.renewAt = 0;
    } else this.confirmedLead = Math.min(this.confirmedLead, lead);
    if (validUntil >= this.validUntil) {
      this.validUntil = validUntil;
      this.leaseMs = leaseTimeMs;
      // The lead at the sending: the machine may have stood still before the answer.
      this.confirmedLead = lead;
    }
    if (leaseTimeMs >= this.owedLeaseMs) this.owedLeaseMs = 0;
    this.confirmedAt = Math.floor(sentAt);
    this.failed = undefined;
    if (this.known !== 'suspect') return false;
    this.known = 'held';
    return true;
  }

  /** A renewal has failed. */
  fail(error: unknown): void {
    this.failed = {
      renewalFailedAt: new Date(this.session.clock.wall()),
      renewalFailedWith: error instanceof Error ? error.message : String(error),
      cause: error,
    };
  }

  /** Its owner may have lost it. */
  suspect(): boolean {
    if (this.known !== 'held') return false;
    this.known = 'suspect';
    return true;
  }

  /** Final. Notifies every lease. */
  lose(reason: LeaseLostError['reason']): LeaseLostError {
    if (this.lostError !== undefined) return this.lostError;
    this.lostError = this.lossBy(reason);
    if (this.known !== 'released') this.end('lost');
    for (const lease of this.leases) lease.onLost(this.lostError);
    for (const listener of this.lossListeners ?? []) listener(this.lostError);
    this.leases = NO_LEASES;
    return this.lostError;
  }

  /** The error of a loss that is found now, with all that is known about it. */
  lossBy(reason: LeaseLostError['reason']): LeaseLostError {
    const { name, session, failed, confirmedAt, confirmedLead } = this;
    const now = session.clock.now();
    const lead = leadOf(session.clock, now);
    const suspendedMs = this.isSuspended(lead) ? lead - confirmedLead : 0;
    return new LeaseLostError(name, reason, {
      confirmedAt: dateOf(confirmedAt, confirmedLead),
      confirmedAgoMs: Math.round(now - confirmedAt + suspendedMs),
      stoodStillMs: Math.round(session.times.stoodStillMs(confirmedAt) + suspendedMs),
      ...failed,
    });
  }

  /** Calls back once the hold is lost. The returned function ends this. */
  whenLost(listener: (error: LeaseLostError) => void): () => void {
    const listeners = (this.lossListeners ??= new Set()).add(listener);
    return () => {
      listeners.delete(listener);
    };
  }

  /** It was live until now. */
  end(state: 'released' | 'lost' = 'released'): void {
    this.known = state;
    this.countedKey?.end(this.protocol.isReadSide);
  }
}
