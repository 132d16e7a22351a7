import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  CurrentLock,
  LeaseLostError,
  LockBackendError,
  LockKey,
  LockTimeoutError,
  WithLock,
} from 'nestjs-redis-lock';
import { LockTesting, RedisLockTestingModule } from 'nestjs-redis-lock/testing';

@Injectable()
class Checkout {
  sold = 0;
  pay = async (): Promise<void> => {};

  @WithLock('product_<id>')
  async buy(@LockKey('id') _id: string): Promise<number> {
    await this.pay();
    CurrentLock.lease().assertHeld();
    return (this.sold += 1);
  }
}

let app: TestingModule;
let checkout: Checkout;
let locks: LockTesting;

beforeEach(async () => {
  const imports = [RedisLockTestingModule.forRoot()];
  app = await Test.createTestingModule({ imports, providers: [Checkout] }).compile();
  checkout = app.get(Checkout);
  locks = app.get(LockTesting);
});
afterEach(() => app.close());

it('sells, and is done with the lock', async () => {
  checkout.pay = async () => locks.assertHeld('product_7');
  expect(await checkout.buy('7')).toBe(1);
  expect(locks.held()).toEqual([]);
});

it('waits while another caller buys the same', async () => {
  const lease = await locks.holdElsewhere('product_7');
  const buying = checkout.buy('7');
  await locks.clock.advance(3_000);
  expect(checkout.sold).toBe(0);
  await lease.release();
  expect(await buying).toBe(1);
});

it('gives up when the product stays busy', async () => {
  await locks.holdElsewhere('product_7');
  const refused = expect(checkout.buy('7')).rejects.toThrow(LockTimeoutError);
  await locks.clock.advance(10_000);
  await refused;
});

it('sells nothing when the lease is lost while the customer pays', async () => {
  checkout.pay = async () => locks.expireLease('product_7');
  await expect(checkout.buy('7')).rejects.toThrow(LeaseLostError);
  expect(checkout.sold).toBe(0);
});

it('sells nothing when Redis is down', async () => {
  locks.failNext('acquire');
  await expect(checkout.buy('7')).rejects.toThrow(LockBackendError);
  expect(checkout.sold).toBe(0);
});
