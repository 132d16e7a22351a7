import { Inject, Injectable } from '@nestjs/common';
import { SETTINGS } from '../settings.js';
import type { Settings } from '../settings.js';

/** Every Redis key of the shop. The lock's name is the tutorial's: `product_<id>`. */
@Injectable()
export class SaleKeys {
  constructor(@Inject(SETTINGS) private readonly settings: Settings) {}

  /** The library puts the same prefix before its own names, so all stages share one key. */
  lock(productId: string): string {
    return `${this.settings.keyPrefix}product_${productId}`;
  }

  stock(productId: string): string {
    return `${this.settings.keyPrefix}${this.settings.stockKey ?? `miaosha:${productId}`}`;
  }

  openingStock(productId: string): string {
    return `${this.settings.keyPrefix}opening:${productId}`;
  }

  orders(productId: string): string {
    return `${this.settings.keyPrefix}orders:${productId}`;
  }

  payments(productId: string): string {
    return `${this.settings.keyPrefix}payments:${productId}`;
  }

  price(productId: string): string {
    return `${this.settings.keyPrefix}price:${productId}`;
  }

  gateway(): string {
    return `${this.settings.keyPrefix}payment_gateway`;
  }
}
