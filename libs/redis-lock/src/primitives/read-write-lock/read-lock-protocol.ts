import type {
  AcquireTerms,
  LockProtocol,
  Owned,
  OwnerId,
  Renewal,
} from '../../core/holding/protocol.js';
import type { LockContext } from '../../core/lock-context.js';
import type { Reply } from '../../core/redis/connection.js';
import { MovingSlotError } from '../../core/api/errors.js';
import { READ_OPTIONS } from '../../core/api/options.js';
import { surroundingLease } from '../../core/holding/scope.js';
import * as scripts from './read-lock.scripts.js';
import { channelOf, keysWithTurns, readersPrefix, turnKeys } from './footprint.js';
import { renewApart } from './renew-apart.js';
import { memoryMs } from './turns.lua.js';

/** The side of the readers: many owners hold it at a time. */
export class ReadLockProtocol implements LockProtocol {
  readonly kind = 'read';
  readonly options = READ_OPTIONS;
  readonly nesting = 'together';
  readonly waiting = 'together';
  readonly countsOutsiders = true;
  readonly isShared = true;
  readonly isReadSide = true;
  readonly remembersWaiters = true;
  readonly #memoryMs: number;

  constructor(
    private readonly context: LockContext,
    private readonly writeLock: LockProtocol,
  ) {
    this.#memoryMs = memoryMs(context.settings.pollIntervalMs);
  }

  /** The owner of a write hold that surrounds the call: a writer may also read. */
  companion(key: string): OwnerId | undefined {
    const write = surroundingLease(this.writeLock, key);
    if (write === undefined) return undefined;
    const joins = surroundingLease(this, key) !== undefined;
    if (!joins && write.state === 'lost' && write.hold.lostError) throw write.hold.lostError;
    return write.owner;
  }

  acquire(hold: Owned, terms: AcquireTerms, holdCount: number) {
    const { key, owner, companion = '' } = hold;
    const { leaseTimeMs, waitTimeMs, minReplicas } = terms;
    const memory = waitTimeMs === 0 ? 0 : this.#memoryMs;
    const args = [owner, holdCount, leaseTimeMs, companion, memory, channelOf(key)];
    return this.context.connection.run(scripts.READ_ACQUIRE, keysWithTurns(key), args, minReplicas);
  }

  release({ key, owner }: Owned, holdCount: number) {
    const args = [owner, holdCount, channelOf(key)];
    return this.context.connection.run(scripts.READ_RELEASE, [key, readersPrefix(key)], args);
  }

  cancel({ key, owner }: Owned) {
    const { readers, turn } = turnKeys(key);
    const keys = [key, readersPrefix(key), readers, turn];
    return this.context.connection.run(scripts.READ_CANCEL, keys, [owner, channelOf(key)]);
  }

  async renew(
    renewals: readonly Renewal[],
    minReplicas: number,
  ): Promise<Reply<readonly boolean[]>> {
    const { connection } = this.context;
    const keys = renewals.flatMap(({ key }) => [key, readersPrefix(key)]);
    const args = renewals.flatMap(({ owner, renewMs }) => [owner, renewMs]);
    if (connection.isMoving?.(keys[0] ?? '') !== true) {
      try {
        return await connection.run(scripts.READ_RENEW, keys, args, minReplicas);
      } catch (error) {
        if (!(error instanceof MovingSlotError)) throw error;
      }
    }
    return renewApart(connection, renewals, minReplicas);
  }

  inspect(key: string) {
    return this.context.connection.run(scripts.READ_INSPECT, [key, readersPrefix(key)], []);
  }

  wakeUpChannel(key: string): string {
    return channelOf(key);
  }
}
