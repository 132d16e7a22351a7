import { acquireHashAlone } from '../../core/lua/acquire-alone.js';
import { tokenKey, tokenTtlMs } from '../../core/lua/fencing-token.js';
import {
  grantChannel,
  lineKeys,
  passingOn,
  takingTurns,
  writtenClaim,
} from '../../core/lua/hand-off.js';
import { isAmongPolls, openEveryMs } from '../../core/lua/outsiders.js';
import {
  ACQUIRE,
  ACQUIRE_FENCED,
  INSPECT,
  RELEASE as LEAVE_ALONE,
  renewHashes,
} from '../../core/lua/hash-lock.js';
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
import { REENTRANT_OPTIONS } from '../../core/api/options.js';
import type { RedisConnection, Reply } from '../../core/redis/connection.js';
import {
  ACQUIRE_OR_QUEUE,
  ACQUIRE_OR_QUEUE_FENCED,
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

  acquire(key: string, owner: OwnerId, request: AcquireRequest): Promise<Reply<AcquireAnswer>> {
    const { holdCount, leaseTimeMs: leaseMs, minReplicas } = request;
    if (!request.fenced) {
      const args = { owner, holdCount, leaseMs };
      return this.#connection.run(ACQUIRE, { lock: key }, args, minReplicas);
    }
    const args = { owner, holdCount, leaseMs, tokenTtlMs: this.#tokenTtlMs };
    const keys = { lock: key, token: tokenKey(key) };
    return this.#slots.ask(
      key,
      () => this.#connection.run(ACQUIRE_FENCED, keys, args, minReplicas),
      () => this.#enterAlone(key, owner, request),
    );
  }

  acquireOrQueue(
    key: string,
    owner: OwnerId,
    request: AcquireRequest,
    claim: Claim,
  ): Promise<Reply<AcquireAnswer>> {
    const { leaseTimeMs: leaseMs, minReplicas, fenced } = request;
    const keys = keysOf(key);
    const args = { owner, leaseMs, claim: writtenClaim(claim) };
    const together = () => {
      if (!fenced) return this.#connection.run(ACQUIRE_OR_QUEUE, keys, args, minReplicas);
      const withToken = { ...keys, token: tokenKey(key) };
      const fencedArgs = { ...args, tokenTtlMs: this.#tokenTtlMs };
      return this.#connection.run(ACQUIRE_OR_QUEUE_FENCED, withToken, fencedArgs, minReplicas);
    };
    return this.#slots.ask(key, together, () => this.#enterAlone(key, owner, request));
  }

  release(
    key: string,
    owner: OwnerId,
    holdCount: number,
    heir?: Successor,
    keepMs = 0,
  ): Promise<Reply<ReleaseAnswer>> {
    const channel = this.wakeUpChannel(key);
    if (keepMs > 0)
      return this.#connection.run(RELEASE_LATER, { lock: key }, { owner, keepMs, channel });
    const openEveryMs = this.#openEveryMs;
    if (heir === undefined) {
      if (this.#isAmongPolls) return this.#leaveAlone(key, owner, holdCount);
      const args = { owner, holdCount, channel, openEveryMs };
      return this.#slots.ask(
        key,
        () => this.#connection.run(RELEASE, keysOf(key), args),
        () => this.#leaveAlone(key, owner, holdCount),
      );
    }
    const args = passingOn(owner, heir, channel);
    if (heir.claim === undefined) return this.#connection.run(PASS, { lock: key }, args);
    if (this.#isAmongPolls) return this.#open(key, owner);
    const turn = takingTurns(owner, heir, heir.claim, { channel, openEveryMs });
    return this.#slots.ask(
      key,
      () => this.#connection.run(PASS_IN_ORDER, keysOf(key), turn),
      () => this.#open(key, owner),
    );
  }

  cancel(key: string, owner: OwnerId) {
    const args = { owner, channel: this.wakeUpChannel(key), openEveryMs: this.#openEveryMs };
    return this.#slots.ask(
      key,
      () => this.#connection.run(CANCEL, keysOf(key), args),
      () => this.#leaveAlone(key, owner, 0),
    );
  }

  renew(renewals: readonly Renewal[], minReplicas: number) {
    return renewHashes(this.#connection, renewals, minReplicas);
  }

  inspect(key: string) {
    return this.#connection.run(INSPECT, { lock: key }, {});
  }

  wakeUpChannel(key: string): string {
    return helperKey('redisson_lock__channel', key);
  }

  grantChannel(key: string): string {
    return grantChannel(key, this.context.id);
  }

  #enterAlone(key: string, owner: OwnerId, request: AcquireRequest): Promise<Reply<AcquireAnswer>> {
    const leave = (holdCount: number) => this.#leaveAlone(key, owner, holdCount);
    const alone = { key, request, tokenTtlMs: this.#tokenTtlMs, leave };
    return acquireHashAlone(this.#connection, owner, alone);
  }

  /** Nobody stands in line: those of other processes get a chance before the heir asks. */
  async #open(key: string, owner: OwnerId): Promise<Reply<ReleaseAnswer>> {
    const reply = await this.#leaveAlone(key, owner, 0);
    return reply.value === 'done' ? { ...reply, value: 'opened' } : reply;
  }

  /** Whoever is in line finds out by asking: a script of the lock's key alone is not held up. */
  #leaveAlone(key: string, owner: OwnerId, holdCount: number): Promise<Reply<ReleaseAnswer>> {
    const args = { owner, holdCount, channel: this.wakeUpChannel(key) };
    return this.#connection.run(LEAVE_ALONE, { lock: key }, args);
  }
}

/** Of a script that looks at the line, or changes it. */
function keysOf(key: string) {
  const { queue, claims, opened } = lineKeys(key);
  return { lock: key, queue, claims, opened };
}
