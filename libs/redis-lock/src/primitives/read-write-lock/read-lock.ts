import type {
  AcquireRequest,
  LockProtocol,
  OwnerId,
  Renewal,
} from '../../core/holding/protocol.js';
import type { LockContext } from '../../core/lock-context.js';
import { MovingSlots } from '../../core/redis/moving-slots.js';
import { READ_OPTIONS } from '../../core/api/options.js';
import { surroundingLease } from '../../core/holding/scope.js';
import { acquireReadingAlone, releaseReadingAlone, renewReadingAlone } from './alone.js';
import { READ_INSPECT_ALONE } from './alone.scripts.js';
import {
  READ_ACQUIRE,
  READ_INSPECT,
  READ_RELEASE,
  READ_RENEW,
  READ_CANCEL,
} from './read-lock.scripts.js';
import { channelOf, readersPrefix } from './read-write-hash.js';
import { memoryMs, turnKeys } from './turns.js';

/** The side that many hold at a time, each by an owner of its own. */
export class ReadLockProtocol implements LockProtocol {
  readonly kind = 'read';
  readonly options = READ_OPTIONS;
  readonly nesting = 'together';
  readonly waiting = 'together';
  readonly countsOutsiders = true;
  readonly isShared = true;
  readonly remembersWaiters = true;
  readonly #slots: MovingSlots;

  constructor(
    private readonly context: LockContext,
    private readonly writeLock: LockProtocol,
  ) {
    this.#slots = new MovingSlots(context);
  }

  /** The owner of a write hold that surrounds the call: whoever writes may read as well. */
  companion(key: string): OwnerId | undefined {
    const write = surroundingLease(this.writeLock, key);
    if (write === undefined) return undefined;
    const joins = surroundingLease(this, key) !== undefined;
    if (!joins && write.state === 'lost' && write.hold.lostError) throw write.hold.lostError;
    return write.owner;
  }

  acquire(key: string, owner: OwnerId, request: AcquireRequest) {
    const { holdCount, leaseTimeMs: leaseMs, companion = '', waitTimeMs, minReplicas } = request;
    const { pollIntervalMs } = this.context.settings;
    const { connection } = this.context;
    const { writers, patience, readers, turn } = turnKeys(key);
    const keys = { lock: key, prefix: readersPrefix(key), writers, patience, readers, turn };
    const args = {
      owner,
      holdCount,
      leaseMs,
      companion,
      memoryMs: waitTimeMs === 0 ? 0 : memoryMs(pollIntervalMs),
      channel: channelOf(key),
    };
    return this.#slots.ask(
      key,
      () => connection.run(READ_ACQUIRE, keys, args, minReplicas),
      () => acquireReadingAlone(connection, key, owner, request),
    );
  }

  release(key: string, owner: OwnerId, holdCount: number) {
    const { connection } = this.context;
    const keys = { lock: key, prefix: readersPrefix(key) };
    const args = { owner, holdCount, channel: channelOf(key) };
    return this.#slots.ask(
      key,
      () => connection.run(READ_RELEASE, keys, args),
      () => releaseReadingAlone(connection, key, owner, holdCount),
    );
  }

  cancel(key: string, owner: OwnerId) {
    const { readers, turn } = turnKeys(key);
    const keys = { lock: key, prefix: readersPrefix(key), readers, turn };
    const { connection } = this.context;
    return this.#slots.ask(
      key,
      () => connection.run(READ_CANCEL, keys, { owner, channel: channelOf(key) }),
      () => releaseReadingAlone(connection, key, owner, 0),
    );
  }

  renew(renewals: readonly Renewal[], minReplicas: number) {
    const { connection } = this.context;
    const keys = renewals.flatMap(({ key }) => [key, readersPrefix(key)]);
    const args = renewals.flatMap(({ owner, leaseTimeMs }) => [owner, leaseTimeMs]);
    return this.#slots.ask(
      keys[0] ?? '',
      () => connection.run(READ_RENEW, keys, args, minReplicas),
      () => renewReadingAlone(connection, renewals, minReplicas),
    );
  }

  inspect(key: string) {
    const keys = { lock: key, prefix: readersPrefix(key) };
    const { connection } = this.context;
    return this.#slots.ask(
      key,
      () => connection.run(READ_INSPECT, keys, {}),
      () => connection.run(READ_INSPECT_ALONE, { lock: key }, {}),
    );
  }

  wakeUpChannel(key: string): string {
    return channelOf(key);
  }
}
