import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { ordersHeld } from '../../apps/seckill-demo/src/arena/fleet.js';
import type { Member } from '../../apps/seckill-demo/src/arena/fleet.js';
import { cart } from '../../apps/seckill-demo/src/arena/parts/cart.js';
import { fence } from '../../apps/seckill-demo/src/arena/parts/fence.js';
import { offer } from '../../apps/seckill-demo/src/arena/parts/offer.js';
import { payment } from '../../apps/seckill-demo/src/arena/parts/payment.js';
import { report } from '../../apps/seckill-demo/src/arena/parts/report.js';
import { ticket } from '../../apps/seckill-demo/src/arena/parts/ticket.js';
import { queue } from '../../apps/seckill-demo/src/arena/parts/queue.js';
import { currentOrder } from '../../apps/seckill-demo/src/seckill/gate.js';
import type { GatePoint } from '../../apps/seckill-demo/src/seckill/gate.js';
import { eventually } from '../support/eventually.js';
import { openLocalShop } from './local-fleet.js';
import type { LocalShop } from './local-fleet.js';

const headers = { 'content-type': 'application/json' };
const send = (method: string) => (url: string, body?: unknown) =>
  fetch(url, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
const [post, put, remove] = [send('POST'), send('PUT'), send('DELETE')];

let products = 0;
const newProduct = (): string => {
  products += 1;
  return `p${products}`;
};

describe('the rest of the sale by HTTP', () => {
  let shop: LocalShop;
  let member: Member;
  beforeAll(async () => {
    shop = await openLocalShop({ waitTimeMs: 400 });
    member = shop.fleet.members[0] as Member;
  });
  afterAll(() => shop.close());

  const productUrl = (id: string) => `${shop.fleet.url}/api/products/${id}`;
  async function inStock(stock: number): Promise<string> {
    const id = newProduct();
    expect((await put(`${productUrl(id)}/stock`, { stock })).status).toBe(200);
    return id;
  }
  const stateOf = async (id: string): Promise<unknown> => (await fetch(productUrl(id))).json();
  /** Resolves once so many requests stand at the point. */
  async function holding<T>(point: GatePoint, count: number, send: () => T): Promise<T> {
    await member.closeGate(point, count);
    const sent = send();
    expect(await ordersHeld(shop.fleet, point, count)).toBe(true);
    return sent;
  }

  describe('POST carts/orders', () => {
    const order = (products: unknown, buyer: unknown = 'alice', query = '') =>
      post(`${shop.fleet.url}/api/carts/orders${query}`, { buyer, products });

    it.each(['', '?strategy=multi-lock', '?strategy=one-by-one'])(
      'sells one piece of each product: %j',
      async (query) => {
        const [a, b] = [await inStock(3), await inStock(1)];
        const sold = await order([b, a], 'alice', query);
        expect(sold.status).toBe(201);
        expect(await sold.json()).toEqual({ remaining: { [a]: 2, [b]: 0 } });
        expect(await stateOf(a)).toMatchObject({ stock: 2, orders: 1 });
        expect(await shop.redis.keys('product_*')).toEqual([]);
      },
    );

    it('sells nothing where it cannot sell all', async () => {
      const [a, none] = [await inStock(3), await inStock(0)];
      expect((await order([a, none])).status).toBe(410);
      expect((await order([a, 'nothing'])).status).toBe(404);
      const [bought] = [await inStock(3)];
      expect((await order([bought])).status).toBe(201);
      expect((await order([a, bought])).status).toBe(409);
      expect(await stateOf(a)).toMatchObject({ stock: 3, orders: 0 });
    });

    it('waits for the buyer of one of them, and then releases the others', async () => {
      const [a, b] = [await inStock(3), await inStock(3)];
      const other = await holding('before-write', 1, () => [
        post(`${productUrl(b)}/orders`, { buyer: 'bob' }),
      ]);
      const busy = await order([a, b]);
      expect(busy.status).toBe(423);
      expect(Number(busy.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect((await order([a], 'carol')).status).toBe(201);
      member.openGate('before-write');
      expect((await other[0])?.status).toBe(201);
      expect((await order([a, b])).status).toBe(201);
    });

    it.each([
      ['no products', []],
      ['no list', 'p1'],
      ['the same product twice', ['p1', 'p1']],
      ['a product that is none', ['p 1']],
      ['eleven products', Array.from({ length: 11 }, (_, i) => `p${i}`)],
    ])('refuses %s with 400', async (_, products) => {
      const answer = await order(products);
      const message = [expect.stringMatching('^products')];
      expect(await answer.json()).toMatchObject({ statusCode: 400, message });
    });

    it('refuses a strategy that it does not know with 400', async () => {
      expect((await order(['p1'], 'alice', '?strategy=hope')).status).toBe(400);
    });
  });

  describe('POST orders/:buyer/payment', () => {
    const pay = (id: string, buyer: string, query = '') =>
      post(`${productUrl(id)}/orders/${buyer}/payment${query}`);
    async function ordered(count: number): Promise<{ id: string; buyers: string[] }> {
      const id = await inStock(count);
      const buyers = Array.from({ length: count }, (_, i) => `buyer-${i}`);
      for (const buyer of buyers) {
        expect((await post(`${productUrl(id)}/orders`, { buyer })).status).toBe(201);
      }
      return { id, buyers };
    }

    it('takes the money for an order once', async () => {
      const { id } = await ordered(1);
      const paid = await pay(id, 'buyer-0');
      expect(paid.status).toBe(201);
      expect(await paid.json()).toEqual({ inside: 1 });
      expect((await pay(id, 'buyer-0')).status).toBe(409);
      expect((await pay(id, 'mallory')).status).toBe(404);
    });

    it('lets five in, and the sixth wait', async () => {
      const { id, buyers } = await ordered(6);
      const first = await holding('at-gateway', 5, () =>
        buyers.slice(0, 5).map((buyer) => pay(id, buyer)),
      );
      const busy = await pay(id, 'buyer-5');
      expect(busy.status).toBe(423);
      expect(busy.headers.has('retry-after')).toBe(true);
      member.openGate('at-gateway');
      for (const { status } of await Promise.all(first)) expect(status).toBe(201);
      expect((await pay(id, 'buyer-5')).status).toBe(201);
    });

    it('fails loudly when a sixth is inside, and charges no buyer for it', async () => {
      const { id, buyers } = await ordered(6);
      const first = await holding('at-gateway', 5, () =>
        buyers.slice(0, 5).map((buyer) => pay(id, buyer, '?strategy=naive')),
      );
      const answer = await pay(id, 'buyer-5', '?strategy=naive');
      expect(await answer.json()).toMatchObject({ statusCode: 502, error: 'Bad Gateway' });
      member.openGate('at-gateway');
      await Promise.all(first);
      expect((await pay(id, 'buyer-5')).status).toBe(201);
    });

    it('forgets the payment with the order', async () => {
      const { id } = await ordered(1);
      const [paying] = await holding('at-gateway', 1, () => [pay(id, 'buyer-0')]);
      expect((await remove(`${productUrl(id)}/orders/buyer-0`)).status).toBe(200);
      member.openGate('at-gateway');
      expect((await paying).status).toBe(404);

      const again = { buyer: 'buyer-0' };
      expect((await post(`${productUrl(id)}/orders`, again)).status).toBe(201);
      expect((await pay(id, 'buyer-0')).status).toBe(201);
      expect((await remove(`${productUrl(id)}/orders/buyer-0`)).status).toBe(200);
      expect((await post(`${productUrl(id)}/orders`, again)).status).toBe(201);
      expect((await pay(id, 'buyer-0')).status).toBe(201);
    });
  });

  describe('the offer', () => {
    const offerUrl = (id: string, query = '') => `${productUrl(id)}/offer${query}`;

    it('is a price and a stock, and a new sale', async () => {
      const id = newProduct();
      expect((await fetch(offerUrl(id))).status).toBe(404);
      const changed = await put(offerUrl(id), { price: 4_900, stock: 5 });
      expect([changed.status, await changed.json()]).toEqual([200, { price: 4_900, stock: 5 }]);
      await post(`${productUrl(id)}/orders`, { buyer: 'alice' });
      for (const query of ['', '?strategy=naive']) {
        const read = await fetch(offerUrl(id, query));
        expect([read.status, await read.json()]).toEqual([200, { price: 4_900, stock: 4 }]);
      }
    });

    it('is not changed while another caller reads it', async () => {
      const id = newProduct();
      await put(offerUrl(id), { price: 1, stock: 1 });
      const reading = await holding('between-reads', 2, () => [
        fetch(offerUrl(id)),
        fetch(offerUrl(id)),
      ]);
      expect((await put(offerUrl(id), { price: 2, stock: 2 })).status).toBe(423);
      member.openGate('between-reads');
      for (const read of await Promise.all(reading)) {
        expect(await read.json()).toEqual({ price: 1, stock: 1 });
      }
      expect((await put(offerUrl(id), { price: 2, stock: 2 })).status).toBe(200);
    });

    it.each([
      ['price', { price: -1, stock: 1 }],
      ['price', { stock: 1 }],
      ['stock', { price: 1, stock: 1.5 }],
    ])('refuses a %s that is none with 400', async (name, body) => {
      const message = [expect.stringMatching(`^${name}: `)];
      const answer = await put(offerUrl('p1'), body);
      expect(await answer.json()).toMatchObject({ statusCode: 400, message });
    });
  });

  describe('PUT price', () => {
    const change = (id: string, price: unknown, query = '') =>
      put(`${productUrl(id)}/price${query}`, { price });
    const priceOf = async (id: string): Promise<unknown> =>
      ((await (await fetch(`${productUrl(id)}/offer`)).json()) as { price: unknown }).price;

    it.each(['', '?strategy=fenced', '?strategy=unfenced'])(
      'changes the price, and not the sale: %j',
      async (query) => {
        const id = await inStock(3);
        const changed = await change(id, 4_900, query);
        expect([changed.status, await changed.json()]).toEqual([200, { price: 4_900 }]);
        expect(await priceOf(id)).toBe(4_900);
        expect(await stateOf(id)).toMatchObject({ stock: 3, openingStock: 3 });
        expect(await shop.redis.keys('product_*')).toEqual([]);
      },
    );

    it('waits for the caller that writes', async () => {
      const id = await inStock(1);
      const [first] = await holding('before-write', 1, () => [change(id, 1)]);
      expect((await change(id, 2)).status).toBe(423);
      member.openGate('before-write');
      expect((await first).status).toBe(200);
    });

    it('refuses a holder whose lease was over, by the tokens of both', async () => {
      const id = await inStock(1);
      const [late] = await holding('before-write', 1, () => [change(id, 9_900)]);
      await shop.redis.del(`product_${id}`);
      expect((await change(id, 4_900)).status).toBe(200);
      member.openGate('before-write');
      const refusal = { statusCode: 500, code: 'STALE_WRITE' };
      const { message, ...rest } = (await (await late).json()) as { message: string };
      expect(rest).toMatchObject(refusal);
      const [, mine, newer] = /^token (\d+) < (\d+)$/.exec(message) ?? [];
      expect(Number(mine)).toBeLessThan(Number(newer));
      expect(await priceOf(id)).toBe(4_900);
    });

    it('refuses what is no price with 400, and an absent product with 404', async () => {
      expect((await change('nothing', 1)).status).toBe(404);
      expect((await change('nothing', 1, '?strategy=unfenced')).status).toBe(404);
      expect((await change('p1', -1)).status).toBe(400);
      expect((await change('p1', 1, '?strategy=hope')).status).toBe(400);
    });
  });
});

describe('a sale that opens when two processes are ready', () => {
  it('sells nothing before', async () => {
    const shop = await openLocalShop({ waitTimeMs: 400, processes: 2 });
    try {
      const product = `${shop.fleet.url}/api/products/1`;
      const order = (buyer: string) => post(`${product}/orders`, { buyer });
      expect((await put(`${product}/stock`, { stock: 2 })).status).toBe(200);
      const early = await order('alice');
      expect(await early.json()).toMatchObject({ statusCode: 425, error: 'Too Early' });
      const carts = `${shop.fleet.url}/api/carts/orders`;
      expect((await post(carts, { buyer: 'alice', products: ['1'] })).status).toBe(425);

      // This process has counted once, and the other one does so now.
      expect(await shop.redis.get('sale_opening')).toBe('1');
      await shop.redis.del('sale_opening');
      await eventually(async () => (await order('alice')).status === 201);
    } finally {
      await shop.close();
    }
  });
});

describe('the parts of the sale with one process', () => {
  let patient: LocalShop;
  let hasty: LocalShop;
  beforeAll(async () => {
    [patient, hasty] = [await openLocalShop(), await openLocalShop({ waitTimeMs: 500 })];
  });
  afterAll(() => Promise.all([patient.close(), hasty.close()]));

  const planIn = ({ fleet, redis }: LocalShop) => {
    const [onAnswer, onStruck] = [jest.fn(), jest.fn()];
    return { fleet, redis, keyPrefix: '', newProduct, onAnswer, onStruck };
  };

  it('the fair lock sells in the order of arrival', async () => {
    const result = await queue(planIn(patient), 'fair');
    expect(result).toMatchObject({ outcome: 'ok', inversions: 0, buyers: 20 });
  });

  it('the gateway is never given more than five with the semaphore, and too many without', async () => {
    expect(await payment(planIn(patient), 'semaphore')).toMatchObject({ outcome: 'ok', paid: 20 });
    expect(await payment(planIn(patient), 'naive')).toMatchObject({ outcome: 'overloads' });
  });

  it('no offer is torn with the read-write lock, and each one without', async () => {
    expect(await offer(planIn(hasty), 'read-write-lock')).toMatchObject({ outcome: 'ok', torn: 0 });
    expect(await offer(planIn(hasty), 'naive')).toMatchObject({ outcome: 'torn', torn: 12 });
  });

  it('a visitor gets as many tickets as the limit says, and is told when to come again', async () => {
    const plan = planIn(patient);
    expect(await ticket(plan, 'shared')).toMatchObject({ outcome: 'ok', letIn: 5, sentAway: 1 });
    const visitor = 'visitor-in-a-hurry';
    const take = () => post(`${patient.fleet.url}/api/tickets`, { visitor });
    for (let attempt = 0; attempt < 5; attempt += 1) expect((await take()).status).toBe(201);
    const refused = await take();
    expect(await refused.json()).toMatchObject({ statusCode: 429, error: 'Too Many Requests' });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('a job runs once in a day, and at each call without @CronLock', async () => {
    const plan = planIn(patient);
    expect(await report(plan, 'cron-lock')).toMatchObject({ outcome: 'ok', runs: 1 });
    expect(await report(plan, 'cron-lock')).toMatchObject({ outcome: 'error', runs: 0 });
    expect(await report(plan, 'everywhere')).toMatchObject({ runs: 1 });
  });

  it('a late write is refused by the fence, and lands without it', async () => {
    // The gate holds the first one; this process itself cannot stand still.
    const [member] = patient.fleet.members as [Member];
    jest.spyOn(member, 'freeze').mockImplementation(() => Promise.resolve());
    jest.spyOn(member, 'thaw').mockImplementation(() => undefined);
    const plan = planIn(patient);
    const holders: Array<string | undefined> = [];
    const listen = (event: unknown) => {
      const { type } = event as { type: string };
      if (type === 'acquired') holders.push(currentOrder.getStore()?.buyer);
    };
    subscribe('nestjs-redis-lock:event', listen);
    const unfenced = await fence(plan, 'unfenced');
    unsubscribe('nestjs-redis-lock:event', listen);
    expect(unfenced).toMatchObject({ outcome: 'stale-write', price: 9_900 });
    // No buyer opens the sale, and none reads the price in the end.
    expect(holders).toEqual([undefined, 'first', 'next', undefined]);
    expect(plan.onStruck.mock.calls.map(([what]) => what)).toEqual([
      ...['frozen', 'lease-ended', 'thawed'],
    ]);
    expect(await fence(plan, 'fenced')).toMatchObject({ outcome: 'refused', price: 4_900 });
    expect(plan.onStruck).toHaveBeenLastCalledWith('stale-refused', member.pid);
  });

  it('carts in opposite orders are sold whole', async () => {
    expect(await cart(planIn(patient))).toMatchObject({ outcome: 'ok', sold: 30, soldOut: 10 });
  });
});
