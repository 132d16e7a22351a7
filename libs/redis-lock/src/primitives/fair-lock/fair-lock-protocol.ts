import { tokenTtlMs } from '../lua/fencing-token.js';
import { passArgs, writtenTerms } from '../lua/hand-off.js';
import * as hash from '../lua/hash-lock.js';
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

/** While a slot is half way, no release is announced. Waiters poll at least every 100 ms. */
const ALONE_POLL_MS = 100;
/** The most owners of a key that are remembered after they left without access to the queue. */
const MOST_STRAYS = 10_000;
/** How long the process tries to remove them from the queue. */
const INSIST_MS = 5 * 60 * 1_000;

export class FairLockProtocol extends HashProtocol implements LockProtocol {
  readonly kind = 'fair';
  readonly options = LOCK_OPTIONS;
  readonly waiting = 'each';
  readonly remembersWaiters = true;
  readonly #aliveMs: number;
  /**
   * By key, the owners that may still have an entry in the queue. It would block every waiter
   * behind it.
   */
  readonly #strays = new Map<string, OwnerId[]>();

  constructor(context: LockContext) {
    super(context, tokenTtlMs(context.settings));
    this.#aliveMs = aliveMs(context.settings.pollIntervalMs);
  }

  cancel(hold: Owned, terms: AcquireTerms) {
    return this.slots.ask(
      hold.key,
      () => this.#cancel(hold.key, hold.owner, this.#waitMs(terms)),
      () => this.#releaseAlone(hold),
    );
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

  protected acquireTogether({ key, owner }: Owned, terms: AcquireTerms, claim?: Claim) {
    const { clock } = this.context;
    // Rounded down: later messages about this attempt must not seem newer than it is.
    const askedAt = Math.floor(clock.now());
    // A waiter that polls gains nothing by a grant: either it is first in the queue, or not.
    const grantBy = claim === undefined || claim.mode === 'poll' ? '' : writtenTerms(claim);
    const asking = [this.#waitMs(terms), this.#aliveMs, askedAt, grantBy];
    const args = [owner, terms.leaseTimeMs, ...asking, channelOf(key)];
    return this.runPair(scripts.ACQUIRE, keysOf(key), args, terms);
  }

  protected override async acquireAlone(hold: Owned, terms: AcquireTerms) {
    const reply = await super.acquireAlone(hold, terms);
    const { value } = reply;
    if (value.kind !== 'busy') return reply;
    const remainingMs = Math.min(value.remainingMs, ALONE_POLL_MS);
    return { ...reply, value: { ...value, remainingMs } };
  }

  protected releaseLast(hold: Owned, successor?: Successor): Promise<Reply<ReleaseAnswer>> {
    const { key, owner } = hold;
    if (successor === undefined) {
      return this.slots.ask(
        key,
        () => this.connection.run(scripts.RELEASE, keysOf(key), [owner, channelOf(key)]),
        () => this.#releaseAlone(hold),
      );
    }
    const args = [...passArgs(owner, successor), channelOf(key)];
    return this.slots.ask(
      key,
      () => this.connection.run(scripts.PASS, keysOf(key), args),
      () => this.#yieldAlone(hold),
    );
  }

  /** Queued waiters find the free lock by polling: the queue may be on another node. */
  async #releaseAlone({ key, owner }: Owned): Promise<Reply<ReleaseAnswer>> {
    const reply = await this.connection.run(hash.RELEASE, [key], [owner, channelOf(key)]);
    this.#leaveQueue(key, owner);
    return reply;
  }

  /** Hands the lock over to no waiter: the successor sends its own attempt. */
  async #yieldAlone(hold: Owned): Promise<Reply<ReleaseAnswer>> {
    const reply = await this.#releaseAlone(hold);
    return reply.value === 'done' ? { ...reply, value: 'yielded' } : reply;
  }

  /** Runs when the slot has arrived. Until then, one owner of each key checks for it. */
  #leaveQueue(key: string, owner: OwnerId): void {
    const others = this.#strays.get(key);
    if (others !== undefined) {
      if (others.length < MOST_STRAYS) others.push(owner);
      return;
    }
    const strays: OwnerId[] = [];
    this.#strays.set(key, strays);
    const { background } = this.context;
    const cancel = (stray: OwnerId) => this.#cancel(key, stray, 0);
    const of = { name: key, kind: this.kind } as const;
    void background
      .insist(of, INSIST_MS, () => cancel(owner))
      .then(() => {
        this.#strays.delete(key);
        for (const stray of strays) void background.insist(of, INSIST_MS, () => cancel(stray));
      });
  }

  #cancel(key: string, owner: OwnerId, waitMs: number): Promise<Reply<ReleaseAnswer>> {
    return this.connection.run(scripts.CANCEL, keysOf(key), [owner, waitMs, channelOf(key)]);
  }

  /** The waiter adds this to the score of every waiter behind it, as in Redisson. */
  #waitMs({ waitTimeMs }: AcquireTerms): number {
    return waitTimeMs === Infinity ? this.context.settings.fairLockWaitTimeMs : waitTimeMs;
  }
}
