import type {
  AcquireAnswer,
  AcquireRequest,
  HoldProtocol,
  ReleaseAnswer,
  OwnerId,
  Renewal,
} from '../../core/holding/protocol.js';
import { helperKey, suffixedKey } from '../../core/redis/key-names.js';
import type { LockContext } from '../../core/lock-context.js';
import { MovingSlots } from '../../core/redis/moving-slots.js';
import { PERMIT_OPTIONS, type ResolvedAcquireOptions } from '../../core/api/options.js';
import type { Reply } from '../../core/redis/connection.js';
import { END, ACQUIRE, RELEASE, RENEW, CANCEL } from './permits.scripts.js';

/** Of an id and a comma. */
const ID_LENGTH = 33;
/** Permits of one renewal script; more would keep Redis from its other clients for too long. */
const RENEWED_AT_ONCE = 1_000;
/** A mark that was not refreshed for so many polls is that of a dead waiter. */
const MARK_POLLS = 3;

/**
 * Permits belong to whoever knows their ids, a Java service included: those of one lease, separated by
 * commas, are its owner.
 */
export class PermitProtocol implements HoldProtocol {
  readonly kind = 'semaphore';
  readonly options = PERMIT_OPTIONS;
  readonly nesting = 'none';
  // Each release would wake all takers otherwise, and the large requests would come last.
  readonly waiting = 'in turn';
  readonly isShared = true;
  readonly remembersWaiters = true;

  readonly #slots: MovingSlots;

  constructor(private readonly context: LockContext) {
    this.#slots = new MovingSlots(context);
  }

  newOwner({ permits }: ResolvedAcquireOptions): OwnerId {
    return this.context.newIds(permits).join(',');
  }

  async acquire(
    key: string,
    permits: OwnerId,
    { leaseTimeMs: leaseMs, waitTimeMs, minReplicas }: AcquireRequest,
  ): Promise<Reply<AcquireAnswer>> {
    const keys = keysOf(key);
    const markMs = waitTimeMs === 0 ? 0 : MARK_POLLS * this.context.settings.pollIntervalMs;
    const args = { permits, leaseMs, markMs, channel: permitChannel(key) };
    for (;;) {
      const reply = await this.context.connection.run(ACQUIRE, keys, args, minReplicas);
      const { value, sentAt, resent } = reply;
      if (value !== 'unfinished') return { value, sentAt, resent };
    }
  }

  release(key: string, permits: OwnerId): Promise<Reply<ReleaseAnswer>> {
    return this.#leave(key, permits, RELEASE);
  }

  cancel(key: string, permits: OwnerId): Promise<Reply<ReleaseAnswer>> {
    return this.#leave(key, permits, CANCEL);
  }

  async renew(
    renewals: readonly Renewal[],
    minReplicas: number,
  ): Promise<Reply<readonly boolean[]>> {
    const replies: Reply<readonly boolean[]>[] = [];
    for (const part of inParts(renewals)) {
      const keys = part.map(({ key }) => leasesKey(key));
      const args = part.flatMap(({ owner, leaseTimeMs }) => [owner, leaseTimeMs]);
      replies.push(await this.context.connection.run(RENEW, keys, args, minReplicas));
    }
    return {
      value: replies.flatMap(({ value }) => value),
      sentAt: Math.min(...replies.map(({ sentAt }) => sentAt)),
      resent: replies.some(({ resent }) => resent),
    };
  }

  wakeUpChannel(key: string): string {
    return permitChannel(key);
  }

  #leave(
    key: string,
    permits: OwnerId,
    script: typeof RELEASE | typeof CANCEL,
  ): Promise<Reply<ReleaseAnswer>> {
    const { connection } = this.context;
    const keys = keysOf(key);
    const args = { permits, channel: permitChannel(key) };
    return this.#slots.ask(
      key,
      () => connection.run(script, keys, args),
      () => connection.run(END, { leases: keys.leases }, args),
    );
  }
}

/** Each script takes those that it declares. */
export function keysOf(key: string) {
  return { counter: key, leases: leasesKey(key), waiting: waitingKey(key) };
}

export function leasesKey(key: string): string {
  return suffixedKey(key, 'timeout');
}

export function permitChannel(key: string): string {
  return helperKey('redisson_sc', key);
}

/** Who waits for several permits at once, and for how many; only we use it. */
function waitingKey(key: string): string {
  return helperKey('nestjs_semaphore_waiting', key);
}

/** In order, each part as large as one script may be; one renewal is never divided. */
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
