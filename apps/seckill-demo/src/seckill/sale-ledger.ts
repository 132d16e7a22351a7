import { Inject, Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import type { ChainableCommander } from 'ioredis';
import { REDIS } from '../settings.js';
import { SaleKeys } from './sale-keys.js';

export interface ProductState {
  readonly id: string;
  readonly stock: number;
  readonly openingStock: number;
  readonly orders: number;
}

/**
 * As in a database, records are visible only after the commit. The client keeps them back until
 * then, and the commit is one MULTI and EXEC.
 */
export interface SaleTransaction extends Pick<SaleLedger, 'recordSale'> {
  commit(): Promise<void>;
}

/** Redis may only note a payment of an order that is still there when it has been paid. */
const RECORD_PAYMENT = /* lua */ `
  if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
  redis.call('SADD', KEYS[2], ARGV[1])
  return 1
`;

/**
 * The records of the sale in Redis: the stock counter, the orders and the payments. It knows no
 * lock.
 */
@Injectable()
export class SaleLedger {
  constructor(
    @Inject(REDIS) private readonly redis: Redis,
    private readonly keys: SaleKeys,
  ) {}

  async stockOf(productId: string): Promise<number | null> {
    const stock = await this.redis.get(this.keys.stock(productId));
    return stock === null ? null : Number(stock);
  }

  async hasOrdered(productId: string, buyer: string): Promise<boolean> {
    return (await this.redis.hexists(this.keys.orders(productId), buyer)) === 1;
  }

  /** One transaction, so that a crash cannot leave a missing piece without its order. */
  async recordSale(productId: string, buyer: string, remaining: number): Promise<void> {
    await this.recordSales(new Map([[productId, remaining]]), buyer);
  }

  /** One piece of each product; `remaining` says what is left of it. */
  async recordSales(remaining: ReadonlyMap<string, number>, buyer: string): Promise<void> {
    const transaction = this.redis.multi();
    for (const [productId, left] of remaining) this.#add(transaction, productId, buyer, left);
    await commit(transaction);
  }

  begin(): SaleTransaction {
    const transaction = this.redis.multi();
    return {
      recordSale: async (productId, buyer, remaining) => {
        this.#add(transaction, productId, buyer, remaining);
        return Promise.resolve();
      },
      commit: () => commit(transaction),
    };
  }

  async recordCancellation(productId: string, buyer: string, remaining: number): Promise<void> {
    await commit(
      this.redis
        .multi()
        .set(this.keys.stock(productId), remaining)
        .hdel(this.keys.orders(productId), buyer)
        .srem(this.keys.payments(productId), buyer),
    );
  }

  async hasPaid(productId: string, buyer: string): Promise<boolean> {
    return (await this.redis.sismember(this.keys.payments(productId), buyer)) === 1;
  }

  /** Resolves with false when there is no such order, or no longer. */
  async recordPayment(productId: string, buyer: string): Promise<boolean> {
    const [orders, payments] = [this.keys.orders(productId), this.keys.payments(productId)];
    return (await this.redis.eval(RECORD_PAYMENT, 2, orders, payments, buyer)) === 1;
  }

  async priceOf(productId: string): Promise<number | null> {
    const price = await this.redis.get(this.keys.price(productId));
    return price === null ? null : Number(price);
  }

  async setPrice(productId: string, price: number): Promise<void> {
    await this.redis.set(this.keys.price(productId), price);
  }

  async openSale(productId: string, stock: number): Promise<void> {
    await commit(
      this.redis
        .multi()
        .set(this.keys.stock(productId), stock)
        .set(this.keys.openingStock(productId), stock)
        .del(this.keys.orders(productId), this.keys.payments(productId)),
    );
  }

  async stateOf(productId: string): Promise<ProductState | null> {
    const [stock, openingStock, orders] = await Promise.all([
      this.redis.get(this.keys.stock(productId)),
      this.redis.get(this.keys.openingStock(productId)),
      this.redis.hlen(this.keys.orders(productId)),
    ]);
    if (stock === null) return null;
    return { id: productId, stock: Number(stock), openingStock: Number(openingStock), orders };
  }

  #add(transaction: ChainableCommander, productId: string, buyer: string, left: number): void {
    transaction.set(this.keys.stock(productId), left);
    transaction.hset(this.keys.orders(productId), buyer, left);
  }
}

/** EXEC answers even when one of its commands failed: the failure is inside the answer. */
async function commit(transaction: ChainableCommander): Promise<void> {
  const replies = await transaction.exec();
  for (const [error] of replies ?? []) if (error !== null) throw error;
}
