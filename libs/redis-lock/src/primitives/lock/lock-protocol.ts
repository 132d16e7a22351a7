import { acquireHashAlone, acquireNested, type Acquiring } from '../../core/lua/acquire-alone.js';
import { runPair, tokenTtlMs } from '../../core/lua/fencing-token.js';
import { grantChannel, passArgs, passInOrderArgs, writtenClaim } from '../../core/lua/hand-off.js';
import { isAmongPolls, openEveryMs } from '../../core/lua/outsiders.js';
import {
  ACQUIRE,
  INSPECT,
  RELEASE as RELEASE_ALONE,
  RELEASE_SOME,
  renewHashes,
} from '../../core/lua/hash-lock.js';
import type {
  Claim,
  AcquireAnswer,
  AcquireTerms,
  Successor,
  ReleaseAnswer,
  LockProtocol,
  Owned,
  Renewal,
} from '../../core/holding/protocol.js';
import type { LockContext } from '../../core/lock-context.js';
import { MovingSlots } from '../../core/redis/moving-slots.js';
import { REENTRANT_OPTIONS } from '../../core/api/options.js';
import type { RedisConnection, Reply } from '../../core/redis/connection.js';
import { channelOf, keysWithQueue } from './footprint.js';
import {
  ACQUIRE_OR_QUEUE,
  RELEASE,
  RELEASE_LATER,
  PASS,
  PASS_IN_ORDER,
  CANCEL,
} from './lock.scripts.js';

export class ReentrantLockProtocol implements LockProtocol {
  readonly kind = 'lock';
  readonly options = REENTRANT_OPTIONS;
  readonly nesting = 'in turn';
  readonly waiting = 'in turn';
  readonly countsOutsiders = true;
  readonly isShared = false;
  readonly remembersWaiters = false;
  readonly #connection: RedisConnection;
  readonly #openEveryMs: number;
  readonly #isAmongPolls: boolean;
  readonly #slots: MovingSlots;
  readonly #tokenTtlMs: number;

  constructor(private readonly context: LockContext) {
    this.#connection = context.connection;
    this.#openEveryMs = openEveryMs(context.settings);
    this.#isAmongPolls = isAmongPolls(context.settings);
    this.#slots = new MovingSlots(context);
    this.#tokenTtlMs = tokenTtlMs(context.settings);
  }

  acquire(
    hold: Owned,
    terms: AcquireTerms,
    holdCount: number,
    claim?: Claim,
  ): Promise<Reply<AcquireAnswer>> {
    const { key, owner } = hold;
    if (holdCount > 1) return this.#acquireNested(hold, terms, holdCount);
    if (claim === undefined && !terms.fenced) {
      const { leaseTimeMs, minReplicas } = terms;
      return this.#connection.run(ACQUIRE, [key], [owner, leaseTimeMs], minReplicas);
    }
    return this.#slots.ask(
      key,
      () => this.#acquireTogether(hold, terms, claim),
      () => acquireHashAlone(this.#connection, this.#acquiring(hold, terms, 1)),
    );
  }

  release(
    hold: Owned,
    holdCount: number,
    successor?: Successor,
    keepMs = 0,
  ): Promise<Reply<ReleaseAnswer>> {
    const { key, owner } = hold;
    if (holdCount > 0) return this.#connection.run(RELEASE_SOME, [key], [owner, holdCount]);
    if (successor !== undefined) return this.#pass(hold, successor);
    const channel = this.wakeUpChannel(key);
    if (keepMs > 0) return this.#connection.run(RELEASE_LATER, [key], [owner, keepMs, channel]);
    if (this.#isAmongPolls) return this.#releaseAlone(hold);
    return this.#slots.ask(
      key,
      () => this.#connection.run(RELEASE, keysWithQueue(key), [owner, channel, this.#openEveryMs]),
      () => this.#releaseAlone(hold),
    );
  }

  cancel(hold: Owned) {
    const { key, owner } = hold;
    const args = [owner, this.wakeUpChannel(key), this.#openEveryMs];
    return this.#slots.ask(
      key,
      () => this.#connection.run(CANCEL, keysWithQueue(key), args),
      () => this.#releaseAlone(hold),
    );
  }

  renew(renewals: readonly Renewal[], minReplicas: number) {
    return renewHashes(this.#connection, renewals, minReplicas);
  }

  inspect(key: string) {
    return this.#connection.run(INSPECT, [key], []);
  }

  wakeUpChannel(key: string): string {
    return channelOf(key);
  }

  grantChannel(key: string): string {
    return grantChannel(key, this.context.id);
  }

  #acquireTogether({ key, owner }: Owned, terms: AcquireTerms, claim?: Claim) {
    const connection = this.#connection;
    const { leaseTimeMs } = terms;
    if (claim === undefined)
      return runPair(connection, ACQUIRE, [key], [owner, leaseTimeMs], terms, this.#tokenTtlMs);
    const args = [owner, leaseTimeMs, writtenClaim(claim)];
    return runPair(connection, ACQUIRE_OR_QUEUE, keysWithQueue(key), args, terms, this.#tokenTtlMs);
  }

  #acquireNested(hold: Owned, terms: AcquireTerms, holdCount: number) {
    return acquireNested(this.#connection, this.#slots, this.#acquiring(hold, terms, holdCount));
  }

  #acquiring(hold: Owned, terms: AcquireTerms, holdCount: number): Acquiring {
    const tokenTtlMs = this.#tokenTtlMs;
    return { protocol: this, hold, field: hold.owner, terms, holdCount, tokenTtlMs };
  }

  #pass(hold: Owned, successor: Successor): Promise<Reply<ReleaseAnswer>> {
    const { key, owner } = hold;
    const { claim } = successor;
    if (claim === undefined) return this.#connection.run(PASS, [key], passArgs(owner, successor));
    if (this.#isAmongPolls) return this.#open(hold);
    const announcing = { channel: this.wakeUpChannel(key), openEveryMs: this.#openEveryMs };
    const args = passInOrderArgs(owner, successor, claim, announcing);
    return this.#slots.ask(
      key,
      () => this.#connection.run(PASS_IN_ORDER, keysWithQueue(key), args),
      () => this.#open(hold),
    );
  }

  /** The queue is empty: other processes get a chance before the successor asks. */
  async #open(hold: Owned): Promise<Reply<ReleaseAnswer>> {
    const reply = await this.#releaseAlone(hold);
    return reply.value === 'done' ? { ...reply, value: 'opened' } : reply;
  }

  /**
   * Queued processes find the free lock by polling: a script with the lock's key alone is not
   * delayed.
   */
  #releaseAlone({ key, owner }: Owned): Promise<Reply<ReleaseAnswer>> {
    return this.#connection.run(RELEASE_ALONE, [key], [owner, this.wakeUpChannel(key)]);
  }
}
