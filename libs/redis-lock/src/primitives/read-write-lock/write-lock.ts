import { LockStateError, quoteName } from '../../core/api/errors.js';
import { TOKEN_TTL_MS, tokenKey } from '../../core/lua/fencing-token.js';
import {
  grantChannel,
  lineKeys,
  passingOn,
  takingTurns,
  writtenClaim,
} from '../../core/lua/hand-off.js';
import { openEveryMs } from '../../core/lua/outsiders.js';
import { acquireFenced } from '../../core/lua/acquire-alone.js';
import { renewHashes } from '../../core/lua/hash-lock.js';
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
import type { LockContext } from '../../core/lock-context.js';
import { MovingSlots } from '../../core/redis/moving-slots.js';
import { LOCK_OPTIONS } from '../../core/api/options.js';
import type { Reply } from '../../core/redis/connection.js';
import { releaseWritingAlone } from './alone.js';
import { WRITE_ACQUIRE_ALONE } from './alone.scripts.js';
import { channelOf, readersPrefix, writerOf } from './read-write-hash.js';
import { memoryMs, turnKeys } from './turns.js';
import {
  WRITE_RELEASE,
  WRITE_PASS,
  WRITE_PASS_IN_ORDER,
  WRITE_CANCEL,
} from './write-release.scripts.js';
import {
  WRITE_ACQUIRE_OR_QUEUE,
  WRITE_ACQUIRE_OR_QUEUE_FENCED,
  WRITE_ACQUIRE,
  WRITE_ACQUIRE_FENCED,
  WRITE_INSPECT,
} from './write-lock.scripts.js';

/** The side that one holds, and nobody else at the same time; the writer itself may read. */
export class WriteLockProtocol implements LockProtocol {
  readonly kind = 'write';
  readonly options = LOCK_OPTIONS;
  readonly nesting = 'in turn';
  readonly waiting = 'in turn';
  readonly countsOutsiders = true;
  readonly isShared = false;
  readonly remembersWaiters = true;
  /** By the writer's own reads. */
  readonly outlastsLease = true;
  readonly #slots: MovingSlots;

  /** @param isUpgrade whether the call is inside a read hold, and in no write hold that it joins */
  constructor(
    private readonly context: LockContext,
    private readonly isUpgrade: (key: string) => boolean,
  ) {
    this.#slots = new MovingSlots(context);
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

  acquire(key: string, owner: OwnerId, request: AcquireRequest) {
    const keys = keysOf(key);
    const args = this.#entering(key, owner, request);
    const { connection } = this.context;
    const together = () =>
      request.fenced
        ? connection.run(WRITE_ACQUIRE_FENCED, withToken(keys), withTtl(args), request.minReplicas)
        : connection.run(WRITE_ACQUIRE, keys, args, request.minReplicas);
    return this.#slots.ask(key, together, () => this.#enterAlone(key, owner, request));
  }

  acquireOrQueue(key: string, owner: OwnerId, request: AcquireRequest, claim: Claim) {
    const keys = keysOf(key);
    const args = { ...this.#entering(key, owner, request), claim: writtenClaim(claim) };
    const { connection } = this.context;
    const together = () =>
      request.fenced
        ? connection.run(
            WRITE_ACQUIRE_OR_QUEUE_FENCED,
            withToken(keys),
            withTtl(args),
            request.minReplicas,
          )
        : connection.run(WRITE_ACQUIRE_OR_QUEUE, keys, args, request.minReplicas);
    return this.#slots.ask(key, together, () => this.#enterAlone(key, owner, request));
  }

  release(
    key: string,
    owner: OwnerId,
    holdCount: number,
    heir?: Successor,
  ): Promise<Reply<ReleaseAnswer>> {
    return this.#slots.ask(
      key,
      () => this.#leave(key, owner, holdCount, heir),
      () => this.#leaveAlone(key, owner, holdCount, heir),
    );
  }

  #leave(key: string, owner: OwnerId, holdCount: number, heir?: Successor) {
    const { connection, settings } = this.context;
    const keys = keysOf(key);
    const channel = channelOf(key);
    const announcing = { channel, openEveryMs: openEveryMs(settings) };
    if (heir === undefined) {
      return connection.run(WRITE_RELEASE, keys, { ...announcing, owner, holdCount });
    }
    const { claim } = heir;
    if (claim === undefined)
      return connection.run(WRITE_PASS, keys, passingOn(owner, heir, channel));
    const turn = takingTurns(owner, heir, claim, announcing);
    const args = { ...turn, memoryMs: memoryMs(settings.pollIntervalMs) };
    return connection.run(WRITE_PASS_IN_ORDER, keys, args);
  }

  cancel(key: string, owner: OwnerId) {
    const { connection, settings } = this.context;
    const args = { owner, channel: channelOf(key), openEveryMs: openEveryMs(settings) };
    return this.#slots.ask(
      key,
      () => connection.run(WRITE_CANCEL, keysOf(key), args),
      () => releaseWritingAlone(connection, key, owner, 0),
    );
  }

  renew(renewals: readonly Renewal[], minReplicas: number) {
    const ofWriters = renewals.map((renewal) => ({ ...renewal, owner: writerOf(renewal.owner) }));
    return renewHashes(this.context.connection, ofWriters, minReplicas);
  }

  inspect(key: string) {
    return this.context.connection.run(WRITE_INSPECT, { lock: key }, {});
  }

  wakeUpChannel(key: string): string {
    return channelOf(key);
  }

  grantChannel(key: string): string {
    return grantChannel(key, this.context.id, 'rwlock');
  }

  #enterAlone(key: string, owner: OwnerId, request: AcquireRequest): Promise<Reply<AcquireAnswer>> {
    const { connection } = this.context;
    const { holdCount, leaseTimeMs: leaseMs, minReplicas, fenced } = request;
    const args = { owner, holdCount, leaseMs };
    const enter = () => connection.run(WRITE_ACQUIRE_ALONE, { lock: key }, args, minReplicas);
    if (!fenced) return enter();
    const leave = (count: number) => releaseWritingAlone(connection, key, owner, count);
    const tokenTtlMs = TOKEN_TTL_MS;
    const field = writerOf(owner);
    return acquireFenced(connection, { key, field, request, tokenTtlMs, enter, leave });
  }

  /** An heir asks by itself; when the turn of its process is over, behind those of others. */
  async #leaveAlone(key: string, owner: OwnerId, holdCount: number, heir?: Successor) {
    const reply = await releaseWritingAlone(this.context.connection, key, owner, holdCount);
    if (heir === undefined || reply.value !== 'done') return reply;
    const value: ReleaseAnswer = heir.claim === undefined ? 'yielded' : 'opened';
    return { ...reply, value };
  }

  #entering(key: string, owner: OwnerId, request: AcquireRequest) {
    const { holdCount, leaseTimeMs: leaseMs, waitTimeMs } = request;
    const { pollIntervalMs } = this.context.settings;
    const forgetMs = waitTimeMs === 0 ? 0 : memoryMs(pollIntervalMs);
    return { owner, holdCount, leaseMs, memoryMs: forgetMs, channel: channelOf(key) };
  }
}

/** Each script takes those that it declares. */
function keysOf(key: string) {
  const { writers, patience, readers, turn } = turnKeys(key);
  const { queue, claims, opened } = lineKeys(key, 'rwlock');
  const prefix = readersPrefix(key);
  return { lock: key, prefix, writers, patience, readers, turn, queue, claims, opened };
}

function withToken<K extends { readonly lock: string }>(keys: K) {
  return { ...keys, token: tokenKey(keys.lock) };
}

function withTtl<A>(args: A) {
  return { ...args, tokenTtlMs: TOKEN_TTL_MS };
}
