import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import type { INestApplication } from '@nestjs/common';
import { LockService, LockTimeoutError } from 'nestjs-redis-lock';
import { AppModule } from './app.module.js';
import { OrdersController } from './orders.controller.js';

describe('OrdersController', () => {
  let app: INestApplication;
  beforeAll(async () => {
    const module = await Test.createTestingModule({ imports: [AppModule] }).compile();
    app = await module.createNestApplication().init();
  });
  afterAll(() => app.close());

  it('sells one piece of a product at a time', async () => {
    const orders = app.get(OrdersController);
    const first = orders.buy('jest');
    const lock = app.get(LockService).get('product_jest');
    while (!(await lock.isLocked()));

    await expect(orders.buy('jest')).rejects.toBeInstanceOf(LockTimeoutError);

    while (!orders.pay('jest').received);
    await expect(first).resolves.toEqual({ sold: 'jest', lease: 'held' });
    await expect(lock.isLocked()).resolves.toBe(false);
  });
});
