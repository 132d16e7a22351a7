import { STATUS_CODES } from 'node:http';
import { Catch, HttpException, HttpStatus, Logger } from '@nestjs/common';
import type { ArgumentsHost } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { isOutage as isOutageOfDatabase } from './database/open-database.js';

/**
 * Gives every error the body of Nest's own exceptions: `{ message, error, statusCode }`. Otherwise
 * exceptions made from a status and a text, and errors of the library, lack `error`.
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

function isOutage(error: unknown): boolean {
  // So ioredis gives a command up when Redis is away.
  const isOfRedis = error instanceof Error && error.name === 'MaxRetriesPerRequestError';
  return isOfRedis || isOutageOfDatabase(error);
}

function exception(status: number, message: string): HttpException {
  const body = HttpException.createBody(message, STATUS_CODES[status] ?? 'Error', status);
  return new HttpException(body, status);
}
