import { LockBackendError } from '../../core/api/errors.js';
import type {
  AcquireAnswer,
  AcquireTerms,
  Claim,
  Owned,
  OwnerId,
  ReleaseAnswer,
  Renewal,
  Successor,
} from '../../core/holding/protocol.js';
import type { RedisConnection, Reply } from '../../core/redis/connection.js';
import { MovingSlots } from '../../core/redis/moving-slots.js';
import { asUnknown } from '../../core/redis/retry.js';
import { defineScript } from '../../core/redis/script.js';
import type { Session } from '../../core/session.js';
import { fencedAnswer } from './answers.js';
import { runPair, takeToken, tokenKey, type FencedPair } from './fencing-token.js';
import { ACQUIRE, ACQUIRE_NESTED, INSPECT, RELEASE_SOME, renewHashes } from './hash-lock.js';

/** A token for an owner that already holds the lock. */
export const TAKE_TOKEN = defineScript({
  name: 'fencing-token.take',
  keys: ['token'],
  args: ['tokenTtlMs'],
  numbers: ['tokenTtlMs'],
  body: `${takeToken('true')}
return fence`,
  reply: fencedAnswer,
});

/** The common steps of all locks that are one hash with a field for the owner. */
export abstract class HashProtocol {
  readonly nesting = 'in turn';
  readonly isShared = false;
  protected readonly connection: RedisConnection;
  protected readonly slots: MovingSlots;

  /** @param tokenTtlMs how long the token key stays; 0 means without an end */
  constructor(
    protected readonly context: Session,
    private readonly tokenTtlMs: number,
  ) {
    this.connection = context.connection;
    this.slots = new MovingSlots(context);
  }

  /** The script of all keys that acquires for a new owner. */
  protected abstract acquireTogether(
    hold: Owned,
    terms: AcquireTerms,
    claim?: Claim,
  ): Promise<Reply<AcquireAnswer>>;

  /** Releases the last lease. */
  protected abstract releaseLast(
    hold: Owned,
    successor: Successor | undefined,
    keepMs: number,
  ): Promise<Reply<ReleaseAnswer>>;

  /** The field of an owner. */
  protected fieldOf(owner: OwnerId): string {
    return owner;
  }

  acquire(
    hold: Owned,
    terms: AcquireTerms,
    holdCount: number,
    claim?: Claim,
  ): Promise<Reply<AcquireAnswer>> {
    if (holdCount > 1) return this.#acquireNested(hold, terms, holdCount);
    const alone = () => this.acquireAlone(hold, terms);
    return this.slots.ask(
      hold.key,
      () => this.acquireTogether(hold, terms, claim),
      () => (terms.fenced ? this.#acquireThenToken(hold, terms, 1, alone) : alone()),
    );
  }

  release(
    hold: Owned,
    holdCount: number,
    successor?: Successor,
    keepMs = 0,
  ): Promise<Reply<ReleaseAnswer>> {
    if (holdCount === 0) return this.releaseLast(hold, successor, keepMs);
    const args = [this.fieldOf(hold.owner), holdCount];
    return this.connection.run(RELEASE_SOME, [hold.key], args);
  }

  renew(renewals: readonly Renewal[], minReplicas: number) {
    return renewHashes(this.connection, renewals, minReplicas);
  }

  inspect(key: string) {
    return this.connection.run(INSPECT, [key], []);
  }

  /** Acquires by the key of the lock alone, without the queue: also while its slot is moving. */
  protected acquireAlone({ key, owner }: Owned, terms: AcquireTerms) {
    const { leaseTimeMs, minReplicas } = terms;
    return this.connection.run(ACQUIRE, [key], [owner, leaseTimeMs], minReplicas);
  }

  /** Runs the script of the two that fits the terms. */
  protected runPair<K extends string, A extends string>(
    pair: FencedPair<K, A>,
    keys: readonly [string, ...string[]],
    args: readonly (string | number)[],
    terms: AcquireTerms,
  ): Promise<Reply<AcquireAnswer>> {
    return runPair(this.connection, pair, keys, args, terms, this.tokenTtlMs);
  }

  /** Acquires once more for an owner that holds the lock. */
  #acquireNested(hold: Owned, terms: AcquireTerms, holdCount: number) {
    const { key, owner } = hold;
    const args = [this.fieldOf(owner), holdCount, terms.leaseTimeMs];
    const nest = () => this.connection.run(ACQUIRE_NESTED, [key], args, terms.minReplicas);
    if (!terms.fenced) return nest();
    return this.slots.ask(
      key,
      () => this.runPair(ACQUIRE_NESTED, [key], args, terms),
      () => this.#acquireThenToken(hold, terms, holdCount, nest),
    );
  }

  /** The lock first, and then the token, which may be on another node. */
  async #acquireThenToken(
    hold: Owned,
    terms: AcquireTerms,
    holdCount: number,
    acquire: () => Promise<Reply<AcquireAnswer>>,
  ): Promise<Reply<AcquireAnswer>> {
    const acquired = await acquire();
    if (acquired.value.kind !== 'granted') return acquired;
    try {
      return await this.#withToken(hold, terms, holdCount, acquired);
    } catch (error) {
      // The owner holds the lock: its waiter cancels it, or tries again.
      if (error instanceof LockBackendError) throw asUnknown(error);
      await this.release(hold, holdCount - 1).catch(() => undefined);
      throw error;
    }
  }

  async #withToken(
    { key, owner }: Owned,
    { minReplicas, leaseTimeMs: renewMs }: AcquireTerms,
    holdCount: number,
    { sentAt, resent }: Reply<AcquireAnswer>,
  ): Promise<Reply<AcquireAnswer>> {
    const { connection, tokenTtlMs } = this;
    const taken = await connection.run(TAKE_TOKEN, [tokenKey(key)], [tokenTtlMs], minReplicas);
    // If the lock was lost before, another owner may have received a smaller token since.
    const renewal = { key, owner: this.fieldOf(owner), renewMs };
    const renewed = await renewHashes(connection, [renewal], minReplicas);
    const wasResent = resent || taken.resent || renewed.resent;
    if (renewed.value[0] === true) return { value: taken.value, sentAt, resent: wasResent };
    const value: AcquireAnswer =
      holdCount > 1 ? { kind: 'lost' } : { kind: 'busy', remainingMs: 0 };
    return { value, sentAt, resent: wasResent };
  }
}
