import {
  ConflictException,
  Controller,
  NotFoundException,
  Param,
  Post,
  Query,
} from '@nestjs/common';
import { OrderParams } from '../seckill/seckill.schemas.js';
import { PaymentQuery } from './payment.schemas.js';
import { PaymentService } from './payment.service.js';

export interface PaymentAnswer {
  /** The number of payments in the gateway, including this one. */
  readonly inside: number;
}

@Controller('api/products/:id/orders/:buyer/payment')
export class PaymentController {
  constructor(private readonly payments: PaymentService) {}

  @Post()
  async pay(
    @Param({ schema: OrderParams }) { id, buyer }: OrderParams,
    @Query({ schema: PaymentQuery }) { strategy }: PaymentQuery,
  ): Promise<PaymentAnswer> {
    const outcome =
      strategy === 'semaphore'
        ? await this.payments.pay(id, buyer)
        : await this.payments.payAtOnce(id, buyer);
    switch (outcome.kind) {
      case 'paid':
        return { inside: outcome.inside };
      case 'no-order':
        throw new NotFoundException('this buyer has no order');
      case 'paid-before':
        throw new ConflictException('this order is already paid');
    }
  }
}
