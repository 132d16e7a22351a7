import { LockArgumentError, LockBackendError } from '../../core/api/errors.js';
import { runPair, tokenKey } from '../lua/fencing-token.js';
import * as hash from '../lua/hash-lock.js';
import type {
  AcquireAnswer,
  AcquireTerms,
  Inspection,
  ReleaseAnswer,
  LockProtocol,
  Owned,
  OwnerId,
  Renewal,
  RenewalAnswer,
} from '../../core/holding/protocol.js';
import { LOCK_OPTIONS } from '../../core/api/options.js';
import type { Random } from '../../core/time/random.js';
import type { RedisConnection, Reply } from '../../core/redis/connection.js';
import { Ballot } from './ballot.js';
import { channelOf } from './footprint.js';
import type { QuorumConnection } from './quorum-connection.js';
import { RAISE_TOKEN } from './red-lock.scripts.js';
import { Upkeep } from './upkeep.js';
import type { Ask } from './voting-node.js';
import {
  acquireVerdict,
  inspectionVerdict,
  releaseVerdict,
  nestedAcquireVerdict,
  renewalVerdict,
  type AcquireVerdict,
  type ReleaseVerdict,
} from './verdicts.js';

/**
 * The longest random pause of a caller after its first split vote. It grows with each further
 * split.
 */
const SPLIT_MS = 100;
const MOST_DOUBLINGS = 5;
/** The shortest pause: by then every node has the votes back. */
const SHORTEST_PAUSE_MS = 20;

/** The plain lock on each of several servers. The owner on a majority holds it. */
export class RedLockProtocol implements LockProtocol {
  readonly kind = 'red';
  readonly options = LOCK_OPTIONS.filter((option) => option !== 'minReplicas');
  readonly nesting = 'in turn';
  readonly waiting = 'in turn';
  readonly isShared = false;
  readonly remembersWaiters = false;
  readonly #upkeep: Upkeep;
  readonly #splits = new WeakMap<Owned, number>();

  /** @param tokenTtlMs how long a node remembers a token; 0 means without an end */
  constructor(
    private readonly connection: QuorumConnection,
    private readonly tokenTtlMs: number,
    private readonly random: Random,
  ) {
    this.#upkeep = new Upkeep(connection);
  }

  async acquire(
    hold: Owned,
    terms: AcquireTerms,
    holdCount: number,
  ): Promise<Reply<AcquireAnswer>> {
    const { connection } = this;
    const { key, owner } = hold;
    this.#refuseLongLease(terms.leaseTimeMs);
    connection.refuseMisfits();
    const isNested = holdCount > 1;
    const limitMs = connection.limitMs(terms.leaseTimeMs);
    const sentAt = connection.clock.now();
    const asked = connection.nodes.map((node) =>
      node.enter(owner, limitMs, (redis) => this.#acquireAt(redis, hold, terms, holdCount)),
    );
    const poll = new Ballot(asked, connection.quorum);
    try {
      const verdict = await poll.until(() =>
        isNested ? nestedAcquireVerdict(poll) : acquireVerdict(poll),
      );
      // A node may have identified itself just now, for its first vote.
      connection.refuseMisfits();
      const value = await this.#answerTo(verdict, hold, terms);
      if (value.kind === 'granted') {
        const renewal = { key, owner, renewMs: terms.leaseTimeMs };
        if (!isNested) this.#upkeep.begin(owner, sentAt);
        this.#upkeep.complete(renewal, sentAt, async (i) => (await asked[i])?.kind === 'granted');
      } else this.#upkeep.giveBack(key, owner, isNested ? undefined : poll);
      return { value, sentAt, resent: false };
    } catch (error) {
      // A nested acquire has no votes of its own. They are those of the hold.
      if (!isNested) this.#upkeep.giveBack(key, owner, poll);
      throw error;
    }
  }

  async release({ key, owner }: Owned, holdCount: number): Promise<Reply<ReleaseAnswer>> {
    const { connection } = this;
    const sentAt = connection.clock.now();
    const limitMs = connection.limitMs(Infinity);
    const isLast = holdCount === 0;
    const leave = this.#leave(key, owner, holdCount);
    const since = isLast ? this.#upkeep.end(owner) : undefined;
    const poll = connection.poll((node) =>
      isLast ? node.giveBack(owner, limitMs, leave, since) : node.ask(limitMs, leave),
    );
    const value = await poll.until(() => releaseVerdict(poll, isLast));
    if (value === 'absent' && !isLast) this.#upkeep.giveBack(key, owner);
    if (value !== 'uncertain') return { value, sentAt, resent: false };
    // As after a cut: it counts as done if the lease was still valid.
    return { value: 'absent', sentAt, resent: true };
  }

  /** Repeats the request in the background for nodes that do not answer. */
  async cancel({ key, owner }: Owned): Promise<Reply<undefined>> {
    const { connection } = this;
    const sentAt = connection.clock.now();
    const limitMs = connection.limitMs(Infinity);
    const leave = this.#leave(key, owner, 0);
    const since = this.#upkeep.end(owner);
    const poll = connection.poll((node) => node.giveBack(owner, limitMs, leave, since));
    await poll.until(() => poll.isComplete || undefined);
    return { value: undefined, sentAt, resent: false };
  }

  async renew(renewals: readonly Renewal[]): Promise<Reply<readonly RenewalAnswer[]>> {
    const { connection } = this;
    const renewMs = Math.max(...renewals.map((renewal) => renewal.renewMs));
    this.#refuseLongLease(renewMs);
    const limitMs = connection.limitMs(renewMs);
    const sentAt = connection.clock.now();
    const asked = connection.nodes.map((node) =>
      node.vote(limitMs, (redis) => hash.renewHashes(redis, renewals, 0)),
    );
    const poll = new Ballot(asked, connection.quorum);
    const verdicts = await poll.until(() => {
      const known = renewals.map((_, lock) => renewalVerdict(poll, lock));
      return poll.isComplete || !known.includes(undefined) ? known : undefined;
    });
    if (verdicts.every((verdict) => verdict === undefined)) throw poll.error();
    renewals.forEach((renewal, lock) => {
      const has = async (i: number) => (await asked[i])?.[lock] === true;
      if (verdicts[lock] === true) this.#upkeep.complete(renewal, sentAt, has);
      if (verdicts[lock] === false) this.#upkeep.giveBack(renewal.key, renewal.owner);
    });
    const value = verdicts.map((verdict) => verdict ?? doubt(poll));
    return { value, sentAt, resent: false };
  }

  async inspect(key: string): Promise<Reply<Inspection>> {
    const { connection } = this;
    const sentAt = connection.clock.now();
    const limitMs = connection.limitMs(Infinity);
    const poll = connection.poll((node) =>
      node.ask(limitMs, (redis) => redis.run(hash.INSPECT, [key], [])),
    );
    const value = await poll.until(() => inspectionVerdict(poll));
    return { value, sentAt, resent: false };
  }

  wakeUpChannel(key: string): string {
    return channelOf(key);
  }

  async #answerTo(
    verdict: AcquireVerdict,
    hold: Owned,
    terms: AcquireTerms,
  ): Promise<AcquireAnswer> {
    if (verdict.kind === 'split') return { kind: 'busy', remainingMs: this.#pause(hold) };
    if (verdict.kind !== 'granted') return verdict;
    if (!terms.fenced) return { kind: 'granted', fencingToken: undefined };
    const fencingToken = Math.max(...verdict.votes.map((vote) => vote.fencingToken ?? 0));
    await this.#spread(hold.key, fencingToken, terms);
    return { kind: 'granted', fencingToken };
  }

  /**
   * Resolves once a majority knows the token. The next owner receives it from one of them, and gets
   * a larger one.
   */
  async #spread(key: string, token: number, { leaseTimeMs }: AcquireTerms): Promise<void> {
    const { connection } = this;
    const args = [String(token), this.tokenTtlMs];
    const poll = connection.poll((node) =>
      node.vote(connection.limitMs(leaseTimeMs), (redis) =>
        redis.run(RAISE_TOKEN, [tokenKey(key)], args),
      ),
    );
    await poll.until(() => {
      if (poll.failures > poll.minority) throw poll.error();
      return poll.values.length >= poll.quorum || undefined;
    });
  }

  /** Doubles after each further split, so that any number of callers succeed in the end. */
  #pause(hold: Owned): number {
    const splits = this.#splits.get(hold) ?? 0;
    this.#splits.set(hold, Math.min(splits + 1, MOST_DOUBLINGS));
    return SHORTEST_PAUSE_MS + this.random.number() * SPLIT_MS * 2 ** splits;
  }

  #acquireAt(
    redis: RedisConnection,
    { key, owner }: Owned,
    { fenced, leaseTimeMs: leaseMs }: AcquireTerms,
    holdCount: number,
  ) {
    const terms = { fenced, minReplicas: 0 };
    const ttlMs = this.tokenTtlMs;
    return holdCount > 1
      ? runPair(redis, hash.ACQUIRE_NESTED, [key], [owner, holdCount, leaseMs], terms, ttlMs)
      : runPair(redis, hash.ACQUIRE, [key], [owner, leaseMs], terms, ttlMs);
  }

  /** A function of its own, so that a debt keeps no poll in memory. */
  #leave(key: string, owner: OwnerId, holdCount: number): Ask<ReleaseVerdict> {
    return async (redis) => {
      const reply = await this.#releaseAt(redis, key, owner, holdCount);
      // The first delivery may have released it.
      const isDoubtful = holdCount === 0 && reply.resent && reply.value === 'absent';
      return isDoubtful ? { ...reply, value: 'uncertain' } : reply;
    };
  }

  #releaseAt(redis: RedisConnection, key: string, owner: OwnerId, holdCount: number) {
    if (holdCount > 0) return redis.run(hash.RELEASE_SOME, [key], [owner, holdCount]);
    return redis.run(hash.RELEASE, [key], [owner, this.wakeUpChannel(key)]);
  }

  #refuseLongLease(leaseTimeMs: number): void {
    const { longestLeaseMs } = this.connection;
    if (leaseTimeMs <= longestLeaseMs) return;
    throw new LockArgumentError(
      `leaseTimeMs of a red lock must be at most ${String(longestLeaseMs)}, not ` +
        `${String(leaseTimeMs)}; raise redLock.longestLeaseMs. ` +
        'A restarted node does not vote for that time',
    );
  }
}

function doubt(poll: Ballot<unknown>): LockBackendError {
  const error = poll.error();
  if (error instanceof LockBackendError) return error;
  return new LockBackendError(error.message, { retryable: true, outcome: 'unknown', cause: error });
}
