import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ordersHeld } from '../../apps/seckill-demo/src/arena/fleet.js';
import { openLocalShop } from './local-fleet.js';
import type { LocalShop } from './local-fleet.js';

describe('the books of the shop', () => {
  let shop: LocalShop;
  beforeAll(async () => {
    shop = await openLocalShop();
  });
  afterAll(() => shop.close());

  const headers = { 'content-type': 'application/json' };
  const send = (method: string, url: string, body: unknown) =>
    fetch(url, { method, headers, body: JSON.stringify(body) });
  const post = (url: string, body: unknown) => send('POST', url, body);
  let products = 0;
  async function newProduct(stock: number): Promise<string> {
    products += 1;
    const product = `${shop.fleet.url}/api/products/p${products}`;
    expect((await send('PUT', `${product}/stock`, { stock })).status).toBe(200);
    return product;
  }

  it('takes one order of two that one buyer makes at the same moment', async () => {
    const product = await newProduct(5);
    const [member] = shop.fleet.members;
    await member?.closeGate('before-write', 2);
    const orders = [1, 2].map(() => post(`${product}/orders?strategy=naive`, { buyer: 'alice' }));
    await ordersHeld(shop.fleet, 'before-write', 2);
    member?.openGate('before-write');
    const statuses = (await Promise.all(orders)).map(({ status }) => status);
    expect(statuses.sort()).toEqual([201, 409]);
    expect(await (await fetch(product)).json()).toMatchObject({ stock: 4, orders: 1 });
  });

  it('notes every change of the stock', async () => {
    const product = await newProduct(5);
    const orders = `${product}/orders`;
    for (const buyer of ['alice', 'bob']) await post(orders, { buyer });
    await fetch(`${orders}/alice`, { method: 'DELETE' });
    await post(orders, { buyer: 'alice' });
    const entries = await shop.database
      .selectFrom('ledger')
      .leftJoin('orders', 'orders.id', 'ledger.order_id')
      .select(['change', 'reason', 'buyer', 'state'])
      .where('ledger.product_id', '=', product.slice(product.lastIndexOf('/') + 1))
      .orderBy('ledger.id')
      .execute();
    expect(entries.map((entry) => Object.values(entry))).toEqual([
      [5, 'opened', null, null],
      [-1, 'sold', 'alice', 'cancelled'],
      [-1, 'sold', 'bob', 'reserved'],
      [1, 'cancelled', 'alice', 'cancelled'],
      [-1, 'sold', 'alice', 'reserved'],
    ]);
    expect(await (await fetch(product)).json()).toMatchObject({ stock: 3, orders: 2 });
  });
});
