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
import type { Session } from '../../core/session.js';
import { runPair, type FencedPair } from './fencing-token.js';
import { ACQUIRE_NESTED, INSPECT, RELEASE_SOME, renewHashes } from './hash-lock.js';

/** The common steps of all locks that are one hash with a field for the owner. */
export abstract class HashProtocol {
  readonly nesting = 'in turn';
  readonly isShared = false;
  protected readonly connection: RedisConnection;

  /** @param tokenTtlMs how long the token key stays; 0 means without an end */
  constructor(
    protected readonly context: Session,
    private readonly tokenTtlMs: number,
  ) {
    this.connection = context.connection;
  }

  /** Acquires for a new owner. */
  protected abstract acquireFirst(
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
    if (holdCount === 1) return this.acquireFirst(hold, terms, claim);
    const args = [this.fieldOf(hold.owner), holdCount, terms.leaseTimeMs];
    return this.runPair(ACQUIRE_NESTED, [hold.key], args, terms);
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

  /** Runs the script of the two that fits the terms. */
  protected runPair<K extends string, A extends string>(
    pair: FencedPair<K, A>,
    keys: readonly [string, ...string[]],
    args: readonly (string | number)[],
    terms: AcquireTerms,
  ): Promise<Reply<AcquireAnswer>> {
    return runPair(this.connection, pair, keys, args, terms, this.tokenTtlMs);
  }
}
