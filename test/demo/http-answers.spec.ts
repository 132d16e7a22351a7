import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { STATUS_CODES } from 'node:http';
import { ordersHeld } from '../../apps/seckill-demo/src/arena/fleet.js';
import { STRATEGY_NAMES } from '../../apps/seckill-demo/src/strategies/strategy.js';
import { openLocalShop } from './local-fleet.js';
import type { LocalShop } from './local-fleet.js';

describe('the shop by HTTP', () => {
  let shop: LocalShop;
  beforeAll(async () => {
    shop = await openLocalShop({ waitTimeMs: 400 });
  });
  afterAll(() => shop.close());

  let products = 0;
  async function newProduct(stock: number): Promise<string> {
    products += 1;
    const product = `${shop.fleet.url}/api/products/p${products}`;
    expect((await put(`${product}/stock`, { stock })).status).toBe(200);
    return product;
  }

  const json = { 'content-type': 'application/json' };
  const post = (url: string, body: unknown) =>
    fetch(url, { method: 'POST', headers: json, body: JSON.stringify(body) });
  const put = (url: string, body: unknown) =>
    fetch(url, { method: 'PUT', headers: json, body: JSON.stringify(body) });

  describe.each(STRATEGY_NAMES)('POST orders?strategy=%s', (strategy) => {
    it('sells, refuses a second order of one buyer, and says when it is sold out', async () => {
      const product = await newProduct(1);
      const orders = `${product}/orders?strategy=${strategy}`;

      const sold = await post(orders, { buyer: 'alice' });
      expect(sold.status).toBe(201);
      expect(await sold.json()).toEqual({ remaining: 0 });
      expect((await post(orders, { buyer: 'alice' })).status).toBe(409);
      expect((await post(orders, { buyer: 'bob' })).status).toBe(410);
    });

    it('answers 404 for a product that is not on the shelf', async () => {
      const orders = `${shop.fleet.url}/api/products/nothing/orders?strategy=${strategy}`;
      expect((await post(orders, { buyer: 'alice' })).status).toBe(404);
    });
  });

  it.each(['setnx', 'setnx-expire', 'set-nx-px', 'owner-check', 'lua-release', 'redis-lock'])(
    'answers 423 with Retry-After while another buyer is buying: %s',
    async (strategy) => {
      const product = await newProduct(5);
      const orders = `${product}/orders?strategy=${strategy}`;
      const [member] = shop.fleet.members;
      await member?.closeGate('before-write', 1);
      const first = post(orders, { buyer: 'alice' });
      await ordersHeld(shop.fleet, 'before-write', 1);

      const busy = await post(orders, { buyer: 'bob' });
      expect(busy.status).toBe(423);
      expect(Number(busy.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);

      member?.openGate('before-write');
      expect((await first).status).toBe(201);
      expect((await post(orders, { buyer: 'bob' })).status).toBe(201);
    },
  );

  it('takes the normal path without a strategy, and leaves no lock behind', async () => {
    const product = await newProduct(2);
    expect((await post(`${product}/orders`, { buyer: '小明' })).status).toBe(201);
    expect(await shop.redis.keys('product_*')).toEqual([]);
  });

  it('shows a product', async () => {
    const product = await newProduct(3);
    await post(`${product}/orders`, { buyer: 'alice' });
    const shown = await fetch(product);
    expect(shown.status).toBe(200);
    expect(await shown.json()).toMatchObject({ stock: 2, openingStock: 3, orders: 1 });
    expect((await fetch(`${shop.fleet.url}/api/products/nothing`)).status).toBe(404);
  });

  it('opens a new sale by PUT, but not while a buyer is buying', async () => {
    const product = await newProduct(3);
    const [member] = shop.fleet.members;
    await member?.closeGate('before-write', 1);
    const order = post(`${product}/orders`, { buyer: 'alice' });
    await ordersHeld(shop.fleet, 'before-write', 1);
    expect((await put(`${product}/stock`, { stock: 9 })).status).toBe(423);
    member?.openGate('before-write');
    expect((await order).status).toBe(201);

    const opened = await put(`${product}/stock`, { stock: 9 });
    expect(await opened.json()).toMatchObject({ stock: 9, openingStock: 9, orders: 0 });
    expect((await post(`${product}/orders`, { buyer: 'alice' })).status).toBe(201);
  });

  it('cancels an order behind the interceptor, which waits for the same lock', async () => {
    const product = await newProduct(1);
    await post(`${product}/orders`, { buyer: 'alice' });
    const [member] = shop.fleet.members;
    await put(`${product}x/stock`, { stock: 1 });

    const cancelled = await fetch(`${product}/orders/alice`, { method: 'DELETE' });
    expect(cancelled.status).toBe(200);
    expect(await cancelled.json()).toEqual({ remaining: 1 });
    expect((await fetch(`${product}/orders/alice`, { method: 'DELETE' })).status).toBe(404);

    await member?.closeGate('before-write', 1);
    const order = post(`${product}/orders`, { buyer: 'bob' });
    await ordersHeld(shop.fleet, 'before-write', 1);
    const busy = await fetch(`${product}/orders/bob`, { method: 'DELETE' });
    expect(busy.status).toBe(423);
    expect(busy.headers.has('retry-after')).toBe(true);
    member?.openGate('before-write');
    expect((await order).status).toBe(201);
  });

  const order = (id: string, query: string, body: unknown) =>
    post(`${shop.fleet.url}/api/products/${id}/orders${query}`, body);

  describe('has one shape of body for every error', () => {
    /** The body of Nest's own exceptions. */
    async function expectShape(answer: Response, status: number, more: object = {}): Promise<void> {
      const message: unknown = expect.anything();
      expect(await answer.json()).toEqual({
        statusCode: status,
        message,
        error: STATUS_CODES[status],
        ...more,
      });
    }

    it('refused by the shop', async () => {
      const product = await newProduct(1);
      const buy = (buyer: string) => post(`${product}/orders`, { buyer });
      await buy('alice');
      await expectShape(await buy('alice'), 409);
      await expectShape(await buy('bob'), 410);
      await expectShape(await order('nothing', '', { buyer: 'bob' }), 404);
      await expectShape(await fetch(`${shop.fleet.url}/elsewhere`), 404);
      await expectShape(await buy(''), 400);
    });

    it.each([
      ['setnx', {}],
      ['redis-lock', { code: 'LOCK_TIMEOUT' }],
    ])('busy: %s', async (strategy, more) => {
      const orders = `${await newProduct(5)}/orders?strategy=${strategy}`;
      const [member] = shop.fleet.members;
      await member?.closeGate('before-write', 1);
      const first = post(orders, { buyer: 'alice' });
      await ordersHeld(shop.fleet, 'before-write', 1);
      await expectShape(await post(orders, { buyer: 'bob' }), 423, more);
      member?.openGate('before-write');
      await first;
    });

    it('a body that is too large', async () => {
      await expectShape(await order('p1', '', { buyer: 'a'.repeat(200_000) }), 413);
    });

    it('a failure that was not foreseen', async () => {
      const product = await newProduct(1);
      await sql`ALTER TABLE orders ADD CHECK (buyer <> 'mallory')`.execute(shop.database);
      const answer = await post(`${product}/orders?strategy=naive`, { buyer: 'mallory' });
      expect(answer.status).toBe(500);
      await expectShape(answer, 500, { message: 'Internal server error' });
    });
  });

  it.each([
    ['strategy', () => order('p1', '?strategy=hope', { buyer: 'alice' })],
    ['id', () => order('p%2F1', '', { buyer: 'alice' })],
    ['buyer', () => order('p1', '', { buyer: '' })],
    ['buyer', () => fetch(`${shop.fleet.url}/api/products/p1/orders/a%20b`, { method: 'DELETE' })],
    ['stock', () => put(`${shop.fleet.url}/api/products/p1/stock`, { stock: -1 })],
  ])('says that it is the %s which it does not take', async (name, ask) => {
    const message = [expect.stringMatching(`^${name}: `)];
    expect(await (await ask()).json()).toMatchObject({ statusCode: 400, message });
  });

  describe('refuses with 400', () => {
    it.each([
      ['no buyer', 'p1', '', {}],
      ['an empty buyer', 'p1', '', { buyer: '' }],
      ['a buyer that is no text', 'p1', '', { buyer: 7 }],
      ['a buyer with a control character', 'p1', '', { buyer: 'a\nb' }],
      ['a buyer that is too long', 'p1', '', { buyer: 'a'.repeat(65) }],
      ['an unknown field', 'p1', '', { buyer: 'alice', price: 0 }],
      ['an unknown strategy', 'p1', '?strategy=hope', { buyer: 'alice' }],
      ['braces in the product', '%7Bp1%7D', '', { buyer: 'alice' }],
      ['a product that is too long', 'p'.repeat(33), '', { buyer: 'alice' }],
    ])('%s', async (_, id, query, body) => {
      expect((await order(id, query, body)).status).toBe(400);
    });

    it.each([-1, 1.5, '5', null, 1_000_001])('a stock of %p', async (stock) => {
      const answer = await put(`${shop.fleet.url}/api/products/p1/stock`, { stock });
      expect(answer.status).toBe(400);
    });

    it('a body that is no JSON', async () => {
      const url = `${shop.fleet.url}/api/products/p1/orders`;
      const answer = await fetch(url, { method: 'POST', headers: json, body: '{' });
      expect(answer.status).toBe(400);
    });
  });

  it.each<[string, (broken: LocalShop) => Promise<void>, object]>([
    ['the Redis', (broken) => broken.killRedis(), { 'redis-lock': true, setnx: false }],
    ['the Postgres', (broken) => broken.killPostgres(), { 'redis-lock': false, setnx: false }],
  ])('answers 503 without %s, and says when to try again if it knows', async (_, kill, tells) => {
    const broken = await openLocalShop({ waitTimeMs: 1_000 });
    try {
      const product = `${broken.fleet.url}/api/products/1`;
      expect((await put(`${product}/stock`, { stock: 5 })).status).toBe(200);
      await kill(broken);
      for (const [strategy, isTold] of Object.entries(tells)) {
        const answer = await post(`${product}/orders?strategy=${strategy}`, { buyer: 'alice' });
        expect(answer.headers.has('retry-after')).toBe(isTold);
        const error = 'Service Unavailable';
        expect(await answer.json()).toMatchObject({ statusCode: 503, error });
      }
    } finally {
      await broken.close();
    }
  });

  it('says which process answered', async () => {
    const answer = await fetch(shop.fleet.url);
    expect(answer.headers.get('x-served-by')).toBe(`${process.pid}`);
  });
});
