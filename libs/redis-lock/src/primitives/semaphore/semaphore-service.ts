import { Acquirer } from '../../core/acquirer.js';
import { askOnce } from '../../core/session.js';
import {
  describeValue,
  LockArgumentError,
  LockStateError,
  quoteName,
} from '../../core/api/errors.js';
import { remainingOf } from '../lua/answers.js';
import type { PermitLease } from '../../core/api/lease.js';
import type { LockContext } from '../../core/lock-context.js';
import {
  CAPACITY,
  checkCount,
  checkLeaseTime,
  checkOptionNames,
  LARGEST_COUNT,
} from '../../core/api/options.js';
import { withDefaultOptions } from '../../core/api/shapes.js';
import type { Reply } from '../../core/redis/connection.js';
import { MARKER_TTL_MS as markerTtlMs, type OnceOnly } from '../lua/once-only.js';
import type { CountingSemaphore } from '../counting-semaphore/counting-semaphore.js';
import { CountingSemaphores } from '../counting-semaphore/counting-semaphore-service.js';
import * as scripts from './capacity.scripts.js';
import { channelOf, leasesKey } from './footprint.js';
import { PermitProtocol } from './permit-protocol.js';
import type { Semaphore, SemaphoreAcquireOptions, SemaphoreOptions } from './semaphore.js';

const CHANGE = { min: -LARGEST_COUNT, max: LARGEST_COUNT };
const IDS_AT_ONCE = 1_000;

/**
 * Semaphores on Redis: a limited number of holders at a time among all processes that share the
 * server. Java services with Redisson's `RPermitExpirableSemaphore` are included.
 */
export class SemaphoreService {
  readonly #acquirer: Acquirer;
  readonly #counting: CountingSemaphores;
  readonly #requests: OnceOnly;

  /** @internal */
  constructor(private readonly context: LockContext) {
    const protocol = new PermitProtocol(context);
    this.#acquirer = new Acquirer(context, protocol);
    this.#counting = new CountingSemaphores(context);
    this.#requests = protocol.requests;
  }

  /**
   * The semaphore of this name. It sends and stores nothing. With `capacity`, the first acquisition
   * sets the number of permits if it is not set.
   * @throws {LockKeyError} the name is not valid
   * @throws {LockArgumentError} an option is not valid
   */
  get(name: string, options?: SemaphoreOptions): Semaphore {
    this.context.keys.key(name);
    const capacity = capacityOf(options);
    return new NamedSemaphore(name, capacity, this.context, this.#acquirer, this.#requests);
  }

  /**
   * The counting semaphore of this name, as Redisson's `RSemaphore`: a plain number, without owners
   * and leases. As `get`, it sends and stores nothing. `capacity` is as for `get`.
   * @throws {LockKeyError} the name is not valid
   * @throws {LockArgumentError} an option is not valid
   */
  counting(name: string, options?: SemaphoreOptions): CountingSemaphore {
    return this.#counting.get(name, capacityOf(options));
  }
}

class NamedSemaphore implements Semaphore {
  constructor(
    readonly name: string,
    private readonly capacity: number | undefined,
    private readonly context: LockContext,
    private readonly acquirer: Acquirer,
    private readonly requests: OnceOnly,
  ) {}

  async acquire(options?: SemaphoreAcquireOptions): Promise<PermitLease> {
    return this.acquirer.acquire(this.name, this.#with(options));
  }

  async tryAcquire(options?: SemaphoreAcquireOptions): Promise<PermitLease | null> {
    return this.acquirer.tryAcquire(this.name, this.#with(options));
  }

  async using<T>(
    work: (lease: PermitLease) => T,
    options?: SemaphoreAcquireOptions,
  ): Promise<Awaited<T>> {
    return this.acquirer.using(this.name, work, this.#with(options));
  }

  async trySetPermits(permits: number): Promise<boolean> {
    checkCount('permits', permits, CAPACITY);
    return this.#once(scripts.TRY_SET, permits);
  }

  async setPermits(permits: number): Promise<void> {
    checkCount('permits', permits, CAPACITY);
    await this.#once(scripts.SET, permits);
  }

  async addPermits(permits: number): Promise<void> {
    checkCount('permits', permits, CHANGE);
    await this.#once(scripts.ADD, permits);
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
    const isReleased = await this.#once(scripts.RELEASE_PERMITS, permits);
    // Another call of this process may hold a lease of one of them.
    if (isReleased) {
      for (const one of permits.split(',')) this.context.takenAway(this.key, one);
    }
    return isReleased;
  }

  async release(permitIds: string | readonly string[]): Promise<void> {
    if (await this.tryRelease(permitIds)) return;
    const { name } = this;
    throw new LockStateError(
      `Semaphore ${quoteName(name)} released nothing: a permit is unknown, expired, or already ` +
        `released; use tryRelease if that may happen`,
      { lockName: name },
    );
  }

  async updateLeaseTime(permitId: string, leaseTimeMs: number): Promise<boolean> {
    const permits = checkedId(permitId);
    checkLeaseTime(leaseTimeMs);
    return this.#ask((key) => {
      const args = [permits, leaseTimeMs];
      return this.context.connection.run(scripts.UPDATE_LEASE, [leasesKey(key)], args);
    });
  }

  async remainingTimeMs(permitId: string): Promise<number> {
    const permits = checkedId(permitId);
    const left = await this.#ask((key) =>
      this.context.connection.run(scripts.LEASE_TIME, [leasesKey(key)], [permits]),
    );
    return remainingOf(left);
  }

  private get key(): string {
    return this.context.keys.key(this.name);
  }

  #with(options: SemaphoreAcquireOptions | undefined): SemaphoreAcquireOptions | undefined {
    const { capacity } = this;
    return capacity === undefined ? options : withDefaultOptions({ capacity }, options);
  }

  #look(): Promise<scripts.PermitCounts> {
    return this.#ask((key) => this.context.connection.run(scripts.LOOK, [key, leasesKey(key)], []));
  }

  /** Whether the request has changed anything, for any number of deliveries. */
  async #once(script: typeof scripts.SET, permits: string | number): Promise<boolean> {
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

function capacityOf(options: SemaphoreOptions = {}): number | undefined {
  checkOptionNames(options, ['capacity']);
  const { capacity } = options;
  if (capacity !== undefined) checkCount('capacity', capacity, CAPACITY);
  return capacity;
}

function checkedIds(permitIds: unknown): string {
  if (!Array.isArray(permitIds)) return checkedId(permitIds);
  // Array.from also visits the holes of an array.
  const ids = [...new Set(Array.from(permitIds, checkedId))];
  if (ids.length >= 1 && ids.length <= IDS_AT_ONCE) return ids.join(',');
  throw new LockArgumentError(
    `One call releases 1 to ${String(IDS_AT_ONCE)} permits, not ${String(ids.length)}`,
  );
}

function checkedId(permitId: unknown): string {
  if (typeof permitId === 'string' && /^[0-9a-f]{32}$/i.test(permitId)) {
    return permitId.toLowerCase();
  }
  // A mistyped permit id may still be a secret: no log shows it.
  const given =
    typeof permitId === 'string'
      ? `a text of ${String(permitId.length)} characters`
      : describeValue(permitId);
  throw new LockArgumentError(`A permit id has 32 hexadecimal digits; this is ${given}`);
}
