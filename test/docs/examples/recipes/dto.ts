import { Body, Controller, Param, Post } from '@nestjs/common';
import { LockKey, WithLock } from 'nestjs-redis-lock';

export class PlaceOrder {
  sku!: string;
  pieces!: number;
}

@Controller('shops')
export class OrderController {
  @Post(':shop/orders')
  @WithLock('product_<shop>_<order.sku>')
  async place(
    @Param('shop') shop: string,
    @LockKey('order') @Body() order: PlaceOrder,
  ): Promise<string> {
    return `${shop} sells ${order.pieces} of ${order.sku}`;
  }
}
