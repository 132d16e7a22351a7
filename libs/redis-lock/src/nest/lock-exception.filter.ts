import { STATUS_CODES } from 'node:http';

import {
  Catch,
  HttpException,
  Logger,
  type ArgumentsHost,
  type ExceptionFilter,
} from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { throwError } from 'rxjs';

import {
  LockConfigurationError,
  LockError,
  LockTimeoutError,
  type LockErrorCode,
} from '../core/errors.js';

interface Answer {
  readonly status: number;
  /** Says nothing that only the operators may know: no name, no option, no text from Redis. */
  readonly message: string;
  readonly retryAfterS?: number;
}

const UNAVAILABLE: Answer = {
  status: 503,
  message: 'Locks cannot be taken at the moment; try again later',
  retryAfterS: 5,
};

const INTERNAL: Answer = { status: 500, message: 'Internal server error' };

const ANSWERS: Readonly<Record<LockErrorCode, Answer>> = {
  LOCK_TIMEOUT: { status: 423, message: 'Somebody else is using this; try again later' },
  LOCK_BACKEND: UNAVAILABLE,
  LOCK_QUORUM: UNAVAILABLE,
  LOCK_REPLICATION: UNAVAILABLE,
  LOCK_SHUTDOWN: {
    status: 503,
    message: 'This instance is shutting down; try again',
    retryAfterS: 1,
  },
  LOCK_LIMIT: {
    status: 429,
    message: 'Too many requests at the moment; try again later',
    retryAfterS: 1,
  },
  LOCK_KEY: { status: 400, message: 'A value of this request cannot be part of a lock name' },
  LEASE_LOST: INTERNAL,
  LOCK_STATE: INTERNAL,
  LOCK_ARGUMENT: INTERNAL,
  LOCK_CONFIGURATION: INTERNAL,
};

/** Longer is no advice: the lease of a lock that is waited for may even have no end. */
const LONGEST_RETRY_S = 3_600;

/**
 * Answers HTTP requests that failed with an error of this library: busy 423, too many 429 and unavailable
 * 503, all with `Retry-After`, an unusable value 400, everything else 500. The body is that of Nest's
 * own exceptions and the error's code: `{ statusCode, message, error, code }`. What goes wrong on our
 * side is logged.
 *
 * Opt-in: `{ provide: APP_FILTER, useClass: LockExceptionFilter }`, `@UseFilters(LockExceptionFilter)`,
 * or by hand `new LockExceptionFilter(app.getHttpAdapter())`. It works with every HTTP adapter, and
 * passes the error on where the request did not come by HTTP.
 */
@Catch(LockError)
export class LockExceptionFilter
  extends BaseExceptionFilter<LockError | HttpException>
  implements ExceptionFilter<LockError>
{
  readonly #logger = new Logger('RedisLock');

  override catch(error: LockError, host: ArgumentsHost): unknown {
    const transport: string = host.getType();
    // A microservice awaits an Observable from its filters, and would not survive a throw.
    if (transport === 'rpc') return throwError(() => error);
    if (transport !== 'http') throw error;
    const answer = ANSWERS[error.code];
    this.#log(error, answer.status);
    this.#setRetryAfter(error, answer, host);
    const { status, message } = answer;
    const reason = STATUS_CODES[status] ?? 'Error';
    const body = { statusCode: status, message, error: reason, code: error.code };
    super.catch(new HttpException(body, status), host);
    return undefined;
  }

  #setRetryAfter(error: LockError, { retryAfterS }: Answer, host: ArgumentsHost): void {
    const seconds =
      error instanceof LockTimeoutError ? Math.ceil(error.retryAfterMs / 1_000) : retryAfterS;
    // Nothing ends by itself: any time would be made up.
    if (seconds === Infinity) return;
    const adapter = this.applicationRef ?? this.httpAdapterHost?.httpAdapter;
    if (adapter === undefined) {
      throw new LockConfigurationError(
        'LockExceptionFilter has no HTTP adapter; write new LockExceptionFilter(app.getHttpAdapter()), ' +
          'or let Nest make it by APP_FILTER or @UseFilters',
      );
    }
    const response: unknown = host.switchToHttp().getResponse();
    if (seconds === undefined || adapter.isHeadersSent(response)) return;
    adapter.setHeader(response, 'Retry-After', String(Math.min(seconds, LONGEST_RETRY_S)));
  }

  #log(error: LockError, status: number): void {
    if (status === 500) this.#logger.error(error.message, error.stack);
    else if (status === 503 || status === 429) this.#logger.warn(error.message);
    else this.#logger.debug(error.message);
  }
}
