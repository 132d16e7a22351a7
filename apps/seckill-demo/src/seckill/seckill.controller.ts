import {
  Body,
  Controller,
  Delete,
  Get,
  Inject,
  NotFoundException,
  Param,
  Post,
  Put,
  Query,
  Res,
} from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { WithLock } from 'nestjs-redis-lock';
import { StrategyRegistry } from '../strategies/strategy-registry.js';
import { CancellationService } from './cancellation.service.js';
import { currentOrder, GATE } from './gate.js';
import type { Gate } from './gate.js';
import { answerTo, NO_SUCH_PRODUCT } from './order-answer.js';
import type { OrderAnswer } from './order-answer.js';
import { withRefusals } from './order-outcome.js';
import type { ProductState } from './sale-ledger.js';
import { SaleOpening } from './sale-opening.js';
import { OrderBody, OrderParams, OrderQuery, ProductParams, StockBody } from './seckill.schemas.js';
import { StockService } from './stock.service.js';

/** A refusal of the tutorial's stages contains no lease time, so the answer names the shortest wait. */
const RETRY_AFTER_SECONDS = '1';

@Controller('api/products/:id')
export class SeckillController {
  constructor(
    private readonly strategies: StrategyRegistry,
    private readonly stock: StockService,
    private readonly cancellations: CancellationService,
    private readonly opening: SaleOpening,
    @Inject(GATE) private readonly gate: Gate,
  ) {}

  @Post('orders')
  async order(
    @Param({ schema: ProductParams }) { id }: ProductParams,
    @Query({ schema: OrderQuery }) { strategy }: OrderQuery,
    @Body({ schema: OrderBody }) { buyer }: OrderBody,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<OrderAnswer> {
    await this.opening.opened();
    const outcome = await currentOrder.run({ productId: id, buyer }, async () => {
      await this.gate.reach('doors');
      return withRefusals(this.strategies.get(strategy).order(id, buyer));
    });
    if (outcome.kind === 'busy') response.setHeader('Retry-After', RETRY_AFTER_SECONDS);
    return answerTo(outcome);
  }

  /** The interceptor acquires the lock before the pipes run: its name comes from the raw path. */
  @Delete('orders/:buyer')
  @WithLock('product_<params.id>', { via: 'interceptor' })
  async cancel(@Param({ schema: OrderParams }) { id, buyer }: OrderParams): Promise<OrderAnswer> {
    const remaining = await this.cancellations.cancel(id, buyer);
    if (remaining === null) throw new NotFoundException('this buyer has no order');
    return { remaining };
  }

  @Get()
  async show(@Param({ schema: ProductParams }) { id }: ProductParams): Promise<ProductState> {
    const state = await this.stock.stateOf(id);
    if (state === null) throw new NotFoundException(NO_SUCH_PRODUCT);
    return state;
  }

  @Put('stock')
  async openSale(
    @Param({ schema: ProductParams }) { id }: ProductParams,
    @Body({ schema: StockBody }) { stock }: StockBody,
  ): Promise<ProductState> {
    await this.stock.openSale(id, stock);
    return this.show({ id });
  }
}
