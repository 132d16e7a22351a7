import type { EnterRequest, LockProtocol, OwnerId, Renewal } from '../../core/hold-protocol.js';
import type { LockContext } from '../../core/lock-context.js';
import { READ_OPTIONS } from '../../core/options.js';
import { surroundingLease } from '../../core/owner-scope.js';
import {
  READ_ENTER,
  READ_INSPECT,
  READ_LEAVE,
  READ_RENEW,
  READ_WITHDRAW,
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

  constructor(
    private readonly context: LockContext,
    private readonly writeLock: LockProtocol,
  ) {}

  /** The owner of a write hold that surrounds the call: whoever writes may read as well. */
  companion(key: string): OwnerId | undefined {
    const write = surroundingLease(this.writeLock, key);
    if (write === undefined) return undefined;
    const joins = surroundingLease(this, key) !== undefined;
    if (!joins && write.state === 'lost' && write.hold.lostError) throw write.hold.lostError;
    return write.owner;
  }

  enter(key: string, owner: OwnerId, request: EnterRequest) {
    const { holdCount, leaseTimeMs: leaseMs, companion = '', waitTimeMs, minReplicas } = request;
    const { pollIntervalMs } = this.context.settings;
    const { writers, patience, readers, turn } = turnKeys(key);
    return this.context.connection.run(
      READ_ENTER,
      { lock: key, prefix: readersPrefix(key), writers, patience, readers, turn },
      {
        owner,
        holdCount,
        leaseMs,
        companion,
        memoryMs: waitTimeMs === 0 ? 0 : memoryMs(pollIntervalMs),
        channel: channelOf(key),
      },
      minReplicas,
    );
  }

  leave(key: string, owner: OwnerId, holdCount: number) {
    const keys = { lock: key, prefix: readersPrefix(key) };
    return this.context.connection.run(READ_LEAVE, keys, {
      owner,
      holdCount,
      channel: channelOf(key),
    });
  }

  withdraw(key: string, owner: OwnerId) {
    const { readers, turn } = turnKeys(key);
    const keys = { lock: key, prefix: readersPrefix(key), readers, turn };
    return this.context.connection.run(READ_WITHDRAW, keys, { owner, channel: channelOf(key) });
  }

  renew(renewals: readonly Renewal[], minReplicas: number) {
    const keys = renewals.flatMap(({ key }) => [key, readersPrefix(key)]);
    const args = renewals.flatMap(({ owner, leaseTimeMs }) => [owner, leaseTimeMs]);
    return this.context.connection.run(READ_RENEW, keys, args, minReplicas);
  }

  inspect(key: string) {
    const keys = { lock: key, prefix: readersPrefix(key) };
    return this.context.connection.run(READ_INSPECT, keys, {});
  }

  wakeUpChannel(key: string): string {
    return channelOf(key);
  }
}
