import type { ServerResponse } from 'node:http';

import {
  Catch,
  Inject,
  Logger,
  Optional,
  type ArgumentsHost,
  type ExceptionFilter,
  type HttpServer,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { throwError } from 'rxjs';

import {
  LockConfigurationError,
  LockError,
  LockKeyError,
  LockTimeoutError,
  type LockErrorCode,
} from '../core/api/errors.js';
import { refuseValue } from '../core/api/refuse.js';
import { hasMethods, isPlainObject } from '../core/api/shapes.js';
import {
  answersOf,
  reasonOf,
  type LockAnswer,
  type LockExceptionFilterOptions,
  type LockAnswers,
} from './lock-answers.js';

/** The answer to a client that does not use HTTP. */
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
  /** Fastify's name for `headersSent`. */
  readonly sent?: boolean;
  /** Node's own response behind that of Fastify. */
  readonly raw?: HttpResponse;
  header(name: string, value: string): unknown;
  status(code: number): HttpResponse;
  send(body: unknown): unknown;
  end(): unknown;
}

type Replies = Pick<HttpServer<unknown, unknown>, 'isHeadersSent' | 'setHeader' | 'reply' | 'end'>;

/** Replaces an adapter, for a filter that Nest has not made. */
const REPLIES: Replies = {
  isHeadersSent: ({ headersSent, sent }: HttpResponse) => headersSent ?? sent ?? false,
  setHeader: (response: HttpResponse, name, value) => response.header(name, value),
  reply: (response: HttpResponse, body, code = 200) => response.status(code).send(body),
  end: (response: HttpResponse) => (response.raw ?? response).end(),
};

/**
 * Fastify passes Node's own response to middleware, and its adapter for Nest 11 does not support
 * it.
 */
const NATIVE_REPLIES: Replies = {
  isHeadersSent: ({ headersSent }: ServerResponse) => headersSent,
  setHeader: (response: ServerResponse, name, value) => response.setHeader(name, value),
  reply: (response: ServerResponse, body, code = 200) =>
    response
      .writeHead(code, { 'Content-Type': 'application/json; charset=utf-8' })
      .end(JSON.stringify(body)),
  end: (response: ServerResponse) => response.end(),
};

/** The methods in use of the clients of both kinds of WebSocket server. */
interface SocketClient {
  /** A number for sockets of the standard; sockets of socket.io have none. */
  readonly readyState?: unknown;
  send(text: string): void;
  emit(event: string, failure: Failure): void;
}

/** The parts in use of a call of grpc-js, which the library does not import. */
interface GrpcCall {
  readonly metadata: GrpcMetadata;
}

interface GrpcMetadata {
  set(key: string, value: string): void;
}

const NAME = 'LockExceptionFilter';
const PLAIN = 'a plain object (the second argument is app.get(HttpAdapterHost))';

/** No provider has this token: a filter that Nest makes has the default answers. */
const NO_OPTIONS = Symbol.for('nestjs-redis-lock:no-options');

/**
 * Answers requests that failed with an error of this library. The answers contain no details that
 * only operators may know. Errors other than a busy lock are logged.
 * - HTTP: busy 423, too many callers 429, unavailable 503, unusable value 400, everything else 500.
 *   The first three have `Retry-After`. The body is that of Nest's own exceptions, with the error's
 *   code: `{ statusCode, message, error, code }`. Every HTTP adapter works.
 * - Microservices: the call fails with `{ status: 'error', message, code, retryAfterMs? }`.
 * - gRPC: busy ABORTED, too many callers RESOURCE_EXHAUSTED, then UNAVAILABLE, INVALID_ARGUMENT and
 *   INTERNAL. The metadata has the error's code as `lock-error`, and `retry-after-ms`.
 * - WebSocket: the client receives the event `exception` with the same fields. For a gateway, Nest
 *   calls only the filters of its own `@UseFilters`.
 * - GraphQL: the error has this message, and `code` and `retryAfterMs` in its `extensions`.
 *
 * Opt-in: `{ provide: APP_FILTER, useClass: LockExceptionFilter }`, `@UseFilters(LockExceptionFilter)`,
 * or `app.useGlobalFilters(new LockExceptionFilter())`. With options:
 * `{ provide: APP_FILTER, useValue: new LockExceptionFilter({ statuses: { LOCK_TIMEOUT: 409 } }) }`.
 */
@Catch(LockError)
export class LockExceptionFilter implements ExceptionFilter<LockError> {
  readonly #logger = new Logger('RedisLock');
  readonly #answers: LockAnswers;
  readonly #host: Pick<HttpAdapterHost, 'httpAdapter'> | undefined;

  /**
   * @param options other statuses, and another wait
   * @param host for a platform that is neither Express nor Fastify: `app.get(HttpAdapterHost)`
   * @throws {LockConfigurationError} an option is unknown, or its value cannot be used
   */
  constructor(
    @Optional() @Inject(NO_OPTIONS) options: LockExceptionFilterOptions = {},
    @Optional() @Inject(HttpAdapterHost) host?: Pick<HttpAdapterHost, 'httpAdapter'>,
  ) {
    if (!isPlainObject(options)) refuseValue(NAME, 'the options', PLAIN, options);
    this.#answers = answersOf(options, NAME);
    this.#host = host;
  }

  catch(error: LockError, host: ArgumentsHost): unknown {
    const answer = this.#answers[error.code];
    this.#log(error, answer);
    const transport: string = host.getType();
    switch (transport) {
      case 'http':
        this.#reply(error, answer, host);
        return undefined;
      case 'rpc':
        // A microservice awaits an Observable from its filters, and would crash after a throw.
        return throwError(() => rpcError(error, answer, host));
      case 'ws':
        tellSocket(host.switchToWs().getClient(), failureOf(error, answer));
        return undefined;
      default:
        throw graphqlError(error, answer);
    }
  }

  #reply(error: LockError, answer: LockAnswer, host: ArgumentsHost): void {
    const response: unknown = host.switchToHttp().getResponse();
    // Nest sets the adapter of the host later than it makes filters.
    const adapter = isNative(response)
      ? NATIVE_REPLIES
      : (this.#host?.httpAdapter ?? repliesOf(response));
    if (adapter.isHeadersSent(response)) {
      adapter.end(response);
      return;
    }
    const afterMs = retryAfterMsOf(error, answer);
    if (afterMs !== undefined) {
      // Rounded down to whole seconds, 0 would mean a retry at once.
      const afterS = Math.max(1, Math.floor(afterMs / 1_000));
      adapter.setHeader(response, 'Retry-After', String(afterS));
    }
    const { status, message } = answer;
    const body = { statusCode: status, message, error: reasonOf(status), code: error.code };
    adapter.reply(response, body, status);
  }

  #log(error: LockError, answer: LockAnswer): void {
    // Every request would fail in the same way, and the client cannot mend it.
    const isFault = error instanceof LockKeyError && error.origin === 'code';
    const level = isFault ? 'warn' : answer.level;
    if (level === 'error') this.#logger.error(error.message, error.stack);
    else if (level !== undefined) this.#logger[level](error.message);
  }
}

function isNative(response: unknown): boolean {
  return hasMethods(response, 'writeHead', 'setHeader', 'end') && !hasMethods(response, 'header');
}

/** @throws {LockConfigurationError} the response is neither of Express nor of Fastify */
function repliesOf(response: unknown): Replies {
  const { header, status, send } = response as Partial<HttpResponse>;
  if ([header, status, send].every((verb) => typeof verb === 'function')) return REPLIES;
  throw new LockConfigurationError(
    'LockExceptionFilter has no HTTP adapter; write new LockExceptionFilter({}, app.get(HttpAdapterHost)), ' +
      'or let Nest make it by APP_FILTER or @UseFilters',
  );
}

/**
 * Undefined where a second try would fail too. A busy lock is free when its lease ends, at the
 * latest.
 */
function retryAfterMsOf(error: LockError, { retryAfterS }: LockAnswer): number | undefined {
  if (retryAfterS === undefined) return undefined;
  const afterMs = retryAfterS * 1_000;
  return error instanceof LockTimeoutError ? Math.min(afterMs, error.retryAfterMs) : afterMs;
}

function failureOf(error: LockError, answer: LockAnswer): Failure {
  const retryAfterMs = retryAfterMsOf(error, answer);
  const { message } = answer;
  return {
    ...{ status: 'error', message, code: error.code },
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

function rpcError(error: LockError, answer: LockAnswer, host: ArgumentsHost): object {
  const failure = failureOf(error, answer);
  const call = host.getArgs<unknown[]>().find(isGrpcCall);
  return call === undefined ? failure : grpcError(failure, answer.grpc, call);
}

/** The place of the call among the arguments differs between the kinds of methods. */
function isGrpcCall(argument: unknown): argument is GrpcCall {
  return hasMethods(argument, 'sendMetadata', 'getPeer');
}

/** gRPC passes on a number, a text and metadata, and drops all other fields. */
function grpcError({ message, code, retryAfterMs }: Failure, status: number, call: GrpcCall) {
  const metadata = new (call.metadata.constructor as new () => GrpcMetadata)();
  metadata.set('lock-error', code);
  if (retryAfterMs !== undefined) metadata.set('retry-after-ms', String(retryAfterMs));
  return Object.assign(new Error(message), { code: status, details: message, metadata });
}

function tellSocket(client: SocketClient, failure: Failure): void {
  const isStandard = typeof client.readyState === 'number';
  if (isStandard) client.send(JSON.stringify({ event: 'exception', data: failure }));
  else client.emit('exception', failure);
}

/** GraphQL servers pass on the `extensions` of an error, and its message. */
function graphqlError(error: LockError, answer: LockAnswer): Error {
  const { message, code, retryAfterMs } = failureOf(error, answer);
  const extensions = { code, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  return Object.assign(new Error(message, { cause: error }), { extensions });
}
