import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { ordersHeld } from '../../apps/seckill-demo/src/arena/fleet.js';
import type { Member } from '../../apps/seckill-demo/src/arena/fleet.js';
import { openLocalShop } from './local-fleet.js';
import type { LocalShop } from './local-fleet.js';

describe('the strategies that are not of the tutorial', () => {
  let shop: LocalShop;
  let member: Member;
  beforeAll(async () => {
    shop = await openLocalShop({ waitTimeMs: 400 });
    member = shop.fleet.members[0] as Member;
  });
  afterAll(() => shop.close());

  const headers = { 'content-type': 'application/json' };
  const send = (method: string, url: string, body: unknown) =>
    fetch(url, { method, headers, body: JSON.stringify(body) });
  let products = 0;
  async function newProduct(stock: number) {
    products += 1;
    const id = `p${products}`;
    const url = `${shop.fleet.url}/api/products/${id}`;
    expect((await send('PUT', `${url}/stock`, { stock })).status).toBe(200);
    return {
      id,
      order: (strategy: string, buyer: string) =>
        send('POST', `${url}/orders?strategy=${strategy}`, { buyer }),
      state: async (): Promise<unknown> => (await fetch(url)).json(),
    };
  }

  describe('fenced', () => {
    it('leaves its token at the product, and a new sale keeps it', async () => {
      const { id, order } = await newProduct(2);
      const fence = async () => {
        const { rows } = await sql<{ fence: string }>`
          SELECT fence FROM products WHERE id = ${id}`.execute(shop.database);
        return Number(rows[0]?.fence);
      };
      expect((await order('fenced', 'alice')).status).toBe(201);
      const first = await fence();
      expect((await order('fenced', 'bob')).status).toBe(201);
      expect(await fence()).toBeGreaterThan(first);
      const url = `${shop.fleet.url}/api/products/${id}/stock`;
      expect((await send('PUT', url, { stock: 1 })).status).toBe(200);
      expect(await fence()).toBeGreaterThan(first);
    });

    it('is refused with both tokens when a newer holder has written', async () => {
      const { id, order, state } = await newProduct(5);
      await member.closeGate('before-write', 1);
      const late = order('fenced', 'alice');
      await ordersHeld(shop.fleet, 'before-write', 1);
      await shop.redis.del(`product_${id}`);
      expect((await order('fenced', 'bob')).status).toBe(201);
      member.openGate('before-write');
      const refused = await late;
      expect([refused.status, await refused.json()]).toEqual([
        500,
        {
          message: expect.stringMatching(/^token \d+ < \d+$/),
          error: 'Internal Server Error',
          statusCode: 500,
          code: 'STALE_WRITE',
        },
      ]);
      expect(await state()).toMatchObject({ stock: 4, orders: 1 });
    });
  });

  describe('sql-update', () => {
    it('is busy when the row is locked for longer than a buyer waits', async () => {
      const { order, state } = await newProduct(5);
      await member.closeGate('before-write', 1);
      const first = order('sql-update', 'alice');
      await ordersHeld(shop.fleet, 'before-write', 1);
      const busy = await order('sql-update', 'bob');
      expect([busy.status, busy.headers.has('retry-after')]).toEqual([423, true]);
      member.openGate('before-write');
      expect((await first).status).toBe(201);
      expect(await state()).toMatchObject({ stock: 4, orders: 1 });
    });

    it('takes nothing for a second order of one buyer', async () => {
      const { order, state } = await newProduct(5);
      const orders = [1, 2, 3].map(() => order('sql-update', 'alice'));
      const statuses = (await Promise.all(orders)).map(({ status }) => status);
      expect(statuses.sort()).toEqual([201, 409, 409]);
      expect(await state()).toMatchObject({ stock: 4, orders: 1 });
    });
  });

  describe('lua-decrement', () => {
    it('returns the piece to the counter when the database does not sell it', async () => {
      const { id, order, state } = await newProduct(5);
      const orders = [1, 2, 3].map(() => order('lua-decrement', 'alice'));
      const statuses = (await Promise.all(orders)).map(({ status }) => status);
      expect(statuses.sort()).toEqual([201, 409, 409]);
      expect(await shop.redis.get(`miaosha:${id}`)).toBe('4');
      expect(await state()).toMatchObject({ stock: 4, orders: 1 });
    });

    it('sells nothing that the database does not have', async () => {
      const { order } = await newProduct(1);
      expect((await order('redis-lock', 'alice')).status).toBe(201);
      expect((await order('lua-decrement', 'bob')).status).toBe(410);
    });
  });

  describe.each(['redlock', 'redis-semaphore'])('%s', (strategy) => {
    it('lets others wait, says when it is busy, and leaves no lock behind', async () => {
      const { id, order, state } = await newProduct(5);
      await member.closeGate('before-write', 1);
      const first = order(strategy, 'alice');
      await ordersHeld(shop.fleet, 'before-write', 1);
      const busy = await order(strategy, 'bob');
      expect([busy.status, busy.headers.has('retry-after')]).toEqual([423, true]);
      member.openGate('before-write');
      expect((await first).status).toBe(201);
      expect(await state()).toMatchObject({ stock: 4, orders: 1 });
      expect(await shop.redis.keys(`*product_${id}`)).toEqual([]);
    });
  });
});
