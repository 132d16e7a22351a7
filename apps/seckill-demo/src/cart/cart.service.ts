import { Inject, Injectable } from '@nestjs/common';
import { LockService } from 'nestjs-redis-lock';
import { GATE } from '../seckill/gate.js';
import type { Gate } from '../seckill/gate.js';
import type { Refusal } from '../seckill/order-outcome.js';
import { SaleLedger } from '../seckill/sale-ledger.js';

export type CartOutcome =
  { readonly kind: 'sold'; readonly remaining: ReadonlyMap<string, number> } | Refusal;

/** Orders one piece of each of several products, or nothing. */
@Injectable()
export class CartService {
  constructor(
    private readonly locks: LockService,
    private readonly ledger: SaleLedger,
    @Inject(GATE) private readonly gate: Gate,
  ) {}

  /** All locks at once: in any order of the cart, no buyer holds a lock that another buyer waits for. */
  order(productIds: readonly string[], buyer: string): Promise<CartOutcome> {
    return this.locks.multi(productIds.map(nameOf)).using(async (lease) => {
      await this.gate.reach('before-read');
      return this.#sellAll(productIds, buyer, () => {
        lease.assertHeld();
      });
    });
  }

  /** The wrong way: A then B here, and B then A there, wait for each other until one gives up. */
  orderOneByOne(productIds: readonly string[], buyer: string): Promise<CartOutcome> {
    return this.#holding(productIds, (assertHeld) => this.#sellAll(productIds, buyer, assertHeld));
  }

  async #holding(
    [next, ...later]: readonly string[],
    work: (assertHeld: () => void) => Promise<CartOutcome>,
  ): Promise<CartOutcome> {
    if (next === undefined) return work(() => undefined);
    return this.locks.using(nameOf(next), async (lease) => {
      // It holds one of several locks; 'lock-set' is for an order that needs no other lock.
      await this.gate.reach('before-read');
      return this.#holding(later, (assertLater) =>
        work(() => {
          lease.assertHeld();
          assertLater();
        }),
      );
    });
  }

  async #sellAll(
    productIds: readonly string[],
    buyer: string,
    assertHeld: () => void,
  ): Promise<CartOutcome> {
    const remaining = new Map<string, number>();
    for (const productId of productIds) {
      const seen = await this.ledger.lookUp(productId, buyer);
      if (seen === null) return { kind: 'unknown-product' };
      if (seen.hasOrdered) return { kind: 'duplicate' };
      if (seen.stock <= 0) return { kind: 'sold-out' };
      remaining.set(productId, seen.stock - 1);
    }
    assertHeld();
    await this.ledger.recordSales(remaining, buyer);
    return { kind: 'sold', remaining };
  }
}

function nameOf(productId: string): string {
  return `product_${productId}`;
}
