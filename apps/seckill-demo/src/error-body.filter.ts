import { STATUS_CODES } from 'node:http';
import { Catch, HttpException, HttpStatus, Logger } from '@nestjs/common';
import type { ArgumentsHost } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';

/**
 * Answers every error with the body that Nest's own exceptions have: `{ message, error, statusCode }`.
 * Without it an exception made from a status and a text, and an error of ours, lack `error`.
 */
@Catch()
export class ErrorBodyFilter extends BaseExceptionFilter<unknown> {
  readonly #logger = new Logger('SeckillDemo');

  override catch(error: unknown, host: ArgumentsHost): void {
    super.catch(this.#withBody(error), host);
  }

  #withBody(error: unknown): HttpException {
    if (isOutage(error)) {
      return exception(
        HttpStatus.SERVICE_UNAVAILABLE,
        'the shop cannot be reached; try again later',
      );
    }
    if (!(error instanceof HttpException)) {
      this.#logger.error(error);
      return exception(HttpStatus.INTERNAL_SERVER_ERROR, 'Internal server error');
    }
    const body = error.getResponse();
    return typeof body === 'string' ? exception(error.getStatus(), body) : error;
  }
}

/** ioredis has given a command up: Redis is away. */
function isOutage(error: unknown): boolean {
  return error instanceof Error && error.name === 'MaxRetriesPerRequestError';
}

function exception(status: number, message: string): HttpException {
  const body = HttpException.createBody(message, STATUS_CODES[status] ?? 'Error', status);
  return new HttpException(body, status);
}
