import { Body, Controller, Param, Put, Query } from '@nestjs/common';
import { refuse } from '../seckill/order-answer.js';
import { withRefusals } from '../seckill/order-outcome.js';
import { ProductParams } from '../seckill/seckill.schemas.js';
import { PriceBody, PriceQuery } from './price.schemas.js';
import { PriceService } from './price.service.js';

@Controller('api/products/:id/price')
export class PriceController {
  constructor(private readonly prices: PriceService) {}

  @Put()
  async change(
    @Param({ schema: ProductParams }) { id }: ProductParams,
    @Query({ schema: PriceQuery }) { strategy }: PriceQuery,
    @Body({ schema: PriceBody }) { price }: PriceBody,
  ): Promise<PriceBody> {
    const outcome = await withRefusals(
      strategy === 'fenced' ? this.prices.change(id, price) : this.prices.changeUnfenced(id, price),
    );
    if (outcome.kind !== 'changed') refuse(outcome);
    return { price };
  }
}
