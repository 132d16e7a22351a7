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
  Query,
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
import { NewOrder, OrderId, WhoseOrder } from './orders.schemas.js';

export interface OrderAnswer {
  readonly id: string;
  readonly product: string;
  readonly buyer: string;
  readonly state: OrderState;
  /** Null: it has no piece yet, or will not get one. */
  readonly payUntil: Date | null;
}

/** The real sale: an order is stored at once, and decided when its turn comes. */
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

  /** For a buyer whose connection was cut before the id arrived. */
  @Get()
  async showLatest(@Query({ schema: WhoseOrder }) whose: WhoseOrder): Promise<OrderAnswer> {
    return answerOf(await this.book.findLatest(whose.product, whose.buyer));
  }

  @Get(':id')
  async show(@Param({ schema: OrderId }) { id }: OrderId): Promise<OrderAnswer> {
    return answerOf(await this.book.find(id));
  }

  @Post(':id/payment')
  async pay(@Param({ schema: OrderId }) { id }: OrderId): Promise<OrderAnswer> {
    const outcome = await this.desk.pay(id);
    return outcome?.kind === 'refused' ? refusePayment(outcome.order) : answerOf(outcome?.order);
  }
}

function answerOf(order: Order | undefined): OrderAnswer {
  if (order === undefined) throw new NotFoundException('no such order');
  const { id, product_id, buyer, state, pay_until } = order;
  return { id, product: product_id, buyer, state, payUntil: pay_until };
}

function refusePayment({ state }: Order): never {
  switch (state) {
    case 'queued':
      throw new ConflictException('this order has no piece yet');
    case 'paying':
      throw new ConflictException('this order is being paid now');
    case 'paid':
      throw new ConflictException('this order is already paid');
    case 'sold-out':
      throw new GoneException('sold out');
    case 'reserved':
    case 'expired':
    case 'cancelled':
      throw new GoneException('the time to pay is over');
  }
}
