import { acquireHashAlone } from '../../core/lua/acquire-alone.js';
import { tokenKey, tokenTtlMs } from '../../core/lua/fencing-token.js';
import { passingOn, writtenTerms } from '../../core/lua/hand-off.js';
import { INSPECT, RELEASE as LEAVE_ALONE, renewHashes } from '../../core/lua/hash-lock.js';
import type {
  Claim,
  AcquireAnswer,
  AcquireRequest,
  Successor,
  ReleaseAnswer,
  LockProtocol,
  OwnerId,
  Renewal,
} from '../../core/holding/protocol.js';
import { helperKey } from '../../core/redis/key-names.js';
import type { LockContext } from '../../core/lock-context.js';
import { MovingSlots } from '../../core/redis/moving-slots.js';
import { NamedLocks } from '../../core/named-locks.js';
import { LOCK_OPTIONS } from '../../core/api/options.js';
import { aliveMs } from '../../core/waiting/poll.js';
import type { Reply } from '../../core/redis/connection.js';
import { ACQUIRE, ACQUIRE_FENCED, RELEASE, PASS, CANCEL } from './fair-lock.scripts.js';

/**
 * Fair locks on Redis: who asked first gets the lock first, among all processes that share the
 * server, Java services with Redisson's `RFairLock` included.
 */
export class FairLockService extends NamedLocks {
  constructor(context: LockContext) {
    super(context, new FairProtocol(context));
  }
}

/** While a slot is half way nobody is told of a release: who waits asks so often at least. */
const ALONE_POLL_MS = 100;
/** So many of a key are remembered who have left without a look at the queue. */
const MOST_STRAYS = 10_000;
/** For how long it is tried to take them out of it. */
const INSIST_MS = 5 * 60 * 1_000;

class FairProtocol implements LockProtocol {
  readonly kind = 'fair';
  readonly options = LOCK_OPTIONS;
  readonly nesting = 'in turn';
  readonly waiting = 'each';
  readonly isShared = false;
  readonly remembersWaiters = true;
  readonly #aliveMs: number;
  readonly #slots: MovingSlots;
  /** By key those who may still have a place in the queue, which would stop everybody behind it. */
  readonly #strays = new Map<string, OwnerId[]>();

  constructor(private readonly context: LockContext) {
    this.#slots = new MovingSlots(context);
    this.#aliveMs = aliveMs(context.settings.pollIntervalMs);
  }

  acquire(key: string, owner: OwnerId, request: AcquireRequest): Promise<Reply<AcquireAnswer>> {
    return this.#enter(key, owner, request, '');
  }

  acquireOrQueue(key: string, owner: OwnerId, request: AcquireRequest, claim: Claim) {
    // One that polls gets the lock no sooner by being handed it: it is first in the queue, or not.
    const terms = claim.manner === 'polls' ? '' : writtenTerms(claim);
    return this.#enter(key, owner, request, terms);
  }

  release(
    key: string,
    owner: OwnerId,
    holdCount: number,
    heir?: Successor,
  ): Promise<Reply<ReleaseAnswer>> {
    const { connection } = this.context;
    const channelPrefix = channelOf(key);
    if (heir === undefined) {
      const args = { owner, holdCount, channelPrefix };
      return this.#slots.ask(
        key,
        () => connection.run(RELEASE, keysOf(key), args),
        () => this.#leaveAlone(key, owner, holdCount),
      );
    }
    const { heir: next, leaseMs, starts } = passingOn(owner, heir, channelPrefix);
    const args = { owner, heir: next, leaseMs, starts, channelPrefix };
    return this.#slots.ask(
      key,
      () => connection.run(PASS, keysOf(key), args),
      () => this.#yieldAlone(key, owner),
    );
  }

  cancel(key: string, owner: OwnerId, request: AcquireRequest) {
    return this.#slots.ask(
      key,
      () => this.#withdraw(key, owner, this.#waitMs(request)),
      () => this.#leaveAlone(key, owner, 0),
    );
  }

  renew(renewals: readonly Renewal[], minReplicas: number) {
    return renewHashes(this.context.connection, renewals, minReplicas);
  }

  inspect(key: string) {
    return this.context.connection.run(INSPECT, { lock: key }, {});
  }

  wakeUpChannel(key: string, owner: OwnerId): string {
    return `${channelOf(key)}:${owner}`;
  }

  /** A waiter hears on one channel that the lock is free, and that it has it. */
  grantChannel(key: string, owner: OwnerId): string {
    return this.wakeUpChannel(key, owner);
  }

  #enter(
    key: string,
    owner: OwnerId,
    request: AcquireRequest,
    terms: string,
  ): Promise<Reply<AcquireAnswer>> {
    const { holdCount, leaseTimeMs: leaseMs, minReplicas } = request;
    const channelPrefix = channelOf(key);
    const waitMs = this.#waitMs(request);
    const aliveMs = this.#aliveMs;
    const { connection, clock, settings } = this.context;
    // Rounded down: what is told later of this question must not seem newer than it is.
    const askedAt = Math.floor(clock.now());
    const args = { owner, holdCount, leaseMs, waitMs, aliveMs, askedAt, terms, channelPrefix };
    const ttlMs = tokenTtlMs(settings);
    const together = () => {
      if (!request.fenced) return connection.run(ACQUIRE, keysOf(key), args, minReplicas);
      const withToken = { ...keysOf(key), token: tokenKey(key) };
      return connection.run(ACQUIRE_FENCED, withToken, { ...args, tokenTtlMs: ttlMs }, minReplicas);
    };
    const leave = (count: number) => this.#leaveAlone(key, owner, count);
    return this.#slots.ask(key, together, async () => {
      const alone = { key, request, tokenTtlMs: ttlMs, leave };
      const reply = await acquireHashAlone(connection, owner, alone);
      const { value } = reply;
      if (value.kind !== 'busy') return reply;
      const remainingMs = Math.min(value.remainingMs, ALONE_POLL_MS);
      return { ...reply, value: { ...value, remainingMs } };
    });
  }

  /** Waiters in the queue, which may be on another node, find out by their poll. */
  async #leaveAlone(key: string, owner: OwnerId, holdCount: number): Promise<Reply<ReleaseAnswer>> {
    const args = { owner, holdCount, channel: channelOf(key) };
    const reply = await this.context.connection.run(LEAVE_ALONE, { lock: key }, args);
    if (holdCount === 0) this.#leaveQueue(key, owner);
    return reply;
  }

  /** Nobody is handed it: the heir asks by itself. */
  async #yieldAlone(key: string, owner: OwnerId): Promise<Reply<ReleaseAnswer>> {
    const reply = await this.#leaveAlone(key, owner, 0);
    return reply.value === 'done' ? { ...reply, value: 'yielded' } : reply;
  }

  /** As soon as the slot has arrived. Until then one for each key finds out when that is. */
  #leaveQueue(key: string, owner: OwnerId): void {
    const others = this.#strays.get(key);
    if (others !== undefined) {
      if (others.length < MOST_STRAYS) others.push(owner);
      return;
    }
    const strays: OwnerId[] = [];
    this.#strays.set(key, strays);
    const { keeper } = this.context;
    const withdraw = (stray: OwnerId) => this.#withdraw(key, stray, 0);
    const of = { name: key, kind: this.kind } as const;
    void keeper
      .insist(of, INSIST_MS, () => withdraw(owner))
      .then(() => {
        this.#strays.delete(key);
        for (const stray of strays) void keeper.insist(of, INSIST_MS, () => withdraw(stray));
      });
  }

  #withdraw(key: string, owner: OwnerId, waitMs: number): Promise<Reply<ReleaseAnswer>> {
    const args = { owner, waitMs, channelPrefix: channelOf(key) };
    return this.context.connection.run(CANCEL, keysOf(key), args);
  }

  /** What the waiter adds to the score of everybody behind it, as in Redisson. */
  #waitMs({ waitTimeMs }: AcquireRequest): number {
    return waitTimeMs === Infinity ? this.context.settings.fairLockWaitTimeMs : waitTimeMs;
  }
}

/** The waiters of a key are told on a channel each, behind this. */
function channelOf(key: string): string {
  return helperKey('redisson_lock__channel', key);
}

function keysOf(key: string) {
  return {
    lock: key,
    queue: helperKey('redisson_lock_queue', key),
    timeouts: helperKey('redisson_lock_timeout', key),
    waiting: helperKey('nestjs_fair_waiting', key),
  };
}
