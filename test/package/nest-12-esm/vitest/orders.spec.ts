import { Test, type TestingModule } from '@nestjs/testing';
import { LockTimeoutError } from 'nestjs-redis-lock';
import { LockTesting, RedisLockTestingModule } from 'nestjs-redis-lock/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { OrdersController } from '../src/orders.controller.js';

let app: TestingModule;
let orders: OrdersController;
let locks: LockTesting;

beforeEach(async () => {
  const imports = [RedisLockTestingModule.forRoot()];
  app = await Test.createTestingModule({ imports, controllers: [OrdersController] }).compile();
  orders = app.get(OrdersController);
  locks = app.get(LockTesting);
});
afterEach(() => app.close());

it('sells nothing while another owner has the product', async () => {
  await locks.holdElsewhere('product_vitest');
  await expect(orders.buy('vitest')).rejects.toBeInstanceOf(LockTimeoutError);
});

it('sells under the lock, and is done with it', async () => {
  const sold = orders.buy('vitest');
  await locks.clock.advance(0);
  locks.assertHeld('product_vitest');
  orders.pay('vitest');
  expect(await sold).toEqual({ sold: 'vitest', lease: 'held' });
  expect(locks.held()).toEqual([]);
});
