import { Injectable } from '@nestjs/common';
import { LockKey, LockService, WithLock } from 'nestjs-redis-lock';

export abstract class Stock {
  abstract take(sku: string): Promise<void>;
}

@Injectable()
export class Orders {
  constructor(
    private readonly locks: LockService,
    private readonly stock: Stock,
  ) {}

  @WithLock('product_<sku>')
  async decorated(@LockKey('sku') sku: string): Promise<void> {
    await this.stock.take(sku);
  }

  async using(sku: string): Promise<void> {
    await this.locks.using(`product_${sku}`, () => this.stock.take(sku));
  }

  async awaitUsing(sku: string): Promise<void> {
    await using lease = await this.locks.acquire(`product_${sku}`);
    await this.stock.take(sku);
    lease.assertHeld(); // the end of the block reports no loss
  }

  async byHand(sku: string): Promise<void> {
    const lease = await this.locks.acquire(`product_${sku}`);
    try {
      await this.stock.take(sku);
    } finally {
      await lease.release();
    }
  }
}
