import { Injectable } from '@nestjs/common';
import Redlock from 'redlock';

export abstract class Stock {
  abstract read(id: string): Promise<number>;
  abstract write(id: string, pieces: number): Promise<void>;
}

@Injectable()
export class Shop {
  constructor(
    private readonly redlock: Redlock,
    private readonly stock: Stock,
  ) {}

  async sellOne(id: string): Promise<number> {
    return this.redlock.using([`product_${id}`], 10_000, async (signal) => {
      const left = (await this.stock.read(id)) - 1;
      if (signal.aborted) throw signal.error;
      await this.stock.write(id, left);
      return left;
    });
  }
}
