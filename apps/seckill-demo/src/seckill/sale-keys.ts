import { Inject, Injectable } from '@nestjs/common';
import { SETTINGS } from '../settings.js';
import type { Settings } from '../settings.js';

/** Every Redis key of the shop. The lock has the tutorial's name: `product_<id>`. */
@Injectable()
export class SaleKeys {
  constructor(@Inject(SETTINGS) private readonly settings: Settings) {}

  /** The library adds the same prefix to its own names, so all stages share one key. */
  lock(productId: string): string {
    return `${this.settings.keyPrefix}product_${productId}`;
  }

  /** The counter of `lua-decrement`; the other stages keep their stock in Postgres. */
  stock(productId: string): string {
    return `${this.settings.keyPrefix}${this.settings.stockKey ?? `miaosha:${productId}`}`;
  }

  gateway(): string {
    return `${this.settings.keyPrefix}payment_gateway`;
  }
}
