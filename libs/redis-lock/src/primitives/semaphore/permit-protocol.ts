import type {
  AcquireAnswer,
  AcquireTerms,
  HoldProtocol,
  ReleaseAnswer,
  Owned,
  OwnerId,
  Renewal,
} from '../../core/holding/protocol.js';
import type { LockContext } from '../../core/lock-context.js';
import { PERMIT_OPTIONS, type ResolvedAcquireOptions } from '../../core/api/options.js';
import type { Reply } from '../../core/redis/connection.js';
import { merged } from '../lua/answers.js';
import { MARKER_TTL_MS, OnceOnly } from '../lua/once-only.js';
import { RESTORE } from './capacity.scripts.js';
import { channelOf, leasesKey, REQUEST, waitingKey } from './footprint.js';
import * as scripts from './permits.scripts.js';

/** The 32 digits of an id, and a comma. */
const ID_LENGTH = 33;
/**
 * The most permits of one renewal script. More would delay the other clients of Redis for too long.
 */
const RENEWED_AT_ONCE = 1_000;
/** A mark that was not renewed for 3 polls belongs to a dead waiter. */
const MARK_POLLS = 3;

/**
 * The owner of permits is their ids, separated by commas. A client that knows them may release
 * them, a Java service included.
 */
export class PermitProtocol implements HoldProtocol {
  readonly kind = 'semaphore';
  readonly options = PERMIT_OPTIONS;
  readonly nesting = 'none';
  // Otherwise each release would wake all waiters, and large requests would come last.
  readonly waiting = 'in turn';
  readonly isShared = true;
  readonly remembersWaiters = true;

  /** Changes of a semaphore that count once. */
  readonly requests: OnceOnly;

  constructor(private readonly context: LockContext) {
    this.requests = new OnceOnly(context, REQUEST, this.kind);
  }

  newOwner({ permits }: ResolvedAcquireOptions): OwnerId {
    return this.context.newIds(permits).join(',');
  }

  async acquire(
    { key, owner: permits }: Owned,
    { leaseTimeMs, waitTimeMs, minReplicas, capacity = 0 }: AcquireTerms,
  ): Promise<Reply<AcquireAnswer>> {
    const keys = [key, leasesKey(key), waitingKey(key)];
    const markMs = waitTimeMs === 0 ? 0 : MARK_POLLS * this.context.settings.pollIntervalMs;
    const args = [permits, leaseTimeMs, markMs, channelOf(key), capacity];
    for (;;) {
      const reply = await this.context.connection.run(scripts.ACQUIRE, keys, args, minReplicas);
      const { value, sentAt, resent } = reply;
      if (value !== 'unfinished') return { value, sentAt, resent };
    }
  }

  release({ key, owner }: Owned): Promise<Reply<ReleaseAnswer>> {
    const keys = [key, leasesKey(key)];
    const args = [owner, channelOf(key)];
    return this.context.connection.run(scripts.RELEASE, keys, args);
  }

  cancel({ key, owner }: Owned): Promise<Reply<ReleaseAnswer>> {
    const keys = [key, leasesKey(key), waitingKey(key)];
    const args = [owner, channelOf(key)];
    return this.context.connection.run(scripts.CANCEL, keys, args);
  }

  restore({ key, owner }: Owned, capacity: number): Promise<unknown> {
    const args = [owner, MARKER_TTL_MS, channelOf(key), capacity];
    const send = (counter: string, marker: string) =>
      this.context.connection.run(RESTORE, [counter, leasesKey(key), marker], args);
    // Without an answer, the request goes on in the background.
    return this.requests.ask(this.context.keys.nameOf(key), send, true).catch(() => undefined);
  }

  async renew(
    renewals: readonly Renewal[],
    minReplicas: number,
  ): Promise<Reply<readonly boolean[]>> {
    const replies: Reply<readonly boolean[]>[] = [];
    for (const part of inParts(renewals)) {
      const keys = part.map(({ key }) => leasesKey(key));
      const args = part.flatMap(({ owner, renewMs }) => [owner, renewMs]);
      replies.push(await this.context.connection.run(scripts.RENEW, keys, args, minReplicas));
    }
    const answers = replies.flatMap(({ value }) => value);
    return merged(replies, answers);
  }

  wakeUpChannel(key: string): string {
    return channelOf(key);
  }
}

/** In order. Each part is as large as one script may be; one renewal is never divided. */
function inParts(renewals: readonly Renewal[]): Renewal[][] {
  const parts: Renewal[][] = [];
  let left = 0;
  for (const renewal of renewals) {
    const permits = Math.ceil(renewal.owner.length / ID_LENGTH);
    if (permits > left) {
      parts.push([]);
      left = RENEWED_AT_ONCE;
    }
    parts.at(-1)?.push(renewal);
    left -= permits;
  }
  return parts;
}
