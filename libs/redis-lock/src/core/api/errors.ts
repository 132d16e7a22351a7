/** Stable identifiers of the errors below; safe to switch on, log and send to clients. */
export type LockErrorCode =
  | 'LOCK_TIMEOUT'
  | 'LEASE_LOST'
  | 'LOCK_BACKEND'
  | 'LOCK_QUORUM'
  | 'LOCK_REPLICATION'
  | 'LOCK_STATE'
  | 'LOCK_KEY'
  | 'LOCK_ARGUMENT'
  | 'LOCK_CONFIGURATION'
  | 'LOCK_LIMIT'
  | 'LOCK_SHUTDOWN';

/** The details of an error beside its message. */
export interface LockErrorDetails {
  readonly lockName?: string | undefined;
  readonly cause?: unknown;
}

/** The page is in the package, so that it is there as soon as the package is. */
const ERRORS_PAGE = 'https://unpkg.com/nestjs-redis-lock/docs/errors.md';

/** Base of every error this library throws. None of them knows HTTP. */
export abstract class LockError extends Error {
  abstract readonly code: LockErrorCode;
  /** The name of the lock, if the call was about one. */
  readonly lockName: string | undefined;

  constructor(message: string, details: LockErrorDetails = {}) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined);
    this.lockName = details.lockName;
  }

  /** The address of the section on this code in the docs: what happened, and what to do. */
  get help(): string {
    return `${ERRORS_PAGE}#${this.code.toLowerCase()}`;
  }

  /** The value for `JSON.stringify`: all properties, the message and `help`, without stack and cause. */
  toJSON(): Record<string, unknown> {
    const { message, help } = this;
    return { ...Object.fromEntries(Object.entries(this)), message, help };
  }
}

/** The reason and the fix where a semaphore gives nothing to nobody. */
export const UNSET_PERMITS = 'nobody has set its permits: give capacity or call trySetPermits';

/** Another owner had the lock during the whole waiting time. Redis answered; nothing is held. */
export class LockTimeoutError extends LockError {
  override readonly name = 'LockTimeoutError';
  readonly code = 'LOCK_TIMEOUT';
  /** How long the caller waited, in milliseconds. */
  readonly waitedMs: number;
  /**
   * The longest time until the lock is free, in milliseconds, if nobody renews the present lease or
   * takes the lock anew. The holder may release it much sooner: ask again after a shorter time. At
   * least 1, and `Infinity` when nothing ends by itself.
   */
  readonly retryAfterMs: number;
  /**
   * - `other`: another owner holds it.
   * - `sibling`: the lock is held by another branch of the caller's own scope.
   * - `unset`: nobody has set the permits of the semaphore (`capacity`, `trySetPermits`).
   */
  readonly blockedBy: 'other' | 'sibling' | 'unset';

  constructor(
    lockName: string,
    details: { waitedMs: number; retryAfterMs: number; blockedBy?: 'other' | 'sibling' | 'unset' },
  ) {
    const { retryAfterMs, blockedBy = 'other' } = details;
    const waited = Math.ceil(details.waitedMs);
    const why = blockedBy === 'unset' ? UNSET_PERMITS : heldBy(blockedBy, retryAfterMs);
    super(`Gave up on lock ${quoteName(lockName)} after ${waited} ms: ${why}`, { lockName });
    this.waitedMs = waited;
    this.retryAfterMs = Math.max(1, Math.ceil(retryAfterMs));
    this.blockedBy = blockedBy;
  }
}

function heldBy(holder: 'other' | 'sibling', retryAfterMs: number): string {
  // Also where a counting semaphore has too few permits.
  if (retryAfterMs === Infinity) return 'it was not released, and has no lease that ends by itself';
  const who = holder === 'sibling' ? 'another branch of the same scope' : 'somebody else';
  return `${who} holds it; raise waitTimeMs or shorten the critical section`;
}

const LOST: Record<LeaseLostError['reason'], string> = {
  expired: 'the lease ran out by the local clock',
  gone: 'Redis has no such holder any more: it expired there, was deleted, or was taken away',
  suspended: 'this machine stood still and no renewal has confirmed the lease since',
  shutdown: 'the application shut down before the holder was done',
  overtaken: 'a newer holder has written there',
};

/**
 * The caller held the lock, and may have lost it: another holder may have worked at the same time.
 */
export class LeaseLostError extends LockError {
  override readonly name = 'LeaseLostError';
  readonly code = 'LEASE_LOST';
  /**
   * - `expired`: the lease ran out by the local clock. It was fixed (`leaseTimeMs`), or Redis confirmed
   *   no renewal in time.
   * - `gone`: Redis answered that this owner does not hold the lock any more.
   * - `suspended`: the machine stood still; a renewal has yet to tell whether the lock is still held.
   * - `shutdown`: the application closed before the holder was done.
   * - `overtaken`: a newer fencing token has written to the guarded resource.
   */
  readonly reason: 'expired' | 'gone' | 'suspended' | 'shutdown' | 'overtaken';
  /** The result of the work that lost its lease; set by `using` and `@WithLock` only. */
  readonly result: unknown;
  /** When the request was sent that Redis confirmed last: the grant, or a renewal. */
  declare readonly confirmedAt: Date | undefined;
  /** How old that was when the loss was found, in milliseconds. */
  declare readonly confirmedAgoMs: number | undefined;
  /**
   * For how long the process or its machine stood still since then, in milliseconds; 0 if it did not. It
   * is a lower bound: up to a second of each time cannot be seen. A wall clock that is set forward counts
   * as such a time.
   */
  declare readonly stoodStillMs: number | undefined;
  /** When a renewal failed last, if none was confirmed since. */
  declare readonly renewalFailedAt: Date | undefined;
  /** The message of its error, which is the `cause`; of an error of `using`, the cause of the cause. */
  declare readonly renewalFailedWith: string | undefined;

  constructor(
    lockName: string,
    reason: LeaseLostError['reason'],
    details: LeaseLostDetails & { cause?: unknown; result?: unknown } = {},
  ) {
    const { cause, result, ...known } = details;
    const what = reason === 'overtaken' ? 'Refused to write to' : 'Lost lock';
    super(`${what} ${quoteName(lockName)}: ${LOST[reason]}${numbersOf(known)}`, {
      lockName,
      ...('cause' in details && { cause }),
    });
    this.reason = reason;
    this.result = result;
    // Logs show no field of which nothing is known.
    const fields = Object.entries(known).filter(([, value]) => value !== undefined);
    Object.assign(this, Object.fromEntries(fields));
  }
}

/** A lost lease, as far as it is known: a field is missing where nothing is. */
export type LeaseLostDetails = Partial<
  Pick<
    LeaseLostError,
    'confirmedAt' | 'confirmedAgoMs' | 'stoodStillMs' | 'renewalFailedAt' | 'renewalFailedWith'
  >
>;

function numbersOf({ confirmedAgoMs, stoodStillMs = 0 }: LeaseLostDetails): string {
  if (confirmedAgoMs === undefined) return '';
  const stoodStill = stoodStillMs > 0 ? `, stood still for ${String(stoodStillMs)} ms` : '';
  return ` (confirmed ${String(confirmedAgoMs)} ms ago${stoodStill})`;
}

/** The details of a `LockBackendError` beside its message. */
export interface BackendErrorDetails extends LockErrorDetails {
  readonly retryable: boolean;
  /**
   * - `none`: nothing happened in Redis.
   * - `unknown`: the command may have been executed. Then its grant is given back as soon as Redis
   *   answers again.
   */
  readonly outcome: 'none' | 'unknown';
}

/** Redis could not be asked, or refused to answer. The holder of the lock is unknown. */
export class LockBackendError extends LockError {
  override readonly name: string = 'LockBackendError';
  readonly code: 'LOCK_BACKEND' | 'LOCK_QUORUM' | 'LOCK_REPLICATION' = 'LOCK_BACKEND';
  /** True when the same call may succeed later without a change of the set-up. */
  readonly retryable: boolean;
  readonly outcome: BackendErrorDetails['outcome'];

  constructor(message: string, details: BackendErrorDetails) {
    super(message, details);
    this.retryable = details.retryable;
    this.outcome = details.outcome;
  }

  /** @internal The same error with more details. */
  amended(message: string, changes: Partial<BackendErrorDetails>): LockBackendError {
    return new LockBackendError(message, { ...this.details, ...changes });
  }

  /** @internal */
  protected get details(): BackendErrorDetails {
    const { lockName, retryable, outcome, cause } = this;
    return { lockName, retryable, outcome, ...(cause !== undefined && { cause }) };
  }
}

/**
 * A slot of a Cluster is on its way to another node. The keys of the script are on either node, or
 * on none. Redis would have executed a script of one key.
 */
export class MovingSlotError extends LockBackendError {}

/** Too few independent nodes of a red lock could be asked. Granted votes are given back. */
export class LockQuorumError extends LockBackendError {
  override readonly name = 'LockQuorumError';
  override readonly code = 'LOCK_QUORUM';
  /** One entry for each node: why it did not vote, or undefined where it did. */
  readonly causes: readonly unknown[];

  constructor(
    message: string,
    details: BackendErrorDetails & { readonly causes: readonly unknown[] },
  ) {
    super(message, details);
    this.causes = details.causes;
  }

  /** @internal */
  override amended(message: string, changes: Partial<BackendErrorDetails>): LockQuorumError {
    return new LockQuorumError(message, { ...this.details, ...changes, causes: this.causes });
  }
}

/** Fewer replicas than `minReplicas` have the grant. It is given back. */
export class LockReplicationError extends LockBackendError {
  override readonly name = 'LockReplicationError';
  override readonly code = 'LOCK_REPLICATION';
  readonly minReplicas: number;
  /** The number of replicas that confirmed it in time. */
  readonly replicas: number;

  constructor(
    message: string,
    details: BackendErrorDetails & { readonly minReplicas: number; readonly replicas: number },
  ) {
    super(message, details);
    this.minReplicas = details.minReplicas;
    this.replicas = details.replicas;
  }

  /** @internal */
  override amended(message: string, changes: Partial<BackendErrorDetails>): LockReplicationError {
    const { minReplicas, replicas } = this;
    return new LockReplicationError(message, {
      ...this.details,
      ...changes,
      minReplicas,
      replicas,
    });
  }
}

/** The key holds something that is not this kind of lock, or the call makes no sense in this state. */
export class LockStateError extends LockError {
  override readonly name = 'LockStateError';
  readonly code = 'LOCK_STATE';
}

/** Adds the lock's name to an error of the connection, which does not know it. */
export function withLockName(error: unknown, lockName: string): unknown {
  if (!(error instanceof LockError) || error.lockName !== undefined) return error;
  const message = `Lock ${quoteName(lockName)}: ${error.message}`;
  const { cause } = error;
  if (error instanceof LockStateError) return new LockStateError(message, { lockName, cause });
  return error instanceof LockBackendError ? error.amended(message, { lockName }) : error;
}

/** The lock name, or a value for its template, cannot be used. Nothing was sent to Redis. */
export class LockKeyError extends LockError {
  override readonly name = 'LockKeyError';
  readonly code = 'LOCK_KEY';
}

/** An option of a call is wrong. Nothing was sent to Redis. */
export class LockArgumentError extends LockError {
  override readonly name = 'LockArgumentError';
  readonly code = 'LOCK_ARGUMENT';
}

/** The module, a decorator or a Redis client is set up wrongly. */
export class LockConfigurationError extends LockError {
  override readonly name = 'LockConfigurationError';
  readonly code = 'LOCK_CONFIGURATION';
}

const ADVICE = {
  maxWaitersPerKey: [
    'callers of this process wait for it already',
    'shorten the critical section, lower waitTimeMs',
  ],
  maxKeys: [
    'keys are held or waited for by this process already',
    'release what is not needed any more, lock fewer names at a time',
  ],
} as const;

/** More callers, or more keys, than this process is set up for. Nothing was sent to Redis for this call. */
export class LockLimitError extends LockError {
  override readonly name = 'LockLimitError';
  readonly code = 'LOCK_LIMIT';
  /** The option of the module that says how many are allowed. */
  readonly limit: 'maxWaitersPerKey' | 'maxKeys';
  /** How many are allowed. */
  readonly most: number;

  constructor(lockName: string, limit: 'maxWaitersPerKey' | 'maxKeys', most: number) {
    const [what, remedy] = ADVICE[limit];
    super(
      `Refused lock ${quoteName(lockName)}: ${String(most)} ${what}; ${remedy}, or raise ${limit}`,
      { lockName },
    );
    this.limit = limit;
    this.most = most;
  }
}

/** The call asked for a lock after the shutdown, or still waited for one during it. */
export class LockShutdownError extends LockError {
  override readonly name = 'LockShutdownError';
  readonly code = 'LOCK_SHUTDOWN';

  constructor(lockName: string) {
    super(`Lock ${quoteName(lockName)} was not acquired: the application is shutting down`, {
      lockName,
    });
  }
}

const SHOWN_LENGTH = 128;

/** A name as messages show it: quoted, control characters escaped, at most 128 characters. */
export function quoteName(name: string): string {
  return JSON.stringify(shortened(name));
}

function shortened(text: string): string {
  return text.length <= SHOWN_LENGTH ? text : `${text.slice(0, SHOWN_LENGTH - 1)}…`;
}

/** A refused value as messages show it: its kind, and the value itself only where it is short. */
export function describeValue(value: unknown): string {
  if (typeof value === 'string') return quoteName(value);
  if (typeof value === 'bigint') return `${shortened(String(value))}n`;
  if (value === null || typeof value === 'undefined') return String(value);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const kind = typeof value === 'object' ? classOf(value) : typeof value;
  return /^[AEIOaeio]/.test(kind) ? `an ${kind}` : `a ${kind}`;
}

/** Works for errors of any realm. It must not throw: a revoked proxy throws at every access. */
function classOf(value: object): string {
  try {
    const { constructor } = Object.getPrototypeOf(value) as { constructor?: { name?: unknown } };
    const name = String(constructor?.name);
    const isPlain = name === 'Object' || name === 'Array' || !/^[\w$]{1,64}$/.test(name);
    return isPlain ? (Array.isArray(value) ? 'array' : 'object') : name;
  } catch {
    return 'object';
  }
}
