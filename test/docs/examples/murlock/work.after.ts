import { Injectable } from '@nestjs/common';
import { LockKey, WithLock } from 'nestjs-redis-lock';

export interface Order {
  sku: string;
  pieces: number;
}

export abstract class Stock {
  abstract read(sku: string): Promise<number>;
  abstract write(sku: string, pieces: number): Promise<void>;
}

@Injectable()
export class Shop {
  constructor(private readonly stock: Stock) {}

  @WithLock('product_<sku>') // product_A
  async sellOne(@LockKey('sku') sku: string): Promise<number> {
    return this.take(sku, 1);
  }

  @WithLock('product_<0.sku>') // product_A, so the two methods take turns
  async sell(order: Order): Promise<number> {
    return this.take(order.sku, order.pieces);
  }

  private async take(sku: string, pieces: number): Promise<number> {
    const left = (await this.stock.read(sku)) - pieces;
    await this.stock.write(sku, left);
    return left;
  }
}
