import { Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import { Mutex } from 'redis-semaphore';

export abstract class Stock {
  abstract read(id: string): Promise<number>;
  abstract write(id: string, pieces: number): Promise<void>;
}

@Injectable()
export class Shop {
  constructor(
    private readonly redis: Redis,
    private readonly stock: Stock,
  ) {}

  async sellOne(id: string): Promise<number> {
    const mutex = new Mutex(this.redis, `product_${id}`); // one object for each call
    await mutex.acquire();
    try {
      const left = (await this.stock.read(id)) - 1;
      await this.stock.write(id, left);
      return left;
    } finally {
      await mutex.release();
    }
  }
}
