import {
  ConflictException,
  GoneException,
  HttpException,
  HttpStatus,
  NotFoundException,
} from '@nestjs/common';
import type { OrderOutcome, Refusal } from './order-outcome.js';

export interface OrderAnswer {
  readonly remaining: number;
}

export const NO_SUCH_PRODUCT = 'no such product; PUT its stock first';

/** The outcome in HTTP: an answer, or the exception with the refusal. */
export function answerTo(outcome: OrderOutcome): OrderAnswer {
  return outcome.kind === 'sold' ? { remaining: outcome.remaining } : refuse(outcome);
}

export function refuse(refusal: Refusal): never {
  switch (refusal.kind) {
    case 'sold-out':
      throw new GoneException('sold out');
    case 'duplicate':
      throw new ConflictException('this buyer has an order already');
    case 'busy':
      throw new HttpException('another buyer is buying; try again', HttpStatus.LOCKED);
    case 'unknown-product':
      throw new NotFoundException(NO_SUCH_PRODUCT);
    case 'lease-lost':
      throw failure('the lock was lost before the write', 'LEASE_LOST');
    case 'stale-write':
      throw failure(refusal.reason, 'STALE_WRITE');
  }
}

/** The same answer as the library's filter gives for a lost lease. */
function failure(message: string, code: string): HttpException {
  const { INTERNAL_SERVER_ERROR: status } = HttpStatus;
  const body = HttpException.createBody(message, 'Internal Server Error', status);
  return new HttpException({ ...body, code }, status);
}
