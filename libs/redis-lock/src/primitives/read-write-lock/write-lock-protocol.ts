import { LockStateError, quoteName } from '../../core/api/errors.js';
import { acquireNested, acquireThenToken } from '../../core/lua/acquire-alone.js';
import { runPair, TOKEN_TTL_MS } from '../../core/lua/fencing-token.js';
import { grantChannel, passArgs, passInOrderArgs, writtenClaim } from '../../core/lua/hand-off.js';
import { openEveryMs } from '../../core/lua/outsiders.js';
import { RELEASE_SOME, renewHashes } from '../../core/lua/hash-lock.js';
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
import { LOCK_OPTIONS } from '../../core/api/options.js';
import type { Reply } from '../../core/redis/connection.js';
import { releaseWritingAlone } from './alone.js';
import { WRITE_ACQUIRE_ALONE } from './alone.scripts.js';
import { channelOf, keysWithQueue, keysWithTurns, writerOf } from './footprint.js';
import { memoryMs } from './turns.lua.js';
import {
  WRITE_RELEASE,
  WRITE_PASS,
  WRITE_PASS_IN_ORDER,
  WRITE_CANCEL,
} from './write-release.scripts.js';
import { WRITE_ACQUIRE, WRITE_ACQUIRE_OR_QUEUE, WRITE_INSPECT } from './write-lock.scripts.js';

/** The side of the writer: one owner holds it, and only that writer may read. */
export class WriteLockProtocol implements LockProtocol {
  readonly kind = 'write';
  readonly options = LOCK_OPTIONS;
  readonly nesting = 'in turn';
  readonly waiting = 'in turn';
  readonly countsOutsiders = true;
  readonly isShared = false;
  readonly remembersWaiters = true;
  /** The writer's own reads may outlast its lease. */
  readonly outlastsLease = true;
  readonly #slots: MovingSlots;
  readonly #memoryMs: number;
  readonly #openEveryMs: number;

  /** @param isUpgrade whether the call is inside a read hold, and in no write hold that it joins */
  constructor(
    private readonly context: LockContext,
    private readonly isUpgrade: (key: string) => boolean,
  ) {
    this.#slots = new MovingSlots(context);
    this.#memoryMs = memoryMs(context.settings.pollIntervalMs);
    this.#openEveryMs = openEveryMs(context.settings);
  }

  /** @throws {LockStateError} a reader would wait for itself, and two of them for each other */
  companion(key: string, name: string): undefined {
    if (!this.isUpgrade(key)) return undefined;
    throw new LockStateError(
      `The read lock ${quoteName(name)} cannot become a write lock: release it first, ` +
        'or take the write lock and read inside it',
      { lockName: name },
    );
  }

  acquire(
    hold: Owned,
    terms: AcquireTerms,
    holdCount: number,
    claim?: Claim,
  ): Promise<Reply<AcquireAnswer>> {
    const { connection } = this.context;
    const field = writerOf(hold.owner);
    const acquiring = {
      ...{ protocol: this, hold, field, terms, holdCount, tokenTtlMs: TOKEN_TTL_MS },
    };
    if (holdCount > 1) return acquireNested(connection, this.#slots, acquiring);
    return this.#slots.ask(
      hold.key,
      () => this.#acquireTogether(hold, terms, claim),
      () => {
        const { key, owner } = hold;
        const args = [owner, terms.leaseTimeMs];
        const acquire = () => connection.run(WRITE_ACQUIRE_ALONE, [key], args, terms.minReplicas);
        return terms.fenced ? acquireThenToken(connection, acquiring, acquire) : acquire();
      },
    );
  }

  release(hold: Owned, holdCount: number, successor?: Successor): Promise<Reply<ReleaseAnswer>> {
    const { connection } = this.context;
    const { key, owner } = hold;
    if (holdCount > 0) return connection.run(RELEASE_SOME, [key], [writerOf(owner), holdCount]);
    return this.#slots.ask(
      key,
      () => this.#releaseTogether(hold, successor),
      () => this.#releaseAlone(hold, successor),
    );
  }

  cancel(hold: Owned) {
    const { connection } = this.context;
    const { key, owner } = hold;
    const args = [owner, channelOf(key), this.#openEveryMs];
    return this.#slots.ask(
      key,
      () => connection.run(WRITE_CANCEL, keysWithQueue(key), args),
      () => releaseWritingAlone(connection, hold),
    );
  }

  renew(renewals: readonly Renewal[], minReplicas: number) {
    const ofWriters = renewals.map((renewal) => ({ ...renewal, owner: writerOf(renewal.owner) }));
    return renewHashes(this.context.connection, ofWriters, minReplicas);
  }

  inspect(key: string) {
    return this.context.connection.run(WRITE_INSPECT, [key], []);
  }

  wakeUpChannel(key: string): string {
    return channelOf(key);
  }

  grantChannel(key: string): string {
    return grantChannel(key, this.context.id, 'rwlock');
  }

  #acquireTogether({ key, owner }: Owned, terms: AcquireTerms, claim?: Claim) {
    const { connection } = this.context;
    const memory = terms.waitTimeMs === 0 ? 0 : this.#memoryMs;
    const args = [owner, terms.leaseTimeMs, memory, channelOf(key)];
    if (claim === undefined)
      return runPair(connection, WRITE_ACQUIRE, keysWithTurns(key), args, terms, TOKEN_TTL_MS);
    args.push(writtenClaim(claim));
    const keys = keysWithQueue(key);
    return runPair(connection, WRITE_ACQUIRE_OR_QUEUE, keys, args, terms, TOKEN_TTL_MS);
  }

  #releaseTogether({ key, owner }: Owned, successor?: Successor): Promise<Reply<ReleaseAnswer>> {
    const { connection } = this.context;
    const channel = channelOf(key);
    const openEveryMs = this.#openEveryMs;
    if (successor === undefined) {
      return connection.run(WRITE_RELEASE, keysWithQueue(key), [owner, channel, openEveryMs]);
    }
    const { claim } = successor;
    if (claim === undefined) {
      const args = [...passArgs(owner, successor), channel];
      return connection.run(WRITE_PASS, keysWithTurns(key), args);
    }
    const args = passInOrderArgs(owner, successor, claim, { channel, openEveryMs });
    args.push(this.#memoryMs);
    return connection.run(WRITE_PASS_IN_ORDER, keysWithQueue(key), args);
  }

  /** The successor asks by itself; after the batch of its process, behind the waiters of others. */
  async #releaseAlone(hold: Owned, successor?: Successor): Promise<Reply<ReleaseAnswer>> {
    const reply = await releaseWritingAlone(this.context.connection, hold);
    if (successor === undefined || reply.value !== 'done') return reply;
    const value: ReleaseAnswer = successor.claim === undefined ? 'yielded' : 'opened';
    return { ...reply, value };
  }
}
