import { checkWork } from '../../core/holding/scope.js';
import { Deadline } from '../../core/time/deadline.js';
import {
  describeValue,
  LeaseLostError,
  LockArgumentError,
  LockTimeoutError,
  quoteName,
} from '../../core/api/errors.js';
import type { Lease } from '../../core/api/lease.js';
import type { LockContext } from '../../core/lock-context.js';
import type { AcquireOptions, ForceReleaseOptions, Lock } from '../../core/api/lock.js';
import { HeldMultiLease, type MultiLease } from './multi-lease.js';
import type { ResolvedAcquireOptions } from '../../core/api/options.js';
import { resolveAcquireOptions, withProfile } from '../../core/api/resolve-options.js';
import { hasMethods } from '../../core/api/shapes.js';
import { runLocked } from '../../core/holding/scope.js';

const MOST_LOCKS = 1_000;

/** Several locks as one: you hold all of them, or none. */
export interface MultiLock extends Lock {
  /** The locks, in the order of acquisition: the same in every process. */
  readonly locks: readonly Lock[];

  /**
   * Resolves with one lease on all locks once each of them is granted. It acquires them in the
   * order of their keys, so that no two callers wait for each other. One `waitTimeMs` covers all.
   * An error releases those that were granted. List locks of one name on several connections in the
   * same order everywhere: nothing else orders them.
   * @throws {LockTimeoutError} another owner held the lock `lockName`
   * @throws as `Lock.acquire`
   */
  acquire(options?: AcquireOptions): Promise<MultiLease>;
  tryAcquire(options?: AcquireOptions): Promise<MultiLease | null>;
  using<T>(work: (lease: MultiLease) => T, options?: AcquireOptions): Promise<Awaited<T>>;
  /** Whether one of the locks is held. */
  isLocked(): Promise<boolean>;
  /** The time until all are free, in milliseconds, without renewals. */
  remainingTimeMs(): Promise<number>;
  /** Takes all of them away from their holders. */
  forceRelease(options?: ForceReleaseOptions): Promise<boolean>;
}

/** @throws {LockArgumentError} no locks, too many, or two that would wait for each other */
export function multiLock(context: LockContext, locks: readonly Lock[]): MultiLock {
  return new OrderedLocks(context, inOrder(locks));
}

class OrderedLocks implements MultiLock {
  constructor(
    private readonly context: LockContext,
    readonly locks: readonly Lock[],
  ) {}

  get name(): string {
    return this.locks.map(({ name }) => name).join(', ');
  }

  get id(): string {
    return this.locks.map(({ id }) => id).join('\n\n');
  }

  async acquire(options?: AcquireOptions): Promise<MultiLease> {
    return this.#acquire(options, this.context.settings.waitTimeMs);
  }

  async tryAcquire(options?: AcquireOptions): Promise<MultiLease | null> {
    try {
      return await this.#acquire(options, 0);
    } catch (error) {
      if (error instanceof LockTimeoutError) return null;
      throw error;
    }
  }

  async using<T>(work: (lease: MultiLease) => T, options?: AcquireOptions): Promise<Awaited<T>> {
    checkWork(work);
    return runLocked(await this.#acquire(options, this.context.settings.waitTimeMs), work);
  }

  async isLocked(): Promise<boolean> {
    const locked = await Promise.all(this.locks.map((lock) => lock.isLocked()));
    return locked.includes(true);
  }

  async remainingTimeMs(): Promise<number> {
    return Math.max(...(await Promise.all(this.locks.map((lock) => lock.remainingTimeMs()))));
  }

  async forceRelease(options?: ForceReleaseOptions): Promise<boolean> {
    const released = await Promise.all(this.locks.map((lock) => lock.forceRelease(options)));
    return released.includes(true);
  }

  async #acquire(
    given: AcquireOptions | undefined,
    defaultWaitMs: number,
  ): Promise<HeldMultiLease> {
    const { times, settings } = this.context;
    // The services of the locks may have other profiles.
    const options = given === undefined ? undefined : withProfile(given, settings);
    const resolved = resolveAcquireOptions(options, settings, defaultWaitMs);
    const deadline = new Deadline(times, resolved.waitTimeMs, resolved.signal);
    for (;;) {
      const leases: Lease[] = [];
      try {
        for (const lock of this.locks) leases.push(await acquireWithin(lock, options, deadline));
        await refresh(leases, resolved);
        deadline.refuseAborted();
        return new HeldMultiLease(leases);
      } catch (error) {
        await new HeldMultiLease(leases)[Symbol.asyncDispose]();
        // One lease was lost while the call waited for the others.
        const isLost = error instanceof LeaseLostError && leases.length === this.locks.length;
        if (!isLost || deadline.remainingMs === 0) throw error;
      }
    }
  }
}

async function acquireWithin(
  lock: Lock,
  options: AcquireOptions | undefined,
  deadline: Deadline,
): Promise<Lease> {
  try {
    const waitTimeMs = Math.ceil(deadline.remainingMs);
    return await lock.acquire({ ...options, waitTimeMs });
  } catch (error) {
    if (!(error instanceof LockTimeoutError)) throw error;
    const { retryAfterMs, blockedBy, holding } = error;
    const { waitedMs } = deadline;
    throw new LockTimeoutError(lock.name, { waitedMs, retryAfterMs, blockedBy, holding });
  }
}

/** The holder of all locks holds each for the whole lease, however long the others took. */
async function refresh(
  leases: readonly Lease[],
  { watchdogLeaseMs, leaseTimeMs }: ResolvedAcquireOptions,
) {
  const isSpent = (lease: Lease) => watchdogLeaseMs === 0 && lease.remainingMs < 0.9 * leaseTimeMs;
  await Promise.all(leases.filter(isSpent).map((lease) => lease.renew(leaseTimeMs)));
  for (const lease of leases) lease.assertHeld();
}

function inOrder(given: readonly Lock[]): Lock[] {
  const locks = new Map<string, Lock>();
  for (const lock of given.flatMap((one) => (one instanceof OrderedLocks ? one.locks : [one]))) {
    locks.set(lock.id, lock);
  }
  if (locks.size === 0) throw new LockArgumentError('A multi lock needs one lock or more');
  if (locks.size > MOST_LOCKS) {
    throw new LockArgumentError(
      `A multi lock takes at most ${String(MOST_LOCKS)} locks, not ${String(locks.size)}`,
    );
  }
  refuseSameKey(locks);
  return [...locks.values()].sort(byKeyAndKind);
}

/** Locks of one key and kind keep the given order: a client's id differs in each process. */
function byKeyAndKind(one: Lock, other: Lock): number {
  const [first, second] = [keyAndKindOf(one), keyAndKindOf(other)];
  if (first === second) return 0;
  return first < second ? -1 : 1;
}

function keyAndKindOf({ id }: Lock): string {
  return id.split('\n', 2).join('\n');
}

/** Two kinds of lock on one key exclude each other, such as the read and the write lock. */
function refuseSameKey(locks: ReadonlyMap<string, Lock>): void {
  const seen = new Set<string>();
  for (const { id, name } of locks.values()) {
    const [key, , client] = id.split('\n');
    const place = `${String(key)}\n${String(client)}`;
    if (seen.has(place)) {
      throw new LockArgumentError(
        `A multi lock cannot acquire ${quoteName(name)} twice in different ways: it would wait for itself`,
      );
    }
    seen.add(place);
  }
}

const VERBS: readonly (keyof Lock)[] = [
  ...(['acquire', 'tryAcquire', 'using', 'isLocked', 'remainingTimeMs', 'forceRelease'] as const),
];

/** @throws {LockArgumentError} the value is neither a name nor a lock of this library */
export function asLock(given: unknown, ofName: (name: string) => Lock): Lock {
  if (typeof given === 'string') return ofName(given);
  // By shape: an application may have two copies of this library. The id orders the locks.
  const isLock = hasMethods(given, ...VERBS) && /^.+\n.+\n./s.test((given as Lock).id);
  if (isLock) return given as Lock;
  throw new LockArgumentError(
    `A multi lock takes names and locks, such as fairLocks.get(name), not ${describeValue(given)}`,
  );
}
