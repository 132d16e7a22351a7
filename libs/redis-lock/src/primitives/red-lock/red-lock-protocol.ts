import { LockArgumentError, LockBackendError } from '../../core/api/errors.js';
import { tokenKey } from '../../core/lua/fencing-token.js';
import {
  ACQUIRE,
  ACQUIRE_FENCED,
  INSPECT,
  RELEASE,
  renewHashes,
} from '../../core/lua/hash-lock.js';
import type {
  AcquireAnswer,
  AcquireRequest,
  Inspection,
  ReleaseAnswer,
  LockProtocol,
  OwnerId,
  Renewal,
  RenewalAnswer,
} from '../../core/holding/protocol.js';
import { helperKey } from '../../core/redis/key-names.js';
import { LOCK_OPTIONS } from '../../core/api/options.js';
import type { RedisConnection, Reply } from '../../core/redis/connection.js';
import { Ballot } from './ballot.js';
import type { QuorumConnection } from './quorum-connection.js';
import { RAISE_TOKEN } from './red-lock.scripts.js';
import { Upkeep } from './upkeep.js';
import {
  acquireVerdict,
  inspectionVerdict,
  releaseVerdict,
  nestedAcquireVerdict,
  renewalVerdict,
  type AcquireVerdict,
  type ReleaseVerdict,
} from './verdicts.js';

/** After votes were split everybody pauses for a random time: up to this at first, then ever longer. */
const SPLIT_MS = 100;
const MOST_DOUBLINGS = 5;
/** At least, so that what was given back is given back everywhere. */
const SHORTEST_PAUSE_MS = 20;

/** The plain lock on each of several servers; whoever has it on a majority has it. */
export class RedLockProtocol implements LockProtocol {
  readonly kind = 'red';
  readonly options = LOCK_OPTIONS.filter((option) => option !== 'minReplicas');
  readonly nesting = 'in turn';
  readonly waiting = 'in turn';
  readonly isShared = false;
  readonly remembersWaiters = false;
  readonly #upkeep: Upkeep;
  readonly #splits = new WeakMap<AcquireRequest, number>();

  /** @param tokenTtlMs for how long a node remembers a token; 0 is for ever */
  constructor(
    private readonly connection: QuorumConnection,
    private readonly tokenTtlMs: number,
  ) {
    this.#upkeep = new Upkeep(connection);
  }

  async acquire(
    key: string,
    owner: OwnerId,
    request: AcquireRequest,
  ): Promise<Reply<AcquireAnswer>> {
    const { connection } = this;
    this.#refuseLongLease(request.leaseTimeMs);
    connection.refuseMisfits();
    const isNested = request.holdCount > 1;
    const limitMs = connection.limitMs(request.leaseTimeMs);
    const sentAt = connection.clock.now();
    const asked = connection.nodes.map((node) =>
      node.enter(owner, limitMs, (redis) => this.#enterAt(redis, key, owner, request)),
    );
    const poll = new Ballot(asked, connection.quorum);
    try {
      const verdict = await poll.until(() =>
        isNested ? nestedAcquireVerdict(poll) : acquireVerdict(poll),
      );
      const value = await this.#answerTo(verdict, key, request);
      if (value.kind === 'granted') {
        const hold = { key, owner, leaseTimeMs: request.leaseTimeMs };
        if (!isNested) this.#upkeep.begin(owner);
        this.#upkeep.complete(hold, sentAt, async (i) => (await asked[i])?.kind === 'granted');
      } else this.#upkeep.giveBack(key, owner, isNested ? undefined : poll);
      return { value, sentAt, resent: false };
    } catch (error) {
      // Of a nested entry, the votes are those of the hold.
      if (!isNested) this.#upkeep.giveBack(key, owner, poll);
      throw error;
    }
  }

  async release(key: string, owner: OwnerId, holdCount: number): Promise<Reply<ReleaseAnswer>> {
    const { connection } = this;
    const sentAt = connection.clock.now();
    const limitMs = connection.limitMs(Infinity);
    const isLast = holdCount === 0;
    const leave = async (redis: RedisConnection): Promise<Reply<ReleaseVerdict>> => {
      const reply = await this.#leaveAt(redis, key, owner, holdCount);
      // The first delivery may have freed it.
      const isDoubtful = isLast && reply.resent && reply.value === 'absent';
      return isDoubtful ? { ...reply, value: 'uncertain' } : reply;
    };
    if (isLast) this.#upkeep.end(owner);
    const poll = connection.poll((node) =>
      isLast ? node.giveBack(owner, limitMs, leave) : node.ask(limitMs, leave),
    );
    const value = await poll.until(() => releaseVerdict(poll, isLast));
    if (value === 'absent' && !isLast) this.#upkeep.giveBack(key, owner);
    if (value !== 'uncertain') return { value, sentAt, resent: false };
    // As after a cut: it counts as done if the lease was still valid.
    return { value: 'absent', sentAt, resent: true };
  }

  /** The nodes that do not answer are asked on in the background. */
  async cancel(key: string, owner: OwnerId): Promise<Reply<undefined>> {
    const { connection } = this;
    const sentAt = connection.clock.now();
    const limitMs = connection.limitMs(Infinity);
    this.#upkeep.end(owner);
    const poll = connection.poll((node) =>
      node.giveBack(owner, limitMs, (redis) => this.#leaveAt(redis, key, owner, 0)),
    );
    await poll.until(() => poll.isComplete || undefined);
    return { value: undefined, sentAt, resent: false };
  }

  async renew(renewals: readonly Renewal[]): Promise<Reply<readonly RenewalAnswer[]>> {
    const { connection } = this;
    const leaseTimeMs = Math.max(...renewals.map((renewal) => renewal.leaseTimeMs));
    this.#refuseLongLease(leaseTimeMs);
    const limitMs = connection.limitMs(leaseTimeMs);
    const sentAt = connection.clock.now();
    const asked = connection.nodes.map((node) =>
      node.vote(limitMs, (redis) => renewHashes(redis, renewals, 0)),
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
      node.ask(limitMs, (redis) => redis.run(INSPECT, { lock: key }, {})),
    );
    const value = await poll.until(() => inspectionVerdict(poll));
    return { value, sentAt, resent: false };
  }

  wakeUpChannel(key: string): string {
    return helperKey('redisson_lock__channel', key);
  }

  async #answerTo(
    verdict: AcquireVerdict,
    key: string,
    request: AcquireRequest,
  ): Promise<AcquireAnswer> {
    if (verdict.kind === 'split') return { kind: 'busy', remainingMs: this.#pause(request) };
    if (verdict.kind !== 'granted') return verdict;
    if (!request.fenced) return { kind: 'granted', fencingToken: undefined };
    const fencingToken = Math.max(...verdict.votes.map((vote) => vote.fencingToken ?? 0));
    await this.#spread(key, fencingToken, request);
    return { kind: 'granted', fencingToken };
  }

  /**
   * Resolves once a majority knows the token: whoever is granted the lock next hears of it from one
   * of them, and gets a larger one.
   */
  async #spread(key: string, token: number, { leaseTimeMs }: AcquireRequest): Promise<void> {
    const { connection } = this;
    const args = { fence: String(token), tokenTtlMs: this.tokenTtlMs };
    const poll = connection.poll((node) =>
      node.vote(connection.limitMs(leaseTimeMs), (redis) =>
        redis.run(RAISE_TOKEN, { token: tokenKey(key) }, args),
      ),
    );
    await poll.until(() => {
      if (poll.failures > poll.minority) throw poll.error();
      return poll.values.length >= poll.quorum || undefined;
    });
  }

  /** Doubled at every further split, so that any number of contenders come to an end. */
  #pause(request: AcquireRequest): number {
    const splits = this.#splits.get(request) ?? 0;
    this.#splits.set(request, Math.min(splits + 1, MOST_DOUBLINGS));
    return SHORTEST_PAUSE_MS + Math.random() * SPLIT_MS * 2 ** splits;
  }

  #enterAt(redis: RedisConnection, key: string, owner: OwnerId, request: AcquireRequest) {
    const { holdCount, leaseTimeMs: leaseMs } = request;
    if (!request.fenced) return redis.run(ACQUIRE, { lock: key }, { owner, holdCount, leaseMs });
    const args = { owner, holdCount, leaseMs, tokenTtlMs: this.tokenTtlMs };
    return redis.run(ACQUIRE_FENCED, { lock: key, token: tokenKey(key) }, args);
  }

  #leaveAt(redis: RedisConnection, key: string, owner: OwnerId, holdCount: number) {
    const channel = this.wakeUpChannel(key);
    return redis.run(RELEASE, { lock: key }, { owner, holdCount, channel });
  }

  #refuseLongLease(leaseTimeMs: number): void {
    const { longestLeaseMs } = this.connection;
    if (leaseTimeMs <= longestLeaseMs) return;
    throw new LockArgumentError(
      `leaseTimeMs of a red lock must be at most ${String(longestLeaseMs)}, the time for which a ` +
        `restarted node does not vote, not ${String(leaseTimeMs)}; raise redLock.longestLeaseMs`,
    );
  }
}

function doubt(poll: Ballot<unknown>): LockBackendError {
  const error = poll.error();
  if (error instanceof LockBackendError) return error;
  return new LockBackendError(error.message, { retryable: true, outcome: 'unknown', cause: error });
}
