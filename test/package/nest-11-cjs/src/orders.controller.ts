import { EventEmitter, once } from 'node:events';
import { Controller, Param, Post } from '@nestjs/common';
import { CurrentLock, WithLock } from 'nestjs-redis-lock';

/** Sells one piece of each product at a time; a sale lasts until it is paid. */
@Controller('orders')
export class OrdersController {
  private readonly payments = new EventEmitter();

  @Post(':id')
  @WithLock('product_<id>', { waitTimeMs: 0 })
  async buy(@Param('id') id: string) {
    await once(this.payments, id);
    return { sold: id, lease: CurrentLock.lease().state };
  }

  @Post(':id/payment')
  pay(@Param('id') id: string) {
    return { received: this.payments.emit(id) };
  }
}
