import {
  Body,
  ConflictException,
  Controller,
  Get,
  GoneException,
  HttpCode,
  HttpStatus,
  NotFoundException,
  Param,
  Post,
  Res,
} from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import type { OrderState } from '../database/tables.js';
import { refuse } from '../seckill/order-answer.js';
import { withRefusals } from '../seckill/order-outcome.js';
import { SaleOpening } from '../seckill/sale-opening.js';
import { OrderBook } from './order-book.js';
import type { Order } from './order-book.js';
import { OrderDesk } from './order-desk.js';
import { NewOrder, OrderId } from './orders.schemas.js';

export interface OrderAnswer {
  readonly id: string;
  readonly product: string;
  readonly buyer: string;
  readonly state: OrderState;
  /** Null: it has no piece yet, or does not get one. */
  readonly payUntil: Date | null;
}

const NO_SUCH_ORDER = 'no such order';

/** The real sale: an order is noted at once, and answered when its turn has come. */
@Controller('api/orders')
export class OrdersController {
  constructor(
    private readonly desk: OrderDesk,
    private readonly book: OrderBook,
    private readonly opening: SaleOpening,
  ) {}

  @Post()
  @HttpCode(HttpStatus.ACCEPTED)
  async place(
    @Body({ schema: NewOrder }) { product, buyer }: NewOrder,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<Pick<OrderAnswer, 'id' | 'state'>> {
    await this.opening.opened();
    const order = await withRefusals(this.desk.place(product, buyer));
    if ('kind' in order) refuse(order);
    response.setHeader('Location', `/api/orders/${order.id}`);
    return { id: order.id, state: order.state };
  }

  @Get(':id')
  async show(@Param({ schema: OrderId }) { id }: OrderId): Promise<OrderAnswer> {
    const order = await this.book.find(id);
    if (order === undefined) throw new NotFoundException(NO_SUCH_ORDER);
    return answerOf(order);
  }

  @Post(':id/payment')
  async pay(@Param({ schema: OrderId }) { id }: OrderId): Promise<OrderAnswer> {
    const outcome = await this.desk.pay(id);
    if (outcome === undefined) throw new NotFoundException(NO_SUCH_ORDER);
    return outcome.kind === 'paid' ? answerOf(outcome.order) : refusePayment(outcome.order);
  }
}

function answerOf({ id, product_id, buyer, state, pay_until }: Order): OrderAnswer {
  return { id, product: product_id, buyer, state, payUntil: pay_until };
}

function refusePayment({ state }: Order): never {
  switch (state) {
    case 'queued':
      throw new ConflictException('this order has no piece yet');
    case 'paying':
      throw new ConflictException('this order is just being paid');
    case 'paid':
      throw new ConflictException('this order is paid already');
    case 'sold-out':
      throw new GoneException('sold out');
    case 'reserved':
    case 'expired':
    case 'cancelled':
      throw new GoneException('the time to pay is over');
  }
}
