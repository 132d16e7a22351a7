import { Injectable } from '@nestjs/common';
import type { OrderOutcome } from '../seckill/order-outcome.js';
import { Sale } from '../seckill/sale.js';
import type { Strategy } from './strategy.js';

/** Lesson 1: no lock. Buyers that read the same stock all sell the same piece. */
@Injectable()
export class NaiveStrategy implements Strategy {
  constructor(private readonly sale: Sale) {}

  order(productId: string, buyer: string): Promise<OrderOutcome> {
    return this.sale.sellOne(productId, buyer);
  }
}
