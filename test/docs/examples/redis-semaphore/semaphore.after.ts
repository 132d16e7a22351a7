import { Injectable } from '@nestjs/common';
import { WithSemaphore } from 'nestjs-redis-lock';

export abstract class Gateway {
  abstract pay(order: string): Promise<void>;
}

@Injectable()
export class Payments {
  constructor(private readonly gateway: Gateway) {}

  @WithSemaphore('gateway', { capacity: 5 }) // Redis stores the number, once
  async pay(order: string): Promise<void> {
    await this.gateway.pay(order);
  }

  @WithSemaphore('gateway', { capacity: 5, permits: 2 })
  async payTwo(one: string, other: string): Promise<void> {
    await Promise.all([this.gateway.pay(one), this.gateway.pay(other)]);
  }
}
