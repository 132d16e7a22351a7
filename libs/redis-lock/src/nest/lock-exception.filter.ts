import { STATUS_CODES } from 'node:http';

import {
  Catch,
  Logger,
  type ArgumentsHost,
  type ExceptionFilter,
  type HttpServer,
} from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { throwError } from 'rxjs';

import {
  LockConfigurationError,
  LockError,
  LockTimeoutError,
  type LockErrorCode,
} from '../core/api/errors.js';

interface Answer {
  readonly status: number;
  /** Has nothing that only operators may know: no name, no option, no text from Redis. */
  readonly message: string;
  readonly retryAfterS?: number;
}

const later = (status: number, message: string, retryAfterS: number): Answer => ({
  ...{ status, message, retryAfterS },
});

const UNAVAILABLE = later(503, 'Locks cannot be taken at the moment; try again later', 5);
const INTERNAL: Answer = { status: 500, message: 'Internal server error' };

const ANSWERS: Readonly<Record<LockErrorCode, Answer>> = {
  LOCK_TIMEOUT: { status: 423, message: 'Somebody else is using this; try again later' },
  LOCK_BACKEND: UNAVAILABLE,
  LOCK_QUORUM: UNAVAILABLE,
  LOCK_REPLICATION: UNAVAILABLE,
  LOCK_SHUTDOWN: later(503, 'This instance is shutting down; try again', 1),
  LOCK_LIMIT: later(429, 'Too many requests at the moment; try again later', 1),
  LOCK_KEY: { status: 400, message: 'A value of this request cannot be part of a lock name' },
  LEASE_LOST: INTERNAL,
  LOCK_STATE: INTERNAL,
  LOCK_ARGUMENT: INTERNAL,
  LOCK_CONFIGURATION: INTERNAL,
};

/** A longer time is no advice: the lease of the lock may even have no end. */
const LONGEST_RETRY_S = 3_600;

/** The answer to a client that does not speak HTTP. */
interface Failure {
  readonly status: 'error';
  readonly message: string;
  readonly code: LockErrorCode;
  /** When to try again (ms), if that is known. */
  readonly retryAfterMs?: number;
}

/** The methods that responses of Express and Fastify share. */
interface HttpResponse {
  readonly headersSent?: boolean;
  /** Fastify's word for `headersSent`. */
  readonly sent?: boolean;
  /** Node's own response behind that of Fastify. */
  readonly raw?: HttpResponse;
  header(name: string, value: string): unknown;
  status(code: number): HttpResponse;
  send(body: unknown): unknown;
  end(): unknown;
}

type Replies = Pick<HttpServer<unknown, unknown>, 'isHeadersSent' | 'setHeader' | 'reply' | 'end'>;

/** The replacement of an adapter, for a filter that Nest has not made. */
const REPLIES: Replies = {
  isHeadersSent: ({ headersSent, sent }: HttpResponse) => headersSent ?? sent ?? false,
  setHeader: (response: HttpResponse, name, value) => response.header(name, value),
  reply: (response: HttpResponse, body, code = 200) => response.status(code).send(body),
  end: (response: HttpResponse) => (response.raw ?? response).end(),
};

/** The used methods of the clients of both kinds of WebSocket server. */
interface SocketClient {
  /** A number for sockets of the standard; sockets of socket.io have none. */
  readonly readyState?: unknown;
  send(text: string): void;
  emit(event: string, failure: Failure): void;
}

/**
 * Answers requests that failed with an error of this library, without details that only operators
 * may know. Faults on our side are logged.
 * - HTTP: busy 423, too many 429 and unavailable 503, all with `Retry-After`, an unusable value 400,
 *   everything else 500. The body is that of Nest's own exceptions and the error's code:
 *   `{ statusCode, message, error, code }`. It works with every HTTP adapter.
 * - Microservices: the call fails with `{ status: 'error', message, code, retryAfterMs? }`.
 * - WebSocket: the client gets the event `exception` with the same. Nest calls filters of a gateway
 *   only where `@UseFilters` stands on it.
 * - GraphQL: the error has this message, and `code` and `retryAfterMs` in its `extensions`.
 *
 * Opt-in: `{ provide: APP_FILTER, useClass: LockExceptionFilter }`, `@UseFilters(LockExceptionFilter)`,
 * or `app.useGlobalFilters(new LockExceptionFilter())`; a platform that is neither Express nor Fastify
 * needs `new LockExceptionFilter(app.getHttpAdapter())` there.
 */
@Catch(LockError)
export class LockExceptionFilter
  extends BaseExceptionFilter<LockError>
  implements ExceptionFilter<LockError>
{
  readonly #logger = new Logger('RedisLock');

  override catch(error: LockError, host: ArgumentsHost): unknown {
    const answer = ANSWERS[error.code];
    this.#log(error, answer.status);
    const transport: string = host.getType();
    switch (transport) {
      case 'http':
        this.#reply(error, answer, host);
        return undefined;
      case 'rpc':
        // A microservice awaits an Observable from its filters, and would crash after a throw.
        return throwError(() => failureOf(error, answer));
      case 'ws':
        tellSocket(host.switchToWs().getClient(), failureOf(error, answer));
        return undefined;
      default:
        throw graphqlError(error, answer);
    }
  }

  #reply(error: LockError, answer: Answer, host: ArgumentsHost): void {
    const response: unknown = host.switchToHttp().getResponse();
    const adapter = this.applicationRef ?? this.httpAdapterHost?.httpAdapter ?? repliesOf(response);
    if (adapter.isHeadersSent(response)) {
      adapter.end(response);
      return;
    }
    const afterMs = retryAfterMsOf(error, answer);
    if (afterMs !== undefined) {
      adapter.setHeader(response, 'Retry-After', String(Math.ceil(afterMs / 1_000)));
    }
    const { status, message } = answer;
    const reason = STATUS_CODES[status] ?? 'Error';
    const body = { statusCode: status, message, error: reason, code: error.code };
    adapter.reply(response, body, status);
  }

  #log(error: LockError, status: number): void {
    if (status === 500) this.#logger.error(error.message, error.stack);
    else if (status === 503 || status === 429) this.#logger.warn(error.message);
    else this.#logger.debug(error.message);
  }
}

/** @throws {LockConfigurationError} the response is neither of Express nor of Fastify */
function repliesOf(response: unknown): Replies {
  const { header, status, send } = response as Partial<HttpResponse>;
  if ([header, status, send].every((verb) => typeof verb === 'function')) return REPLIES;
  throw new LockConfigurationError(
    'LockExceptionFilter has no HTTP adapter; write new LockExceptionFilter(app.getHttpAdapter()), ' +
      'or let Nest make it by APP_FILTER or @UseFilters',
  );
}

/** Undefined where no time is known: the lock has no end, or another try fails as well. */
function retryAfterMsOf(error: LockError, { retryAfterS }: Answer): number | undefined {
  if (!(error instanceof LockTimeoutError)) {
    return retryAfterS === undefined ? undefined : retryAfterS * 1_000;
  }
  const afterMs = Math.ceil(error.retryAfterMs);
  return afterMs === Infinity ? undefined : Math.min(afterMs, LONGEST_RETRY_S * 1_000);
}

function failureOf(error: LockError, answer: Answer): Failure {
  const retryAfterMs = retryAfterMsOf(error, answer);
  const { message } = answer;
  return {
    ...{ status: 'error', message, code: error.code },
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

function tellSocket(client: SocketClient, failure: Failure): void {
  const isStandard = typeof client.readyState === 'number';
  if (isStandard) client.send(JSON.stringify({ event: 'exception', data: failure }));
  else client.emit('exception', failure);
}

/** GraphQL servers pass on the `extensions` of an error, and its message. */
function graphqlError(error: LockError, answer: Answer): Error {
  const { message, code, retryAfterMs } = failureOf(error, answer);
  const extensions = { code, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  return Object.assign(new Error(message, { cause: error }), { extensions });
}
