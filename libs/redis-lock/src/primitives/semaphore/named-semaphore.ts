import { askOnce, type Acquirer } from '../../core/acquirer.js';
import {
  describeValue,
  LockArgumentError,
  LockStateError,
  quoteName,
} from '../../core/api/errors.js';
import { remainingOf } from '../../core/lua/hash-lock.js';
import type { PermitLease } from '../../core/holding/held-lease.js';
import type { LockContext } from '../../core/lock-context.js';
import { checkCount, checkLeaseTime, LARGEST_COUNT } from '../../core/api/options.js';
import type { Reply } from '../../core/redis/connection.js';
import { MARKER_TTL_MS as markerTtlMs, type Counted, type OnceOnly } from '../../core/once-only.js';
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
import { keysOf, leasesKey, permitChannel } from './permit-protocol.js';
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
    return this.#once((key, marker) => {
      const args = { permits, markerTtlMs, channel: permitChannel(key) };
      return this.context.connection.run(TRY_SET, { ...keysOf(key), marker }, args);
    });
  }

  async setPermits(permits: number): Promise<void> {
    checkCount('permits', permits, CAPACITY);
    await this.#once((key, marker) => {
      const args = { permits, markerTtlMs, channel: permitChannel(key) };
      return this.context.connection.run(SET, { ...keysOf(key), marker }, args);
    });
  }

  async addPermits(permits: number): Promise<void> {
    checkCount('permits', permits, CHANGE);
    await this.#once((key, marker) => {
      const args = { permits, markerTtlMs, channel: permitChannel(key) };
      return this.context.connection.run(ADD, { ...keysOf(key), marker }, args);
    });
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
    return this.#once((key, marker) => {
      const args = { permits, markerTtlMs, channel: permitChannel(key) };
      return this.context.connection.run(RELEASE_PERMITS, { ...keysOf(key), marker }, args);
    });
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
      const args = { permits, leaseMs: leaseTimeMs };
      return this.context.connection.run(UPDATE_LEASE, { leases: leasesKey(key) }, args);
    });
  }

  async remainingTimeMs(permitId: string): Promise<number> {
    const permits = checkedId(permitId);
    const left = await this.#ask((key) =>
      this.context.connection.run(LEASE_TIME, { leases: leasesKey(key) }, { permits }),
    );
    return remainingOf(left);
  }

  #look(): Promise<PermitCounts> {
    return this.#ask((key) => this.context.connection.run(LOOK, keysOf(key), {}));
  }

  /** Whether the request has changed anything, however often it was delivered. */
  async #once(send: (key: string, marker: string) => Promise<Reply<Counted>>): Promise<boolean> {
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
  // What is nearly a permit id is none for a log either.
  const given =
    typeof permitId === 'string'
      ? `a text of ${String(permitId.length)} characters`
      : describeValue(permitId);
  throw new LockArgumentError(`A permit id has 32 hexadecimal digits; this is ${given}`);
}
