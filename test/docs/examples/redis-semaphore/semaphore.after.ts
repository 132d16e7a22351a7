import { Injectable, type OnModuleInit } from '@nestjs/common';
import { SemaphoreService, WithSemaphore } from 'nestjs-redis-lock';

export abstract class Gateway {
  abstract pay(order: string): Promise<void>;
}

@Injectable()
export class Payments implements OnModuleInit {
  constructor(
    private readonly semaphores: SemaphoreService,
    private readonly gateway: Gateway,
  ) {}

  async onModuleInit(): Promise<void> {
    await this.semaphores.get('gateway').trySetPermits(5); // the number is in Redis, once
  }

  @WithSemaphore('gateway')
  async pay(order: string): Promise<void> {
    await this.gateway.pay(order);
  }

  @WithSemaphore('gateway', { permits: 2 })
  async payTwo(one: string, other: string): Promise<void> {
    await Promise.all([this.gateway.pay(one), this.gateway.pay(other)]);
  }
}
