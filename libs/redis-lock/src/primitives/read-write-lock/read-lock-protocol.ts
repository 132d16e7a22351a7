import type {
  AcquireTerms,
  LockProtocol,
  Owned,
  OwnerId,
  Renewal,
} from '../../core/holding/protocol.js';
import type { LockContext } from '../../core/lock-context.js';
import { MovingSlots } from '../../core/redis/moving-slots.js';
import { READ_OPTIONS } from '../../core/api/options.js';
import { surroundingLease } from '../../core/holding/scope.js';
import { acquireReadingAlone, releaseReadingAlone, renewReadingAlone } from './alone.js';
import { READ_INSPECT_ALONE } from './alone.scripts.js';
import * as scripts from './read-lock.scripts.js';
import { channelOf, keysWithTurns, readersPrefix, turnKeys } from './footprint.js';
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
  readonly #slots: MovingSlots;
  readonly #memoryMs: number;

  constructor(
    private readonly context: LockContext,
    private readonly writeLock: LockProtocol,
  ) {
    this.#slots = new MovingSlots(context);
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
    const { connection } = this.context;
    const { key, owner, companion = '' } = hold;
    const { leaseTimeMs, waitTimeMs, minReplicas } = terms;
    const memory = waitTimeMs === 0 ? 0 : this.#memoryMs;
    const args = [owner, holdCount, leaseTimeMs, companion, memory, channelOf(key)];
    return this.#slots.ask(
      key,
      () => connection.run(scripts.READ_ACQUIRE, keysWithTurns(key), args, minReplicas),
      () => acquireReadingAlone(connection, hold, terms, holdCount),
    );
  }

  release(hold: Owned, holdCount: number) {
    const { connection } = this.context;
    const { key, owner } = hold;
    const args = [owner, holdCount, channelOf(key)];
    return this.#slots.ask(
      key,
      () => connection.run(scripts.READ_RELEASE, [key, readersPrefix(key)], args),
      () => releaseReadingAlone(connection, hold, holdCount),
    );
  }

  cancel(hold: Owned) {
    const { connection } = this.context;
    const { key, owner } = hold;
    const { readers, turn } = turnKeys(key);
    const keys = [key, readersPrefix(key), readers, turn];
    return this.#slots.ask(
      key,
      () => connection.run(scripts.READ_CANCEL, keys, [owner, channelOf(key)]),
      () => releaseReadingAlone(connection, hold, 0),
    );
  }

  renew(renewals: readonly Renewal[], minReplicas: number) {
    const { connection } = this.context;
    const keys = renewals.flatMap(({ key }) => [key, readersPrefix(key)]);
    const args = renewals.flatMap(({ owner, renewMs }) => [owner, renewMs]);
    return this.#slots.ask(
      keys[0] ?? '',
      () => connection.run(scripts.READ_RENEW, keys, args, minReplicas),
      () => renewReadingAlone(connection, renewals, minReplicas),
    );
  }

  inspect(key: string) {
    const { connection } = this.context;
    return this.#slots.ask(
      key,
      () => connection.run(scripts.READ_INSPECT, [key, readersPrefix(key)], []),
      () => connection.run(READ_INSPECT_ALONE, [key], []),
    );
  }

  wakeUpChannel(key: string): string {
    return channelOf(key);
  }
}
