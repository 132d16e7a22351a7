import { Injectable } from '@nestjs/common';
import { MurLock, SetParamNames } from 'murlock';
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

  @MurLock(10_000, 'sku') // as before, and above the new one: acquired first, released last
  @SetParamNames({ sku: 0 }) // murlock finds no names on a wrapped method
  @WithLock('product_<sku>')
  async sellOne(@LockKey('sku') sku: string): Promise<number> {
    return this.take(sku, 1);
  }

  @MurLock(10_000, 'order.sku')
  @SetParamNames({ order: 0 })
  @WithLock('product_<0.sku>')
  async sell(order: Order): Promise<number> {
    return this.take(order.sku, order.pieces);
  }

  private async take(sku: string, pieces: number): Promise<number> {
    const left = (await this.stock.read(sku)) - pieces;
    await this.stock.write(sku, left);
    return left;
  }
}
