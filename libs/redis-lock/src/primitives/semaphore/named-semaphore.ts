import type { Acquirer } from '../../core/acquirer.js';
import { askOnce } from '../../core/session.js';
import {
  describeValue,
  LockArgumentError,
  LockStateError,
  quoteName,
} from '../../core/api/errors.js';
import { remainingOf } from '../../core/lua/answers.js';
import type { PermitLease } from '../../core/api/lease.js';
import type { LockContext } from '../../core/lock-context.js';
import { checkCount, checkLeaseTime, LARGEST_COUNT } from '../../core/api/options.js';
import type { Reply } from '../../core/redis/connection.js';
import { MARKER_TTL_MS as markerTtlMs, type OnceOnly } from '../../core/once-only.js';
import {
  ADD,
  LEASE_TIME,
  LOOK,
  RELEASE_PERMITS,
  SET,
  TRY_SET,
  UPDATE_LEASE,
  type PermitCounts,
} from './capacity.scripts.js';
import { channelOf, leasesKey } from './footprint.js';
import type { PermittedWork, Semaphore, SemaphoreAcquireOptions } from './semaphore.js';

const CAPACITY = { min: 1, max: LARGEST_COUNT };
const CHANGE = { min: -LARGEST_COUNT, max: LARGEST_COUNT };
const IDS_AT_ONCE = 1_000;

export class NamedSemaphore implements Semaphore {
  constructor(
    readonly name: string,
    private readonly context: LockContext,
    private readonly acquirer: Acquirer,
    private readonly requests: OnceOnly,
  ) {}

  async acquire(options?: SemaphoreAcquireOptions): Promise<PermitLease> {
    return this.acquirer.acquire(this.name, options);
  }

  async tryAcquire(options?: SemaphoreAcquireOptions): Promise<PermitLease | null> {
    return this.acquirer.tryAcquire(this.name, options);
  }

  async using<T>(work: PermittedWork<T>, options?: SemaphoreAcquireOptions): Promise<Awaited<T>> {
    return this.acquirer.using(this.name, work, options);
  }

  async trySetPermits(permits: number): Promise<boolean> {
    checkCount('permits', permits, CAPACITY);
    return this.#once(TRY_SET, permits);
  }

  async setPermits(permits: number): Promise<void> {
    checkCount('permits', permits, CAPACITY);
    await this.#once(SET, permits);
  }

  async addPermits(permits: number): Promise<void> {
    checkCount('permits', permits, CHANGE);
    await this.#once(ADD, permits);
  }

  async availablePermits(): Promise<number> {
    return (await this.#look()).available;
  }

  async acquiredPermits(): Promise<number> {
    return (await this.#look()).acquired;
  }

  async permits(): Promise<number> {
    return (await this.#look()).capacity;
  }

  async tryRelease(permitIds: string | readonly string[]): Promise<boolean> {
    const permits = checkedIds(permitIds);
    return this.#once(RELEASE_PERMITS, permits);
  }

  async release(permitIds: string | readonly string[]): Promise<void> {
    if (await this.tryRelease(permitIds)) return;
    const { name } = this;
    throw new LockStateError(
      `Semaphore ${quoteName(name)} gave back nothing: a permit is unknown, expired, or was given ` +
        `back before; use tryRelease where that may happen`,
      { lockName: name },
    );
  }

  async updateLeaseTime(permitId: string, leaseTimeMs: number): Promise<boolean> {
    const permits = checkedId(permitId);
    checkLeaseTime(leaseTimeMs);
    return this.#ask((key) => {
      const args = [permits, leaseTimeMs];
      return this.context.connection.run(UPDATE_LEASE, [leasesKey(key)], args);
    });
  }

  async remainingTimeMs(permitId: string): Promise<number> {
    const permits = checkedId(permitId);
    const left = await this.#ask((key) =>
      this.context.connection.run(LEASE_TIME, [leasesKey(key)], [permits]),
    );
    return remainingOf(left);
  }

  #look(): Promise<PermitCounts> {
    return this.#ask((key) => this.context.connection.run(LOOK, [key, leasesKey(key)], []));
  }

  /** Whether the request has changed anything, even if Redis got it twice. */
  async #once(script: typeof SET, permits: string | number): Promise<boolean> {
    const { connection } = this.context;
    const send = (key: string, marker: string) => {
      const args = [permits, markerTtlMs, channelOf(key)];
      return connection.run(script, [key, leasesKey(key), marker], args);
    };
    return (await this.requests.ask(this.name, send, false)) === 1;
  }

  #ask<R>(question: (key: string) => Promise<Reply<R>>): Promise<R> {
    return askOnce(this.context, this.name, question);
  }
}

function checkedIds(permitIds: unknown): string {
  if (!Array.isArray(permitIds)) return checkedId(permitIds);
  // Array.from also looks into the holes of an array.
  const ids = [...new Set(Array.from(permitIds, checkedId))];
  if (ids.length >= 1 && ids.length <= IDS_AT_ONCE) return ids.join(',');
  throw new LockArgumentError(
    `From 1 to ${String(IDS_AT_ONCE)} permits are given back at once, not ${String(ids.length)}`,
  );
}

function checkedId(permitId: unknown): string {
  if (typeof permitId === 'string' && /^[0-9a-f]{32}$/i.test(permitId)) {
    return permitId.toLowerCase();
  }
  // A text that is nearly a permit id must not go into a log: it may be a secret.
  const given =
    typeof permitId === 'string'
      ? `a text of ${String(permitId.length)} characters`
      : describeValue(permitId);
  throw new LockArgumentError(`A permit id has 32 hexadecimal digits; this is ${given}`);
}
