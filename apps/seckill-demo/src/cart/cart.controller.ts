import { Body, Controller, Post, Query } from '@nestjs/common';
import { refuse } from '../seckill/order-answer.js';
import { withRefusals } from '../seckill/order-outcome.js';
import { SaleOpening } from '../seckill/sale-opening.js';
import { CartBody, CartQuery } from './cart.schemas.js';
import { CartService } from './cart.service.js';

export interface CartAnswer {
  /** By product. */
  readonly remaining: Readonly<Record<string, number>>;
}

@Controller('api/carts')
export class CartController {
  constructor(
    private readonly carts: CartService,
    private readonly opening: SaleOpening,
  ) {}

  @Post('orders')
  async order(
    @Query({ schema: CartQuery }) { strategy }: CartQuery,
    @Body({ schema: CartBody }) { buyer, products }: CartBody,
  ): Promise<CartAnswer> {
    await this.opening.opened();
    const outcome = await withRefusals(
      strategy === 'multi-lock'
        ? this.carts.order(products, buyer)
        : this.carts.orderOneByOne(products, buyer),
    );
    if (outcome.kind !== 'sold') refuse(outcome);
    return { remaining: Object.fromEntries(outcome.remaining) };
  }
}
