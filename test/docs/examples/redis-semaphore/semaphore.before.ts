import { Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import { MultiSemaphore, Semaphore } from 'redis-semaphore';

export abstract class Gateway {
  abstract pay(order: string): Promise<void>;
}

@Injectable()
export class Payments {
  constructor(
    private readonly redis: Redis,
    private readonly gateway: Gateway,
  ) {}

  async pay(order: string): Promise<void> {
    const semaphore = new Semaphore(this.redis, 'gateway', 5);
    await semaphore.acquire();
    try {
      await this.gateway.pay(order);
    } finally {
      await semaphore.release();
    }
  }

  async payTwo(one: string, other: string): Promise<void> {
    const semaphore = new MultiSemaphore(this.redis, 'gateway', 5, 2);
    await semaphore.acquire();
    try {
      await Promise.all([this.gateway.pay(one), this.gateway.pay(other)]);
    } finally {
      await semaphore.release();
    }
  }
}
