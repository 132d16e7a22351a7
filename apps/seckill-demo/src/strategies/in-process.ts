import { Injectable } from '@nestjs/common';
import { Mutex } from 'async-mutex';
import type { OrderOutcome } from '../seckill/order-outcome.js';
import { Sale } from '../seckill/sale.js';
import type { Strategy } from './strategy.js';

/** Lesson 2: `synchronized (this)`. Correct in one process, but without effect on other processes. */
@Injectable()
export class InProcessStrategy implements Strategy {
  readonly #mutex = new Mutex();

  constructor(private readonly sale: Sale) {}

  order(productId: string, buyer: string): Promise<OrderOutcome> {
    return this.#mutex.runExclusive(() => this.sale.sellOne(productId, buyer));
  }
}
