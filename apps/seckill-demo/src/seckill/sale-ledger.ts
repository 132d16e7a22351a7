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

/** What the sale keeps in Redis: the stock counter, and who ordered. It knows no lock. */
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

  /** One transaction, so that a crash cannot leave a piece gone and nobody who ordered it. */
  async recordSale(productId: string, buyer: string, remaining: number): Promise<void> {
    await commit(
      this.redis
        .multi()
        .set(this.keys.stock(productId), remaining)
        .hset(this.keys.orders(productId), buyer, remaining),
    );
  }

  async recordCancellation(productId: string, buyer: string, remaining: number): Promise<void> {
    await commit(
      this.redis
        .multi()
        .set(this.keys.stock(productId), remaining)
        .hdel(this.keys.orders(productId), buyer),
    );
  }

  async openSale(productId: string, stock: number): Promise<void> {
    await commit(
      this.redis
        .multi()
        .set(this.keys.stock(productId), stock)
        .set(this.keys.openingStock(productId), stock)
        .del(this.keys.orders(productId)),
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
}

/** EXEC answers even when one of its commands failed: the failure is inside the answer. */
async function commit(transaction: ChainableCommander): Promise<void> {
  const replies = await transaction.exec();
  for (const [error] of replies ?? []) if (error !== null) throw error;
}
