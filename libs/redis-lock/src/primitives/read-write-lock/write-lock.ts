import { LockStateError, quoteName } from '../../core/errors.js';
import { TOKEN_TTL_MS, tokenKey } from '../../core/fencing-token.js';
import { renewHashes } from '../../core/hash-lock.js';
import type { EnterRequest, LockProtocol, OwnerId, Renewal } from '../../core/hold-protocol.js';
import type { LockContext } from '../../core/lock-context.js';
import { LOCK_OPTIONS } from '../../core/options.js';
import { channelOf, readersPrefix, writerOf } from './read-write-hash.js';
import { memoryMs, turnKeys } from './turns.js';
import {
  WRITE_ENTER,
  WRITE_ENTER_FENCED,
  WRITE_INSPECT,
  WRITE_LEAVE,
  WRITE_WITHDRAW,
} from './write-lock.scripts.js';

/** The side that one holds, and nobody else at the same time; the writer itself may read. */
export class WriteLockProtocol implements LockProtocol {
  readonly kind = 'write-lock';
  readonly options = LOCK_OPTIONS;
  readonly nesting = 'in turn';
  readonly waiting = 'in turn';
  readonly isShared = false;
  readonly remembersWaiters = true;
  /** By the writer's own reads. */
  readonly outlastsLease = true;

  /** @param isUpgrade whether the call is inside a read hold, and in no write hold that it joins */
  constructor(
    private readonly context: LockContext,
    private readonly isUpgrade: (key: string) => boolean,
  ) {}

  /** @throws {LockStateError} a reader would wait for itself, and two of them for each other */
  companion(key: string, name: string): undefined {
    if (!this.isUpgrade(key)) return undefined;
    throw new LockStateError(
      `The read lock ${quoteName(name)} cannot become a write lock: release it first, ` +
        'or take the write lock and read inside it',
      { lockName: name },
    );
  }

  enter(key: string, owner: OwnerId, request: EnterRequest) {
    const { holdCount, leaseTimeMs: leaseMs, waitTimeMs, fenced, minReplicas } = request;
    const { connection, settings } = this.context;
    const keys = this.#keys(key);
    const forgetMs = waitTimeMs === 0 ? 0 : memoryMs(settings.pollIntervalMs);
    const channel = channelOf(key);
    const args = { owner, holdCount, leaseMs, memoryMs: forgetMs, channel };
    if (!fenced) return connection.run(WRITE_ENTER, keys, args, minReplicas);
    return connection.run(
      WRITE_ENTER_FENCED,
      { ...keys, token: tokenKey(key) },
      { ...args, tokenTtlMs: TOKEN_TTL_MS },
      minReplicas,
    );
  }

  leave(key: string, owner: OwnerId, holdCount: number) {
    const args = { owner, holdCount, channel: channelOf(key) };
    return this.context.connection.run(WRITE_LEAVE, this.#keys(key), args);
  }

  withdraw(key: string, owner: OwnerId) {
    const args = { owner, channel: channelOf(key) };
    return this.context.connection.run(WRITE_WITHDRAW, this.#keys(key), args);
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

  #keys(key: string) {
    return { lock: key, prefix: readersPrefix(key), ...turnKeys(key) };
  }
}
