import { tokenTtlMs } from '../lua/fencing-token.js';
import { passArgs, writtenTerms } from '../lua/hand-off.js';
import { HashProtocol } from '../lua/hash-protocol.js';
import type {
  Claim,
  AcquireTerms,
  Successor,
  ReleaseAnswer,
  LockProtocol,
  Owned,
  OwnerId,
} from '../../core/holding/protocol.js';
import type { LockContext } from '../../core/lock-context.js';
import { LOCK_OPTIONS } from '../../core/api/options.js';
import { aliveMs } from '../../core/time/polls.js';
import type { Reply } from '../../core/redis/connection.js';
import { channelOf, keysOf } from './footprint.js';
import * as scripts from './fair-lock.scripts.js';

export class FairLockProtocol extends HashProtocol implements LockProtocol {
  readonly kind = 'fair';
  readonly options = LOCK_OPTIONS;
  readonly waiting = 'each';
  readonly remembersWaiters = true;
  readonly #aliveMs: number;

  constructor(context: LockContext) {
    super(context, tokenTtlMs(context.settings));
    this.#aliveMs = aliveMs(context.settings.pollIntervalMs);
  }

  cancel({ key, owner }: Owned, terms: AcquireTerms) {
    const args = [owner, this.#waitMs(terms), channelOf(key)];
    return this.connection.run(scripts.CANCEL, keysOf(key), args);
  }

  cancelStrays(key: string, owners: readonly OwnerId[]) {
    const args = [owners.join(' '), channelOf(key)];
    return this.connection.run(scripts.CANCEL_STRAYS, keysOf(key), args);
  }

  wakeUpChannel(key: string, owner: OwnerId): string {
    return `${channelOf(key)}:${owner}`;
  }

  /** A waiter has one channel for wake-ups and pushes. */
  grantChannel(key: string, owner: OwnerId): string {
    return this.wakeUpChannel(key, owner);
  }

  protected acquireFirst({ key, owner }: Owned, terms: AcquireTerms, claim?: Claim) {
    const { clock } = this.context;
    // Rounded down: later messages about this attempt must not seem newer than it is.
    const askedAt = Math.floor(clock.now());
    // A waiter that polls gains nothing by a grant: either it is first in the queue, or not.
    const grantBy = claim === undefined || claim.mode === 'poll' ? '' : writtenTerms(claim);
    const asking = [this.#waitMs(terms), this.#aliveMs, askedAt, grantBy];
    const args = [owner, terms.leaseTimeMs, ...asking, channelOf(key)];
    return this.runPair(scripts.ACQUIRE, keysOf(key), args, terms);
  }

  protected releaseLast(
    { key, owner }: Owned,
    successor?: Successor,
  ): Promise<Reply<ReleaseAnswer>> {
    if (successor === undefined) {
      return this.connection.run(scripts.RELEASE, keysOf(key), [owner, channelOf(key)]);
    }
    const args = [...passArgs(owner, successor), channelOf(key)];
    return this.connection.run(scripts.PASS, keysOf(key), args);
  }

  /** The waiter adds this to the score of every waiter behind it, as in Redisson. */
  #waitMs({ waitTimeMs }: AcquireTerms): number {
    return waitTimeMs === Infinity ? this.context.settings.fairLockWaitTimeMs : waitTimeMs;
  }
}
