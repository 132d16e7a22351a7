import { LockStateError, quoteName } from '../../core/api/errors.js';
import { TOKEN_TTL_MS } from '../lua/fencing-token.js';
import { grantChannel, passArgs, passInOrderArgs, writtenClaim } from '../lua/hand-off.js';
import { HashProtocol } from '../lua/hash-protocol.js';
import { dueTo } from '../../core/waiting/outsiders.js';
import type {
  Claim,
  AcquireTerms,
  Successor,
  ReleaseAnswer,
  LockProtocol,
  Owned,
  OwnerId,
  Renewal,
} from '../../core/holding/protocol.js';
import type { LockContext } from '../../core/lock-context.js';
import { LOCK_OPTIONS } from '../../core/api/options.js';
import type { Reply } from '../../core/redis/connection.js';
import { channelOf, keysWithQueue, keysWithTurns, writerOf } from './footprint.js';
import { memoryMs } from './turns.lua.js';
import * as releasing from './write-release.scripts.js';
import { WRITE_ACQUIRE, WRITE_ACQUIRE_OR_QUEUE, WRITE_INSPECT } from './write-lock.scripts.js';

/** The side that one owner holds, which excludes all others. The writer itself may read. */
export class WriteLockProtocol extends HashProtocol implements LockProtocol {
  readonly kind = 'write';
  readonly options = LOCK_OPTIONS;
  readonly waiting = 'in turn';
  readonly countsOutsiders = true;
  readonly remembersWaiters = true;
  /** The writer's own reads may outlast its lease. */
  readonly outlastsLease = true;
  readonly #memoryMs: number;

  /** @param isUpgrade whether the call is inside a read hold, and in no write hold that it joins */
  constructor(
    context: LockContext,
    private readonly isUpgrade: (key: string) => boolean,
  ) {
    super(context, TOKEN_TTL_MS);
    this.#memoryMs = memoryMs(context.settings.pollIntervalMs);
  }

  /** @throws {LockStateError} the caller holds the read lock, and would wait for itself */
  companion(key: string, name: string): undefined {
    if (!this.isUpgrade(key)) return undefined;
    throw new LockStateError(
      `The read lock ${quoteName(name)} cannot become a write lock. Release it first, ` +
        'or acquire the write lock and read inside it',
      { lockName: name },
    );
  }

  cancel({ key, owner }: Owned) {
    const args = [owner, channelOf(key), dueTo(this.context.settings, 0)];
    return this.connection.run(releasing.WRITE_CANCEL, keysWithQueue(key), args);
  }

  override renew(renewals: readonly Renewal[], minReplicas: number) {
    const ofWriters = renewals.map((renewal) => ({ ...renewal, owner: writerOf(renewal.owner) }));
    return super.renew(ofWriters, minReplicas);
  }

  override inspect(key: string) {
    return this.connection.run(WRITE_INSPECT, [key], []);
  }

  wakeUpChannel(key: string): string {
    return channelOf(key);
  }

  grantChannel(key: string): string {
    return grantChannel(key, this.context.id, 'rwlock');
  }

  protected override fieldOf(owner: OwnerId): string {
    return writerOf(owner);
  }

  protected acquireFirst({ key, owner }: Owned, terms: AcquireTerms, claim?: Claim) {
    const memory = terms.waitTimeMs === 0 ? 0 : this.#memoryMs;
    const args = [owner, terms.leaseTimeMs, memory, channelOf(key)];
    if (claim === undefined) return this.runPair(WRITE_ACQUIRE, keysWithTurns(key), args, terms);
    args.push(writtenClaim(claim));
    return this.runPair(WRITE_ACQUIRE_OR_QUEUE, keysWithQueue(key), args, terms);
  }

  protected releaseLast(hold: Owned, successor?: Successor): Promise<Reply<ReleaseAnswer>> {
    const { connection, context } = this;
    const { key, owner, batchCount } = hold;
    const channel = channelOf(key);
    const due = dueTo(context.settings, batchCount);
    if (successor === undefined) {
      return connection.run(releasing.WRITE_RELEASE, keysWithQueue(key), [owner, channel, due]);
    }
    const { claim } = successor;
    if (claim === undefined) {
      const args = [...passArgs(owner, successor), channel];
      return connection.run(releasing.WRITE_PASS, keysWithTurns(key), args);
    }
    const args = passInOrderArgs(owner, successor, claim, { channel, due });
    args.push(this.#memoryMs);
    return connection.run(releasing.WRITE_PASS_IN_ORDER, keysWithQueue(key), args);
  }
}
