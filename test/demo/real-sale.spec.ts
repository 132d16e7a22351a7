import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ordersHeld } from '../../apps/seckill-demo/src/arena/fleet.js';
import { OrderDesk } from '../../apps/seckill-demo/src/orders/order-desk.js';
import { eventually } from '../support/eventually.js';
import { openLocalShop } from './local-fleet.js';
import type { LocalShop } from './local-fleet.js';
import { PATIENT, read, send, visit } from './visitor.js';

describe('the real sale', () => {
  let shop: LocalShop;
  beforeAll(async () => {
    shop = await openLocalShop({ realSale: true, waitTimeMs: 400 });
  });
  afterAll(() => shop.close());
  const visitor = visit(() => shop);
  const { newProduct, place, show, pay, stockOf } = visitor;
  const fenceOf = async (product: string): Promise<bigint> => {
    const found = shop.database.selectFrom('products').select('fence').where('id', '=', product);
    return BigInt((await found.executeTakeFirstOrThrow()).fence);
  };

  it('takes orders while there is no Redis', async () => {
    const broken = await openLocalShop({ realSale: true });
    try {
      const { newProduct: shelve, place: order } = visit(() => broken);
      const product = await shelve(1);
      await broken.killRedis();
      expect((await order(product, 'alice')).status).toBe(202);
    } finally {
      await broken.close();
    }
  });

  it('notes an order at once, and gives it a piece when its turn has come', async () => {
    const product = await newProduct(2);
    const placed = await place(product, 'alice');
    expect(placed.status).toBe(202);
    const { id, ...rest } = await read(placed);
    expect(rest).toEqual({ state: 'queued' });
    expect(placed.headers.get('location')).toBe(`/api/orders/${id}`);

    await visitor.comes(id, 'reserved');
    const { payUntil, ...order } = await show(id);
    expect(order).toEqual({ id, product, buyer: 'alice', state: 'reserved' });
    const secondsLeft = (Date.parse(payUntil ?? '') - Date.now()) / 1_000;
    expect(secondsLeft).toBeGreaterThan(50);
    expect(secondsLeft).toBeLessThanOrEqual(60);
    expect(await stockOf(product)).toBe(1);
  });

  it('takes one order of a buyer, until that is over', async () => {
    const product = await newProduct(1);
    const answers = await Promise.all([1, 2, 3].map(() => place(product, 'alice')));
    expect(answers.map(({ status }) => status).sort()).toEqual([202, 409, 409]);
    await eventually(async () => (await visitor.stockOf(product)) === 0, PATIENT);
    await visitor.ordered(product, 'bob', 'sold-out');
    expect((await place(product, 'bob')).status).toBe(202);
  });

  it('shows a buyer without an id the latest order', async () => {
    const product = await newProduct(0);
    expect((await visitor.showLatest(product, 'alice')).status).toBe(404);
    await visitor.ordered(product, 'alice', 'sold-out');
    const id = await visitor.ordered(product, 'alice', 'sold-out');
    await visitor.ordered(product, 'bob', 'sold-out');
    expect(await read(await visitor.showLatest(product, 'alice'))).toEqual(await show(id));
  });

  it('counts an order in the books when it has its piece', async () => {
    const product = await newProduct(1);
    const books = async (): Promise<unknown> =>
      (await fetch(`${shop.fleet.url}/api/products/${product}`)).json();
    const [member] = shop.fleet.members;
    await member?.closeGate('before-write', 1);
    const { id } = await read(await place(product, 'alice'));
    await ordersHeld(shop.fleet, 'before-write', 1);
    expect(await books()).toMatchObject({ stock: 1, orders: 0, states: { queued: 1 } });
    member?.openGate('before-write');
    await visitor.comes(id, 'reserved');
    expect(await books()).toMatchObject({ stock: 0, orders: 1, states: { reserved: 1 } });
    expect((await pay(id)).status).toBe(201);
    expect(await books()).toMatchObject({ stock: 0, orders: 1, states: { paid: 1 } });
  });

  it('sells out', async () => {
    const product = await newProduct(3);
    const buyers = Array.from({ length: 8 }, (_, n) => `buyer-${n}`);
    const placed = await Promise.all(
      buyers.map(async (buyer) => read(await place(product, buyer))),
    );
    const statesNow = () => Promise.all(placed.map(async ({ id }) => (await show(id)).state));
    await eventually(async () => !(await statesNow()).includes('queued'), PATIENT);
    const states = await statesNow();
    expect(states.filter((state) => state === 'reserved')).toHaveLength(3);
    expect(states.filter((state) => state === 'sold-out')).toHaveLength(5);
    expect(await stockOf(product)).toBe(0);
  });

  it.each(['before-read', 'before-write'] as const)(
    'takes no piece for a process that stood still %s until its lock was over',
    async (point) => {
      const product = await newProduct(2);
      const [member] = shop.fleet.members;
      await member?.closeGate(point, 1);
      const { id } = await read(await place(product, 'alice'));
      await ordersHeld(shop.fleet, point, 1);
      await shop.redis.del(`product_${product}`);
      await visitor.ordered(product, 'bob', 'reserved');
      const newer = await fenceOf(product);
      member?.openGate(point);
      // The job is tried again, and reads the stock anew.
      await visitor.comes(id, 'reserved');
      expect(await stockOf(product)).toBe(0);
      expect(await fenceOf(product)).toBeGreaterThan(newer);
    },
  );

  it('is paid once', async () => {
    const product = await newProduct(1);
    const id = await visitor.ordered(product, 'alice', 'reserved');
    const answers = await Promise.all([1, 2, 3].map(() => pay(id)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
    expect(await show(id)).toMatchObject({ state: 'paid' });
    expect((await pay(id)).status).toBe(409);
    const of = shop.database.selectFrom('gateway_charges').selectAll();
    expect(await of.where('reference', '=', id).execute()).toMatchObject([{ state: 'charged' }]);
  });

  it('refuses a payment that comes too late, or too early', async () => {
    const product = await newProduct(1);
    const id = await visitor.ordered(product, 'alice', 'reserved');
    await shop.database
      .updateTable('orders')
      .set({ pay_until: new Date(Date.now() - 1) })
      .where('id', '=', id)
      .execute();
    expect((await pay(id)).status).toBe(410);

    const [member] = shop.fleet.members;
    await member?.closeGate('lock-set', 1);
    // An order of this product could get the piece of alice, which may be on sale again.
    const { id: early } = await read(await place(await newProduct(0), 'bob'));
    await ordersHeld(shop.fleet, 'lock-set', 1);
    expect((await pay(early)).status).toBe(409);
    member?.openGate('lock-set');
    await visitor.comes(early, 'sold-out');
    expect((await pay(early)).status).toBe(410);
  });

  it('keeps its piece while its payment is on its way', async () => {
    const product = await newProduct(1);
    const id = await visitor.ordered(product, 'alice', 'reserved');
    const [member] = shop.fleet.members;
    await member?.closeGate('at-gateway', 1);
    const payment = pay(id);
    await ordersHeld(shop.fleet, 'at-gateway', 1);
    const [past, future] = [-1_000, 60_000].map((ms) => new Date(Date.now() + ms));
    await shop.database
      .updateTable('orders')
      .set({ pay_until: past, moved_at: future })
      .where('id', '=', id)
      .execute();
    await shop.get(OrderDesk).expire(id);
    expect(await show(id)).toMatchObject({ state: 'paying' });
    member?.openGate('at-gateway');
    expect((await payment).status).toBe(201);
    expect(await stockOf(product)).toBe(0);
  });

  it('asks a payer to come back while five are at the gateway', async () => {
    const product = await newProduct(6);
    const buyers = ['a', 'b', 'c', 'd', 'e', 'f'];
    const ids = await Promise.all(
      buyers.map((buyer) => visitor.ordered(product, buyer, 'reserved')),
    );
    const last = ids.pop() ?? '';
    const [member] = shop.fleet.members;
    await member?.closeGate('at-gateway', 5);
    const inside = ids.map((id) => pay(id));
    await ordersHeld(shop.fleet, 'at-gateway', 5);
    const full = await pay(last);
    expect(full.status).toBe(423);
    expect(full.headers.has('retry-after')).toBe(true);
    expect(await show(last)).toMatchObject({ state: 'reserved' });
    member?.openGate('at-gateway');
    for (const answer of await Promise.all(inside)) expect(answer.status).toBe(201);
    expect((await pay(last)).status).toBe(201);
  });

  it('keeps its orders from those who sell and pay by the tutorial', async () => {
    const product = await newProduct(2);
    const id = await visitor.ordered(product, 'alice', 'reserved');
    const orders = `${shop.fleet.url}/api/products/${product}/orders`;
    expect((await send('POST', orders, { buyer: 'alice' })).status).toBe(409);
    expect((await send('POST', `${orders}/alice/payment`)).status).toBe(404);
    expect((await send('DELETE', `${orders}/alice`)).status).toBe(404);
    expect(await show(id)).toMatchObject({ state: 'reserved' });
    expect(await stockOf(product)).toBe(1);
  });

  it.each([
    ['an unknown product', 404, () => place('nothing', 'alice')],
    ['a product that is none', 400, () => place('p/1', 'alice')],
    ['an empty buyer', 400, () => place('p1', '')],
    ['no order', 404, () => pay('00000000-0000-4000-8000-000000000000')],
    ['an id that is none', 400, () => pay('7')],
    ['to show the order of no buyer', 400, () => visitor.showLatest('p1', '')],
  ])('refuses %s', async (_, status, ask) => {
    expect((await ask()).status).toBe(status);
  });
});

describe('an order that is not paid', () => {
  let shop: LocalShop;
  beforeAll(async () => {
    shop = await openLocalShop({ realSale: true, payWithinMs: 100 });
  });
  afterAll(() => shop.close());
  const visitor = visit(() => shop);

  it('loses its piece, and another buyer gets it', async () => {
    const product = await visitor.newProduct(1);
    const id = await visitor.ordered(product, 'alice', 'expired');
    expect(await visitor.stockOf(product)).toBe(1);
    expect((await visitor.pay(id)).status).toBe(410);
    await visitor.ordered(product, 'bob', 'expired');
    await visitor.ordered(product, 'alice', 'expired');
    const entries = await shop.database
      .selectFrom('ledger')
      .select(['change', 'reason'])
      .where('order_id', '=', id)
      .orderBy('id')
      .execute();
    expect(entries).toEqual([
      { change: -1, reason: 'sold' },
      { change: 1, reason: 'expired' },
    ]);
  });
});
