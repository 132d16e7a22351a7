import type { Contender, Grant } from './contender.js';
import type { Claim } from '../holding/protocol.js';
import type { LockContext } from '../lock-context.js';
import { aliveMs } from './poll.js';

/** A grant that was handed over, as a message tells of it. */
export interface ToldGrant {
  readonly owner: string;
  /** By the newest claim. With a reply, the caller may begin; else Redis is asked first. */
  readonly contender: Contender | undefined;
  readonly reply: Grant | undefined;
}

/** The place of this process in the line before one key: the newest claim, and when it was sent. */
export class PlaceInLine {
  #contender: Contender | undefined;
  #claim: Claim | undefined;
  #sentAt = 0;

  constructor(private readonly context: LockContext) {}

  /** What the caller asks with, or is named with, in this moment. */
  claim(contender: Contender, isTold: boolean): Claim {
    const { candidate, leaseTimeMs } = contender;
    const { settings, clock } = this.context;
    const whenGranted = candidate?.starts === true ? 'starts' : 'enters';
    this.#contender = contender;
    this.#sentAt = clock.now();
    this.#claim = {
      aliveMs: aliveMs(settings.pollIntervalMs),
      nonce: this.context.newNonce(),
      leaseTimeMs: Math.min(leaseTimeMs, settings.claimTimeMs),
      manner: isTold ? whenGranted : 'polls',
    };
    return this.#claim;
  }

  isOf(contender: Contender): boolean {
    return this.#contender === contender;
  }

  forget(): void {
    this.#contender = undefined;
    this.#claim = undefined;
  }

  /**
   * Undefined for a message of somebody who has seen none of our claims. One that answers the newest
   * claim is as old as that at most, whenever it arrives: so long after it, the grant is still good. One
   * that names a later question of this process, by its own clock, is as old as that.
   */
  read(payload: string): ToldGrant | undefined {
    const [, number, nonce, askedAt = '0'] = PAYLOAD.exec(payload) ?? [];
    if (number === undefined || nonce === undefined) return undefined;
    if (!this.context.isOurNonce(nonce)) return undefined;
    const owner = `${this.context.id}:${number}`;
    const contender = this.#contender;
    const claim = this.#claim;
    const isNewest = nonce === claim?.nonce && owner === contender?.candidate?.owner;
    if (!isNewest) return { owner, contender: undefined, reply: undefined };
    return { owner, contender, reply: this.#replyTo(claim, Number(askedAt)) };
  }

  /** So much must be left that the work can begin, and be given the rest. */
  #replyTo({ manner, leaseTimeMs }: Claim, askedAt: number): Grant | undefined {
    const { clock, connection, settings } = this.context;
    const now = clock.now();
    const sentAt = askedAt > now ? this.#sentAt : Math.max(this.#sentAt, askedAt);
    const leftMs = leaseTimeMs - (now - sentAt);
    // Nothing can be prolonged or given back where no command gets through.
    if (manner !== 'starts' || leftMs < settings.claimTimeMs / 2 || !connection.isUp)
      return undefined;
    const handed = { passes: 0, since: Math.floor(now), leaseTimeMs };
    const value = { kind: 'granted', fencingToken: undefined, handed } as const;
    return { value, sentAt, resent: false };
  }
}

const PAYLOAD = /^(\d{1,15}) ([0-9a-f]{32})(?: (\d{1,15}))?$/;
