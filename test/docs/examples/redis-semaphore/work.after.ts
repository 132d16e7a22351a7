import { Injectable } from '@nestjs/common';
import { LockService } from 'nestjs-redis-lock';

export abstract class Stock {
  abstract read(id: string): Promise<number>;
  abstract write(id: string, pieces: number): Promise<void>;
}

@Injectable()
export class Shop {
  constructor(
    private readonly locks: LockService,
    private readonly stock: Stock,
  ) {}

  async sellOne(id: string): Promise<number> {
    return this.locks.using(`product_${id}`, async (lease) => {
      const left = (await this.stock.read(id)) - 1;
      lease.assertHeld();
      await this.stock.write(id, left);
      return left;
    });
  }
}
