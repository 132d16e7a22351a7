import type { Hold } from '../holding/hold.js';
import type { Claim, OwnerId } from '../holding/protocol.js';
import { isAmongPolls, openEveryMs } from '../lua/outsiders.js';
import type { Session } from '../session.js';
import { aliveMs, LAST_BACKOFF_MS } from '../time/polls.js';
import type { Waiter } from './waiter.js';

/** Grants in a row within one process, before another process gets its turn. */
const BATCH = 8;
/** How long a batch lasts where others poll: it keeps them waiting for a pause of theirs. */
const BATCH_AMONG_POLLS_MS = 3 * LAST_BACKOFF_MS;

/** A message that the lock was handed over. */
export interface Push {
  readonly owner: OwnerId;
  /** It answers the newest claim, which this waiter made. */
  readonly waiter: Waiter | undefined;
  /** When the claim was sent, if the waiter may begin at once; otherwise it asks Redis first. */
  readonly sentAt: number | undefined;
}

/** The entry of this process in Redis' queue for one key: its newest claim, and when that was sent. */
export class Claims {
  private waiter: Waiter | undefined = undefined;
  private claim: Claim | undefined = undefined;
  private sentAt = 0;

  constructor(private readonly session: Session) {}

  /** The claim with which the waiter asks, or is named, at this moment. */
  claimFor(waiter: Waiter, isHearing: boolean): Claim {
    const { settings, clock } = this.session;
    this.waiter = waiter;
    this.sentAt = clock.now();
    this.claim = {
      aliveMs: aliveMs(settings.pollIntervalMs),
      nonce: this.session.newNonce(),
      leaseTimeMs: Math.min(waiter.leaseTimeMs, settings.claimTimeMs),
      mode: isHearing ? waiter.mode : 'poll',
    };
    return this.claim;
  }

  /** The waiter waits no more. Answers whether its process queued for it. */
  leave(waiter: Waiter): boolean {
    if (this.waiter !== waiter) return false;
    this.waiter = undefined;
    this.claim = undefined;
    return true;
  }

  /**
   * Undefined for a message of somebody who has seen none of our claims. One that answers the newest
   * claim is as old as that at most, whenever it arrives: the grant is still good that long after it. One
   * that names a later question of this process, by its own clock, is as old as that.
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
   * Whether the batch of this process is over: after its last grant, when it is time for outsiders, or
   * when they have to be told that the next lease is shorter.
   */
  isBatchOver({ batchCount, batchSince, remainingMs }: Hold, next: Waiter): boolean {
    const { settings, clock } = this.session;
    const lastedMs = clock.now() - batchSince;
    if (isAmongPolls(settings)) return lastedMs >= BATCH_AMONG_POLLS_MS;
    const openEvery = openEveryMs(settings);
    const most = settings.interop === 'redisson' ? 1 : BATCH;
    const isForOutsiders = lastedMs >= openEvery || remainingMs > next.leaseTimeMs;
    return batchCount >= most - 1 || (openEvery > 0 && isForOutsiders);
  }

  /** So much of the lease must be left that the work can begin, and the lease be renewed. */
  private grantedAt(waiter: Waiter, { mode, leaseTimeMs }: Claim, askedAt: number) {
    const { clock, connection, settings } = this.session;
    const now = clock.now();
    const sentAt = askedAt > now ? this.sentAt : Math.max(this.sentAt, askedAt);
    const leftMs = leaseTimeMs - (now - sentAt);
    // Nothing can be renewed or released while no command gets through.
    if (mode !== 'start' || leftMs < settings.claimTimeMs / 2 || !connection.isUp) return undefined;
    waiter.batchCount = 0;
    waiter.batchSince = Math.floor(now);
    waiter.grantMs = leaseTimeMs;
    return sentAt;
  }
}

const PAYLOAD = /^(\d{1,15}) ([0-9a-f]{32})(?: (\d{1,15}))?$/;
