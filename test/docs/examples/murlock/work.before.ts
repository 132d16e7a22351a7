import { Injectable } from '@nestjs/common';
import { MurLock } from 'murlock';

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

  @MurLock(10_000, 'sku') // Shop:sellOne:A
  async sellOne(sku: string): Promise<number> {
    return this.take(sku, 1);
  }

  @MurLock(10_000, 'order.sku') // Shop:sell:A, another lock
  async sell(order: Order): Promise<number> {
    return this.take(order.sku, order.pieces);
  }

  private async take(sku: string, pieces: number): Promise<number> {
    const left = (await this.stock.read(sku)) - pieces;
    await this.stock.write(sku, left);
    return left;
  }
}
