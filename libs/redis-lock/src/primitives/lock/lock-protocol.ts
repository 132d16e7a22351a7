import { tokenTtlMs } from '../lua/fencing-token.js';
import { grantChannel, passArgs, passInOrderArgs, writtenClaim } from '../lua/hand-off.js';
import { dueTo, isAmongPolls } from '../../core/waiting/outsiders.js';
import * as hash from '../lua/hash-lock.js';
import { HashProtocol } from '../lua/hash-protocol.js';
import type {
  Claim,
  AcquireTerms,
  Successor,
  ReleaseAnswer,
  LockProtocol,
  Owned,
} from '../../core/holding/protocol.js';
import type { LockContext } from '../../core/lock-context.js';
import { REENTRANT_OPTIONS } from '../../core/api/options.js';
import type { Reply } from '../../core/redis/connection.js';
import { channelOf, keysWithQueue } from './footprint.js';
import * as scripts from './lock.scripts.js';

export class ReentrantLockProtocol extends HashProtocol implements LockProtocol {
  readonly kind = 'lock';
  readonly options = REENTRANT_OPTIONS;
  readonly waiting = 'in turn';
  readonly countsOutsiders = true;
  readonly remembersWaiters = false;
  readonly #isAmongPolls: boolean;

  constructor(context: LockContext) {
    super(context, tokenTtlMs(context.settings));
    this.#isAmongPolls = isAmongPolls(context.settings);
  }

  cancel({ key, owner }: Owned) {
    const args = [owner, this.wakeUpChannel(key), dueTo(this.context.settings, 0)];
    return this.connection.run(scripts.CANCEL, keysWithQueue(key), args);
  }

  wakeUpChannel(key: string): string {
    return channelOf(key);
  }

  grantChannel(key: string): string {
    return grantChannel(key, this.context.id);
  }

  protected acquireFirst({ key, owner }: Owned, terms: AcquireTerms, claim?: Claim) {
    const { leaseTimeMs } = terms;
    if (claim === undefined) return this.runPair(hash.ACQUIRE, [key], [owner, leaseTimeMs], terms);
    const args = [owner, leaseTimeMs, writtenClaim(claim)];
    return this.runPair(scripts.ACQUIRE_OR_QUEUE, keysWithQueue(key), args, terms);
  }

  protected releaseLast(
    hold: Owned,
    successor: Successor | undefined,
    keepMs: number,
  ): Promise<Reply<ReleaseAnswer>> {
    const { key, owner } = hold;
    if (successor !== undefined) return this.#pass(hold, successor);
    const channel = channelOf(key);
    if (keepMs > 0) {
      return this.connection.run(scripts.RELEASE_LATER, [key], [owner, keepMs, channel]);
    }
    if (this.#isAmongPolls) return this.#free(hold);
    const args = [owner, channel, dueTo(this.context.settings, hold.batchCount)];
    return this.connection.run(scripts.RELEASE, keysWithQueue(key), args);
  }

  #pass(hold: Owned, successor: Successor): Promise<Reply<ReleaseAnswer>> {
    const { key, owner } = hold;
    const { claim } = successor;
    if (claim === undefined)
      return this.connection.run(scripts.PASS, [key], passArgs(owner, successor));
    if (this.#isAmongPolls) return this.#open(hold);
    const due = dueTo(this.context.settings, hold.batchCount);
    const channel = this.wakeUpChannel(key);
    const args = passInOrderArgs(owner, successor, claim, { channel, due });
    return this.connection.run(scripts.PASS_IN_ORDER, keysWithQueue(key), args);
  }

  /** The queue is empty: other processes get a chance before the successor sends its attempt. */
  async #open(hold: Owned): Promise<Reply<ReleaseAnswer>> {
    const reply = await this.#free(hold);
    return reply.value === 'done' ? { ...reply, value: 'reserved' } : reply;
  }

  /**
   * Queued processes find the free lock by polling. A script with only the lock's key is not
   * delayed.
   */
  #free({ key, owner }: Owned): Promise<Reply<ReleaseAnswer>> {
    return this.connection.run(hash.RELEASE, [key], [owner, this.wakeUpChannel(key)]);
  }
}
