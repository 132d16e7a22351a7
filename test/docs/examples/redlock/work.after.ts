import { Injectable } from '@nestjs/common';
import { CurrentLock, LockKey, WithLock } from 'nestjs-redis-lock';

export abstract class Stock {
  abstract read(id: string): Promise<number>;
  abstract write(id: string, pieces: number): Promise<void>;
}

@Injectable()
export class Shop {
  constructor(private readonly stock: Stock) {}

  @WithLock('product_<id>')
  async sellOne(@LockKey('id') id: string): Promise<number> {
    const left = (await this.stock.read(id)) - 1;
    CurrentLock.lease().assertHeld();
    await this.stock.write(id, left);
    return left;
  }
}
