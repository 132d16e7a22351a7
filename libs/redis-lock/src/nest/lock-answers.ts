import { STATUS_CODES } from 'node:http';

import type { LockErrorCode } from '../core/api/errors.js';
import { numberProblem, type Range } from '../core/api/options.js';
import { checkObject, refuse, refuseUnknown } from '../core/api/refuse.js';

/** Your changes to the default answers of `LockExceptionFilter`. */
export interface LockExceptionFilterOptions {
  /**
   * HTTP statuses from 400 to 599 by error code: `{ LOCK_TIMEOUT: 409 }`. The other codes keep
   * their defaults.
   */
  readonly statuses?: Readonly<Partial<Record<LockErrorCode, number>>> | undefined;
  /**
   * The wait in every `Retry-After` header: 1 to 3600 whole seconds. For a busy lock it is at most
   * the rest of the lease.
   * @default 1; while Redis does not answer 5
   */
  readonly retryAfterS?: number | undefined;
}

/** The answer to a request that failed with an error of one code. */
export interface LockAnswer {
  readonly status: number;
  /** The number of its status in gRPC. Options do not change it. */
  readonly grpc: number;
  /** Safe for every client: no lock name, no option, no text from Redis. */
  readonly message: string;
  /** Undefined where a second try would fail too. */
  readonly retryAfterS?: number;
  /** The log level of the error. Undefined: it is not logged. */
  readonly level: 'error' | 'warn' | 'debug' | undefined;
}

export type LockAnswers = Readonly<Record<LockErrorCode, LockAnswer>>;

/** The statuses of gRPC, by their names there. */
const GRPC = {
  INVALID_ARGUMENT: 3,
  RESOURCE_EXHAUSTED: 8,
  ABORTED: 10,
  INTERNAL: 13,
  UNAVAILABLE: 14,
} as const;

const later = (
  status: number,
  grpc: keyof typeof GRPC,
  message: string,
  retryAfterS: number,
): LockAnswer => ({ ...{ status, grpc: GRPC[grpc], message, retryAfterS, level: 'warn' } });

const UNREACHABLE = 'Locks are not available at the moment; try again later';
const UNAVAILABLE = later(503, 'UNAVAILABLE', UNREACHABLE, 5);
const INTERNAL: LockAnswer = {
  ...{ status: 500, grpc: GRPC.INTERNAL, message: 'Internal server error', level: 'error' },
};

const DEFAULTS: LockAnswers = {
  LOCK_TIMEOUT: {
    ...later(423, 'ABORTED', 'Another request is using this; try again later', 1),
    level: undefined,
  },
  LOCK_BACKEND: UNAVAILABLE,
  LOCK_QUORUM: UNAVAILABLE,
  LOCK_REPLICATION: UNAVAILABLE,
  LOCK_SHUTDOWN: later(503, 'UNAVAILABLE', 'This instance is shutting down; try again', 1),
  LOCK_LIMIT: later(
    429,
    'RESOURCE_EXHAUSTED',
    'Too many requests at the moment; try again later',
    1,
  ),
  LOCK_KEY: {
    status: 400,
    grpc: GRPC.INVALID_ARGUMENT,
    message: 'A value of this request cannot be part of a lock name',
    level: 'debug',
  },
  LEASE_LOST: INTERNAL,
  LOCK_STATE: INTERNAL,
  LOCK_NESTING: INTERNAL,
  LOCK_ARGUMENT: INTERNAL,
  LOCK_CONFIGURATION: INTERNAL,
};

const STATUS: Range = { min: 400, max: 599 };
const WAIT_S: Range = { min: 1, max: 3_600 };

const CODES = Object.keys(DEFAULTS) as LockErrorCode[];

/**
 * @param where begins the message of the error
 * @throws {LockConfigurationError} an option is unknown, or its value cannot be used
 */
export function answersOf(options: LockExceptionFilterOptions, where: string): LockAnswers {
  checkObject(where, options);
  refuseUnknown(options, ['statuses', 'retryAfterS'], where);
  const { statuses = {}, retryAfterS } = options;
  checkStatuses(statuses, where);
  checkNumber(where, 'retryAfterS', retryAfterS, WAIT_S, 'a whole number of seconds');
  const answers = CODES.map((code) => [code, changed(DEFAULTS[code], statuses[code], retryAfterS)]);
  return Object.fromEntries(answers) as LockAnswers;
}

function changed(
  answer: LockAnswer,
  status = answer.status,
  retryAfterS = answer.retryAfterS,
): LockAnswer {
  return {
    ...answer,
    status,
    // Only a 500 is an internal error.
    ...(answer === INTERNAL && status !== INTERNAL.status && { message: reasonOf(status) }),
    ...(answer.retryAfterS !== undefined && { retryAfterS }),
  };
}

/** The reason phrase of a status. */
export function reasonOf(status: number): string {
  return STATUS_CODES[status] ?? 'Error';
}

function checkStatuses(statuses: object, where: string): void {
  const place = `${where}: statuses`;
  checkObject(place, statuses);
  refuseUnknown(statuses, CODES, place);
  for (const [code, status] of Object.entries(statuses)) {
    checkNumber(place, code, status, STATUS, 'a whole number');
  }
}

function checkNumber(
  where: string,
  option: string,
  value: unknown,
  range: Range,
  what: string,
): void {
  const problem = value === undefined ? undefined : numberProblem(option, value, range, what);
  if (problem !== undefined) refuse(where, problem);
}
