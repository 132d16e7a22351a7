import { enterHashAlone } from '../../core/enter-alone.js';
import { tokenKey, tokenTtlMs } from '../../core/fencing-token.js';
import { passingOn, writtenTerms } from '../../core/hand-off.js';
import { INSPECT, LEAVE as LEAVE_ALONE, renewHashes } from '../../core/hash-lock.js';
import type {
  Claim,
  EnterAnswer,
  EnterRequest,
  Heir,
  LeaveAnswer,
  LockProtocol,
  OwnerId,
  Renewal,
} from '../../core/hold-protocol.js';
import { helperKey } from '../../core/key-space.js';
import type { LockContext } from '../../core/lock-context.js';
import { MovingSlots } from '../../core/moving-slots.js';
import { NamedLocks } from '../../core/named-locks.js';
import { LOCK_OPTIONS } from '../../core/options.js';
import { aliveMs } from '../../core/poll.js';
import type { Reply } from '../../core/redis-connection.js';
import { ENTER, ENTER_FENCED, LEAVE, PASS_ON, WITHDRAW } from './fair-lock.scripts.js';

/**
 * Fair locks on Redis: who asked first gets the lock first, among all processes that share the
 * server, Java services with Redisson's `RFairLock` included.
 */
export class FairLockService extends NamedLocks {
  constructor(context: LockContext) {
    super(context, new FairProtocol(context));
  }
}

class FairProtocol implements LockProtocol {
  readonly kind = 'fair';
  readonly options = LOCK_OPTIONS;
  readonly nesting = 'in turn';
  readonly waiting = 'each';
  readonly isShared = false;
  readonly remembersWaiters = true;
  readonly #aliveMs: number;
  readonly #slots: MovingSlots;

  constructor(private readonly context: LockContext) {
    this.#slots = new MovingSlots(context);
    this.#aliveMs = aliveMs(context.settings.pollIntervalMs);
  }

  enter(key: string, owner: OwnerId, request: EnterRequest): Promise<Reply<EnterAnswer>> {
    return this.#enter(key, owner, request, '');
  }

  claim(key: string, owner: OwnerId, request: EnterRequest, claim: Claim) {
    // One that polls gets the lock no sooner by being handed it: it is first in the queue, or not.
    const terms = claim.manner === 'polls' ? '' : writtenTerms(claim);
    return this.#enter(key, owner, request, terms);
  }

  leave(key: string, owner: OwnerId, holdCount: number, heir?: Heir): Promise<Reply<LeaveAnswer>> {
    const { connection } = this.context;
    const channelPrefix = channelOf(key);
    const alone = () => this.#leaveAlone(key, owner, holdCount);
    if (heir === undefined) {
      const args = { owner, holdCount, channelPrefix };
      return this.#slots.ask(key, () => connection.run(LEAVE, keysOf(key), args), alone);
    }
    const { heir: next, leaseMs, starts } = passingOn(owner, heir, channelPrefix);
    const args = { owner, heir: next, leaseMs, starts, channelPrefix };
    return this.#slots.ask(key, () => connection.run(PASS_ON, keysOf(key), args), alone);
  }

  withdraw(key: string, owner: OwnerId, request: EnterRequest) {
    const args = { owner, waitMs: this.#waitMs(request), channelPrefix: channelOf(key) };
    return this.#slots.ask(
      key,
      () => this.context.connection.run(WITHDRAW, keysOf(key), args),
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
    request: EnterRequest,
    terms: string,
  ): Promise<Reply<EnterAnswer>> {
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
      if (!request.fenced) return connection.run(ENTER, keysOf(key), args, minReplicas);
      const withToken = { ...keysOf(key), token: tokenKey(key) };
      return connection.run(ENTER_FENCED, withToken, { ...args, tokenTtlMs: ttlMs }, minReplicas);
    };
    const leave = (count: number) => this.#leaveAlone(key, owner, count);
    return this.#slots.ask(key, together, () =>
      enterHashAlone(connection, owner, { key, request, tokenTtlMs: ttlMs, leave }),
    );
  }

  /** Waiters in the queue, which may be on another node, find out by their poll. */
  #leaveAlone(key: string, owner: OwnerId, holdCount: number): Promise<Reply<LeaveAnswer>> {
    const args = { owner, holdCount, channel: channelOf(key) };
    return this.context.connection.run(LEAVE_ALONE, { lock: key }, args);
  }

  /** What the waiter adds to the score of everybody behind it, as in Redisson. */
  #waitMs({ waitTimeMs }: EnterRequest): number {
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
