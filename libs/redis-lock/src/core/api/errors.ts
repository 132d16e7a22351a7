import { heldBy, quoteName, UNSET_PERMITS } from './texts.js';

export { describeValue, quoteName, UNSET_PERMITS } from './texts.js';

/**
 * Stable identifiers of the errors below. You can switch on them, log them and send them to
 * clients.
 */
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
  | 'LOCK_NESTING'
  | 'LOCK_SHUTDOWN';

/** The details of an error beside its message. */
export interface LockErrorDetails {
  readonly lockName?: string | undefined;
  readonly cause?: unknown;
}

/** This page is in the package. The bundler names the version in this address. */
const ERRORS_PAGE = 'https://unpkg.com/nestjs-redis-lock/docs/errors.md';

/** Base of every error that this library throws. The errors know nothing of HTTP. */
export abstract class LockError extends Error {
  abstract readonly code: LockErrorCode;
  /** The name of the lock, if the call concerned one. */
  readonly lockName: string | undefined;

  constructor(message: string, details: LockErrorDetails = {}) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined);
    this.lockName = details.lockName;
  }

  /** The address of the section on this code in the docs: what happened, and what to do. */
  get help(): string {
    return `${ERRORS_PAGE}#${this.code.toLowerCase()}`;
  }

  /**
   * The value for `JSON.stringify`: all properties, the message and `help`, without stack, cause
   * and result.
   */
  toJSON(): Record<string, unknown> {
    const { message, help } = this;
    return { ...Object.fromEntries(Object.entries(this)), message, help };
  }
}

/**
 * Another owner held the lock during the whole waiting time. Redis answered, and you hold nothing.
 */
export class LockTimeoutError extends LockError {
  override readonly name = 'LockTimeoutError';
  readonly code = 'LOCK_TIMEOUT';
  /** How long the caller waited, in milliseconds. */
  readonly waitedMs: number;
  /**
   * The rest of the present lease, in milliseconds: an upper bound until the lock is free. The
   * holder may renew the lease, or release it much sooner: try again after a shorter time. At least
   * 1. `Infinity` when no lease ends the hold.
   */
  readonly retryAfterMs: number;
  /**
   * - `other`: another owner holds the lock.
   * - `sibling`: another branch of the caller's own scope holds it.
   * - `surrounding`: the hold that surrounds the call holds it. The call cannot join it: `nesting`
   * is `wait`, or the hold is of another kind.
   * - `unset`: the semaphore has no permits yet (`capacity`, `trySetPermits`).
   */
  readonly blockedBy: 'other' | 'sibling' | 'surrounding' | 'unset';
  /**
   * The names of the locks whose `using` or decorated method surrounds the call. If the holder of
   * this lock waits for one of them, both wait in vain.
   */
  readonly holding: readonly string[];

  constructor(
    lockName: string,
    details: Pick<LockTimeoutError, 'waitedMs' | 'retryAfterMs'> &
      Partial<Pick<LockTimeoutError, 'blockedBy' | 'holding'>>,
  ) {
    const { retryAfterMs, blockedBy = 'other', holding = [] } = details;
    const waited = Math.ceil(details.waitedMs);
    const others = holding.filter((name) => name !== lockName);
    const why = blockedBy === 'unset' ? UNSET_PERMITS : heldBy(blockedBy, retryAfterMs, others);
    super(`Lock ${quoteName(lockName)} was not acquired in ${waited} ms: ${why}`, { lockName });
    this.waitedMs = waited;
    this.retryAfterMs = Math.max(1, Math.ceil(retryAfterMs));
    this.blockedBy = blockedBy;
    this.holding = holding;
  }
}

const LOST: Record<LeaseLostError['reason'], string> = {
  expired: 'its lease expired by the local clock',
  gone: 'Redis no longer stores this holder: it expired, was deleted or was force-released',
  suspended: 'this machine stood still, and no renewal has confirmed the lease since',
  shutdown: 'the application shut down before the work ended',
  overtaken: 'a newer holder has written there',
};

/**
 * The caller held the lock, and may hold it no longer. Another owner may have held it at the same
 * time.
 */
export class LeaseLostError extends LockError {
  override readonly name = 'LeaseLostError';
  readonly code = 'LEASE_LOST';
  /**
   * - `expired`: the lease ended by the local clock. It was fixed (`leaseTimeMs`), or Redis
   *   confirmed no renewal in time.
   * - `gone`: Redis answered that this owner does not hold the lock, or granted it to another owner
   *   of this process.
   * - `suspended`: the machine stood still, and no renewal has confirmed the lease since.
   * - `shutdown`: the application closed before the work ended.
   * - `overtaken`: a newer fencing token has written to the guarded resource.
   */
  readonly reason: 'expired' | 'gone' | 'suspended' | 'shutdown' | 'overtaken';
  /**
   * The result of the work that lost its lease. Only `using` and `@WithLock` set it. Logs and JSON
   * do not show it: it is yours, and of any size and kind.
   */
  declare readonly result: unknown;
  /** When the last request that Redis confirmed was sent: the grant, or a renewal. */
  declare readonly confirmedAt: Date | undefined;
  /** The time from `confirmedAt` until the loss was found, in milliseconds. */
  declare readonly confirmedAgoMs: number | undefined;
  /**
   * How long the process or its machine stood still since `confirmedAt`, in milliseconds. 0 if it
   * did not. This is a lower bound: the last stop counts, and may hide up to one second. A wall clock
   * that is set forward counts as a stop.
   */
  declare readonly stoodStillMs: number | undefined;
  /** When the last renewal failed, if none was confirmed since. */
  declare readonly renewalFailedAt: Date | undefined;
  /**
   * The message of the failed renewal's error. That error is the `cause`; for `using`, the cause of
   * the cause.
   */
  declare readonly renewalFailedWith: string | undefined;

  constructor(
    lockName: string,
    reason: LeaseLostError['reason'],
    details: LeaseLostDetails & { cause?: unknown; result?: unknown } = {},
  ) {
    const { cause, result, ...known } = details;
    const lock = quoteName(lockName);
    const what = reason === 'overtaken' ? `Write to ${lock} refused` : `Lock ${lock} lost`;
    super(`${what}: ${LOST[reason]}${numbersOf(known)}`, {
      lockName,
      ...('cause' in details && { cause }),
    });
    this.reason = reason;
    Object.defineProperty(this, 'result', { value: result });
    // Logs show no undefined fields.
    const fields = Object.entries(known).filter(([, value]) => value !== undefined);
    Object.assign(this, Object.fromEntries(fields));
  }
}

/** The known facts about a lost lease. Unknown fields are missing. */
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
   * - `none`: the command changed nothing in Redis.
   * - `unknown`: Redis may have executed the command. The library releases its grant as soon as
   *   Redis answers again.
   */
  readonly outcome: 'none' | 'unknown';
}

/** Redis did not answer, or refused the command. The holder of the lock is unknown. */
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
 * A slot of a Cluster is moving to another node. The keys of the script are on either node, or on
 * none. Redis would have executed a script with one key.
 */
export class MovingSlotError extends LockBackendError {}

/** Too few independent nodes of a red lock answered. The library releases the granted votes. */
export class LockQuorumError extends LockBackendError {
  override readonly name = 'LockQuorumError';
  override readonly code = 'LOCK_QUORUM';
  /** One entry for each node: why it did not vote, or undefined if it voted. */
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

/** Fewer than `minReplicas` replicas confirmed the grant. The library releases it. */
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

/** The key holds another type than this kind of lock, or the call is not possible in this state. */
export class LockStateError extends LockError {
  override readonly name = 'LockStateError';
  readonly code = 'LOCK_STATE';
}

export function releasedError(lockName: string): LockStateError {
  const message = `This lease of lock ${quoteName(lockName)} is already released`;
  return new LockStateError(message, { lockName });
}

/** Adds the lock's name to an error of the connection, which does not know it. */
export function withLockName(error: unknown, lockName: string): unknown {
  if (!(error instanceof LockError) || error.lockName !== undefined) return error;
  const message = `Lock ${quoteName(lockName)}: ${error.message}`;
  const { cause } = error;
  if (error instanceof LockStateError) return new LockStateError(message, { lockName, cause });
  return error instanceof LockBackendError ? error.amended(message, { lockName }) : error;
}

/** The lock name, or a value for its template, is not valid. Nothing was sent to Redis. */
export class LockKeyError extends LockError {
  override readonly name = 'LockKeyError';
  readonly code = 'LOCK_KEY';
  /**
   * `value`: another value may make a valid name. `code`: the program is wrong, as where a getter
   * threw, or the name is no string.
   */
  readonly origin: 'value' | 'code';

  constructor(message: string, details: LockErrorDetails & { readonly origin?: 'code' } = {}) {
    super(message, details);
    this.origin = details.origin ?? 'value';
  }
}

/**
 * An option of a call is wrong. You hold nothing, and nothing was sent to Redis. The exception: a
 * lease that is shorter than a round trip shows only by its answers.
 */
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
    'callers of this process already wait for it',
    'shorten the critical section, lower waitTimeMs',
  ],
  maxKeys: [
    'keys are already in use by this process',
    'release locks earlier, lock fewer names at a time',
  ],
} as const;

/**
 * This process has reached its limit of waiting callers or of keys. Nothing was sent to Redis for
 * this call.
 */
export class LockLimitError extends LockError {
  override readonly name = 'LockLimitError';
  readonly code = 'LOCK_LIMIT';
  /** The module option that sets the limit. */
  readonly limit: 'maxWaitersPerKey' | 'maxKeys';
  /** The limit. */
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

/**
 * A hold of the same lock surrounds the call, and its `nesting` is `refuse`. Nothing was sent to
 * Redis. The `cause` has the stack of the call that acquired that hold.
 */
export class LockNestingError extends LockError {
  override readonly name = 'LockNestingError';
  readonly code = 'LOCK_NESTING';
  /**
   * Where the surrounding hold was acquired, or its label if Nest called the handler. Undefined if its
   * `nesting` is not `refuse`.
   */
  readonly acquiredAt: string | undefined;
  /** Where the refused call was made. */
  readonly calledAt: string | undefined;

  constructor(
    lockName: string,
    details: { acquiredAt?: string | undefined; calledAt?: string | undefined; cause?: unknown },
  ) {
    const { acquiredAt, calledAt } = details;
    const acquired = acquiredAt ?? "at an unknown place, since its nesting is not 'refuse'";
    super(
      `Refused lock ${quoteName(lockName)}: nesting is 'refuse', and its hold surrounds the call. ` +
        `The hold was acquired ${acquired}. The call is ${calledAt ?? 'in the stack'}`,
      { lockName, ...(details.cause !== undefined && { cause: details.cause }) },
    );
    this.acquiredAt = acquiredAt;
    this.calledAt = calledAt;
  }
}

/** The call came after the shutdown began, or was still waiting when it began. */
export class LockShutdownError extends LockError {
  override readonly name = 'LockShutdownError';
  readonly code = 'LOCK_SHUTDOWN';

  constructor(lockName: string) {
    super(`Lock ${quoteName(lockName)} was not acquired: the application is shutting down`, {
      lockName,
    });
  }
}
