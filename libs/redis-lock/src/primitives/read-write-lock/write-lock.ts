import { LockStateError, quoteName } from '../../core/errors.js';
import { TOKEN_TTL_MS, tokenKey } from '../../core/fencing-token.js';
import {
  grantChannel,
  lineKeys,
  passingOn,
  takingTurns,
  writtenClaim,
} from '../../core/hand-off.js';
import { openEveryMs } from '../../core/outsiders.js';
import { renewHashes } from '../../core/hash-lock.js';
import type {
  Claim,
  EnterRequest,
  Heir,
  LockProtocol,
  OwnerId,
  Renewal,
} from '../../core/hold-protocol.js';
import type { LockContext } from '../../core/lock-context.js';
import { LOCK_OPTIONS } from '../../core/options.js';
import { channelOf, readersPrefix, writerOf } from './read-write-hash.js';
import { memoryMs, turnKeys } from './turns.js';
import {
  WRITE_LEAVE,
  WRITE_PASS_ON,
  WRITE_TAKE_TURNS,
  WRITE_WITHDRAW,
} from './write-release.scripts.js';
import {
  WRITE_CLAIM,
  WRITE_CLAIM_FENCED,
  WRITE_ENTER,
  WRITE_ENTER_FENCED,
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
    const keys = keysOf(key);
    const args = this.#entering(key, owner, request);
    const { connection } = this.context;
    if (!request.fenced) return connection.run(WRITE_ENTER, keys, args, request.minReplicas);
    return connection.run(WRITE_ENTER_FENCED, withToken(keys), withTtl(args), request.minReplicas);
  }

  claim(key: string, owner: OwnerId, request: EnterRequest, claim: Claim) {
    const keys = keysOf(key);
    const args = { ...this.#entering(key, owner, request), claim: writtenClaim(claim) };
    const { connection } = this.context;
    if (!request.fenced) return connection.run(WRITE_CLAIM, keys, args, request.minReplicas);
    return connection.run(WRITE_CLAIM_FENCED, withToken(keys), withTtl(args), request.minReplicas);
  }

  leave(key: string, owner: OwnerId, holdCount: number, heir?: Heir) {
    const { connection, settings } = this.context;
    const keys = keysOf(key);
    const channel = channelOf(key);
    const announcing = { channel, openEveryMs: openEveryMs(settings) };
    if (heir === undefined) {
      return connection.run(WRITE_LEAVE, keys, { ...announcing, owner, holdCount });
    }
    const { claim } = heir;
    if (claim === undefined)
      return connection.run(WRITE_PASS_ON, keys, passingOn(owner, heir, channel));
    const turn = takingTurns(owner, heir, claim, announcing);
    const args = { ...turn, memoryMs: memoryMs(settings.pollIntervalMs) };
    return connection.run(WRITE_TAKE_TURNS, keys, args);
  }

  withdraw(key: string, owner: OwnerId) {
    const { connection, settings } = this.context;
    const args = { owner, channel: channelOf(key), openEveryMs: openEveryMs(settings) };
    return connection.run(WRITE_WITHDRAW, keysOf(key), args);
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

  #entering(key: string, owner: OwnerId, request: EnterRequest) {
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
