import type { Hold } from '../holding/hold.js';
import { leadOf } from '../holding/owner-steps.js';
import type { Claim, OwnerId } from '../holding/protocol.js';
import type { Session } from '../session.js';
import { aliveMs, LAST_BACKOFF_MS } from '../time/polls.js';
import { isAmongPolls } from './outsiders.js';
import type { Waiter } from './waiter.js';

/** Grants in a row within one process before another waiting process is next. */
const BATCH = 8;
/**
 * The duration of a batch. A hand-over to another process takes less than a millisecond, so short
 * sections lose nothing. A process that stands still during its sections delays the others by one
 * of them, not by eight.
 */
const BATCH_MS = 20;
/** The duration of a batch if others poll: an outsider waits for one pause between its polls. */
const BATCH_AMONG_POLLS_MS = 3 * LAST_BACKOFF_MS;

/** The largest adjustment of the wall clock that is expected during a claim. */
const MOST_LEAD_MS = 50;

/** A message that the lock was handed over. */
export interface Push {
  readonly owner: OwnerId;
  /** The waiter of the newest claim, if the message answers that claim. */
  readonly waiter: Waiter | undefined;
  /**
   * When the claim was sent, if the waiter holds the lock by it. Otherwise the waiter checks with
   * Redis first.
   */
  readonly sentAt: number | undefined;
}

/**
 * The entry of this process in Redis' queue for one key: its newest claim and the time of sending.
 */
export class Claims {
  private waiter: Waiter | undefined = undefined;
  private claim: Claim | undefined = undefined;
  private sentAt = 0;
  /** The lead of the wall clock when the claim was sent. */
  private lead = 0;

  constructor(private readonly session: Session) {}

  /** The claim that goes out with the waiter's attempt, or with a release that names it. */
  claimFor(waiter: Waiter, isHearing: boolean, past = 0, ended = 0): Claim {
    const { settings, clock } = this.session;
    this.waiter = waiter;
    this.sentAt = clock.now();
    this.lead = leadOf(clock, this.sentAt);
    this.claim = {
      aliveMs: aliveMs(settings.pollIntervalMs),
      nonce: this.session.newNonce(),
      leaseTimeMs: Math.min(waiter.leaseTimeMs, settings.claimTimeMs),
      mode: isHearing ? waiter.mode : 'poll',
      past,
      ended,
    };
    return this.claim;
  }

  /** A release has queued the waiter in Redis, or its own attempt. */
  isOf(waiter: Waiter): boolean {
    return this.waiter === waiter;
  }

  /** The waiter has left. Returns whether the newest claim was its claim. */
  leave(waiter: Waiter): boolean {
    if (this.waiter !== waiter) return false;
    this.waiter = undefined;
    this.claim = undefined;
    return true;
  }

  /**
   * Undefined for a message that names no claim of this session. A message that answers the newest
   * claim is no older than that claim: its lease counts from there. A message may also carry the
   * time of a later attempt of this process. It is no older than that attempt.
   */
  read(payload: string): Push | undefined {
    const [, number, nonce, askedAt = '0'] = PAYLOAD.exec(payload) ?? [];
    if (number === undefined || nonce === undefined) return undefined;
    if (!this.session.isOurNonce(nonce)) return undefined;
    const owner = `${this.session.id}:${number}`;
    const { waiter, claim } = this;
    const isNewest = nonce === claim?.nonce && owner === waiter?.owner;
    if (!isNewest) return { owner, waiter: undefined, sentAt: undefined };
    return { owner, waiter, sentAt: this.grantedAt(waiter, claim, Number(askedAt)) };
  }

  /**
   * The batch of this process is over: after 8 grants, or after 20 ms. It is also over when
   * outsiders must learn that the next lease is shorter.
   */
  isBatchOver({ batchCount, batchSince, remainingMs }: Hold, next: Waiter): boolean {
    const { settings, clock } = this.session;
    const lastedMs = clock.now() - batchSince;
    if (isAmongPolls(settings)) return lastedMs >= BATCH_AMONG_POLLS_MS;
    const most = settings.interop === 'redisson' ? 1 : BATCH;
    const isShorter = settings.interop !== 'none' && remainingMs > next.leaseTimeMs;
    return batchCount >= most - 1 || lastedMs >= BATCH_MS || isShorter;
  }

  /** Half of `claimTimeMs` must be left: enough for the work to begin, and for a renewal. */
  private grantedAt(waiter: Waiter, { mode, leaseTimeMs }: Claim, askedAt: number) {
    const { clock, connection, settings } = this.session;
    const now = clock.now();
    const sentAt = askedAt > now ? this.sentAt : Math.max(this.sentAt, askedAt);
    const leftMs = leaseTimeMs - (now - sentAt);
    // Without a connection no script can renew or release it.
    if (mode !== 'start' || leftMs < settings.claimTimeMs / 2 || !connection.isUp) return undefined;
    // The machine stood still since then, or its clock was set: the lease may be over.
    if (leadOf(clock, now) - this.lead > MOST_LEAD_MS) return undefined;
    waiter.batchCount = 0;
    waiter.batchSince = Math.floor(now);
    waiter.grantMs = leaseTimeMs;
    return sentAt;
  }
}

const PAYLOAD = /^(\d{1,15}) ([0-9a-f]{32})(?: (\d{1,15}))?$/;
