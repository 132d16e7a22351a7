import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { LockService } from 'nestjs-redis-lock';
import { ordersHeld } from '../../apps/seckill-demo/src/arena/fleet.js';
import type { OrderState } from '../../apps/seckill-demo/src/database/tables.js';
import { reconciled } from '../../apps/seckill-demo/src/orders/order-notice.js';
import type { ReconciledNotice } from '../../apps/seckill-demo/src/orders/order-notice.js';
import { Reconciler } from '../../apps/seckill-demo/src/orders/reconciler.js';
import { eventually } from '../support/eventually.js';
import { openLocalShop } from './local-fleet.js';
import type { LocalShop } from './local-fleet.js';
import { PATIENT, read, send, visit } from './visitor.js';

const LONG_AGO = new Date(Date.now() - 60_000);

describe('the reconciliation', () => {
  let shop: LocalShop;
  beforeAll(async () => {
    shop = await openLocalShop({ realSale: true });
  });
  afterAll(() => shop.close());
  const visitor = visit(() => shop);
  const { newProduct, place, show, comes, stockOf } = visitor;
  /** A round beside those that come by themselves, never at the same time. */
  const reconcile = () =>
    shop.get(LockService).using('reconciliation', () => shop.get(Reconciler).reconcile());

  /** An order as a process left it that died long ago. */
  async function leftBehind(product: string, state: OrderState, pay_until: Date | null = null) {
    const { id } = await shop.database
      .insertInto('orders')
      .values({ product_id: product, buyer: 'alice', state, pay_until, moved_at: LONG_AGO })
      .returning('id')
      .executeTakeFirstOrThrow();
    return id;
  }

  const reserved = (product: string) => visitor.ordered(product, 'alice', 'reserved');

  /** The same, of an order that has a piece. A round may come at once: a charge comes before this. */
  async function leavePaying(id: string, pay_until: Date): Promise<void> {
    await shop.database
      .updateTable('orders')
      .set({ state: 'paying', moved_at: LONG_AGO, pay_until })
      .where('id', '=', id)
      .execute();
  }

  /** Its time is over, and Redis has lost the job that would see it. A charge comes before this. */
  async function leaveReserved(id: string): Promise<void> {
    // If it came after the flush, BullMQ would refuse the reconciliation's job of the same id.
    const job = `bull:orders:expire-${id}`;
    await eventually(async () => (await shop.redis.exists(job)) === 1, PATIENT);
    await shop.redis.flushall();
    await shop.database
      .updateTable('orders')
      .set({ pay_until: LONG_AGO })
      .where('id', '=', id)
      .execute();
  }

  const charge = (reference: string) =>
    shop.database.insertInto('gateway_charges').values({ reference, state: 'charged' }).execute();
  const inTime = () => new Date(Date.now() + 60_000);

  it('comes every three seconds by itself', async () => {
    const { rounds } = shop.get(Reconciler);
    await eventually(() => shop.get(Reconciler).rounds > rounds, PATIENT);
  });

  describe('finds what was left behind', () => {
    it('an order that never came into the queue', async () => {
      const product = await newProduct(1);
      const id = await leftBehind(product, 'queued');
      await reconcile();
      await comes(id, 'reserved');
    });

    it('an order whose time is over, when Redis has forgotten that', async () => {
      const product = await newProduct(1);
      const id = await reserved(product);
      await leaveReserved(id);
      await reconcile();
      await comes(id, 'expired');
      expect(await stockOf(product)).toBe(1);
    });

    it('a payment that the gateway has taken', async () => {
      const id = await reserved(await newProduct(1));
      await charge(id);
      await leavePaying(id, LONG_AGO);
      await reconcile();
      await comes(id, 'paid');
    });

    it('a payment that the gateway knows nothing of, and may be made again', async () => {
      const id = await reserved(await newProduct(1));
      await leavePaying(id, inTime());
      await reconcile();
      await comes(id, 'reserved');
      expect((await visitor.pay(id)).status).toBe(201);
    });

    it('a payment that the gateway knows nothing of, and that comes too late', async () => {
      const product = await newProduct(1);
      const id = await reserved(product);
      await leavePaying(id, LONG_AGO);
      await reconcile();
      await comes(id, 'expired');
      expect(await stockOf(product)).toBe(1);
      expect((await visitor.pay(id)).status).toBe(410);
    });

    it('a charge of an order that would have expired', async () => {
      const product = await newProduct(1);
      const id = await reserved(product);
      await charge(id);
      await leaveReserved(id);
      await reconcile();
      await comes(id, 'paid');
      expect(await stockOf(product)).toBe(0);
    });
  });

  it('leaves no charge to a payer who stood still until the piece was on sale again', async () => {
    const product = await newProduct(1);
    const id = await visitor.ordered(product, 'alice', 'reserved');
    const [member] = shop.fleet.members;
    await member?.closeGate('at-gateway', 1);
    const payment = visitor.pay(id);
    await ordersHeld(shop.fleet, 'at-gateway', 1);
    await shop.database
      .updateTable('orders')
      .set({ pay_until: LONG_AGO, moved_at: LONG_AGO })
      .where('id', '=', id)
      .execute();
    await reconcile();
    await comes(id, 'expired');
    await visitor.ordered(product, 'bob', 'reserved');

    member?.openGate('at-gateway');
    expect((await payment).status).toBe(410);
    const charges = shop.database.selectFrom('gateway_charges').select('state');
    expect(await charges.where('reference', '=', id).execute()).toEqual([{ state: 'closed' }]);
  });

  it('leaves alone what a process works for', async () => {
    const product = await newProduct(1);
    const [member] = shop.fleet.members;
    await member?.closeGate('lock-set', 1);
    const { id } = await read(await place(product, 'alice'));
    await reconcile();
    expect(await show(id)).toMatchObject({ state: 'queued' });
    member?.openGate('lock-set');
    await comes(id, 'reserved');
  });

  describe('compares the books', () => {
    const heard: string[][] = [];
    const listen = (message: unknown) => heard.push([...(message as ReconciledNotice).differences]);
    beforeAll(() => {
      subscribe(reconciled.name, listen);
    });
    afterAll(() => {
      unsubscribe(reconciled.name, listen);
    });
    const rows = async () => {
      const found = await shop.database
        .selectFrom('reconciliations')
        .select('differences')
        .orderBy('id')
        .execute();
      return found.map(({ differences }) => differences);
    };

    /** A product with one order of each kind. */
    async function fullProduct() {
      const product = await newProduct(2);
      const paid = await visitor.ordered(product, 'alice', 'reserved');
      expect((await visitor.pay(paid)).status).toBe(201);
      const reserved = await visitor.ordered(product, 'bob', 'reserved');
      const refused = await visitor.ordered(product, 'carol', 'sold-out');
      return { product, paid, reserved, refused };
    }

    it.each<
      [string, (books: Awaited<ReturnType<typeof fullProduct>>) => Promise<unknown>, string[]]
    >([
      [
        'a piece that no order has',
        ({ product }) =>
          shop.database
            .updateTable('products')
            .set({ stock: 1 })
            .where('id', '=', product)
            .execute(),
        ['1 in stock, 0 in the ledger', '1 in stock, 2 at the opening, 2 ordered'],
      ],
      [
        'an entry that is missing',
        ({ reserved }) =>
          shop.database.deleteFrom('ledger').where('order_id', '=', reserved).execute(),
        [
          '0 in stock, 1 in the ledger',
          '1 of its orders (reserved) with 0 instead of -1 in the ledger',
        ],
      ],
      [
        'an order that is paid without a payment',
        ({ paid }) => shop.database.deleteFrom('payments').where('order_id', '=', paid).execute(),
        ['1 of its orders (paid) without a payment'],
      ],
      [
        'a payment that was never charged',
        ({ paid }) =>
          shop.database.deleteFrom('gateway_charges').where('reference', '=', paid).execute(),
        ['1 of its orders (paid) not charged'],
      ],
      [
        'a charge for nothing',
        ({ refused }) => charge(refused),
        ['1 of its orders (sold-out) charged'],
      ],
    ])('and reports %s, once', async (_, spoil, differences) => {
      const books = await fullProduct();
      await reconcile();
      expect(heard.pop()).toEqual([]);
      const before = await rows();

      await spoil(books);
      const expected = differences.map((text) => `product ${books.product}: ${text}`);
      for (let round = 1; round <= 2; round += 1) {
        await reconcile();
        expect(heard.pop()).toEqual(expected);
      }
      await send('PUT', `${shop.fleet.url}/api/products/${books.product}/stock`, { stock: 1 });
      await reconcile();
      expect((await rows()).slice(before.length)).toEqual([expected, []]);
    });

    it('but not those that the tutorial breaks', async () => {
      const product = await newProduct(2);
      await send('POST', `${shop.fleet.url}/api/products/${product}/orders`, { buyer: 'alice' });
      const { database } = shop;
      await database.updateTable('products').set({ stock: 7 }).where('id', '=', product).execute();
      await reconcile();
      expect(heard.pop()).toEqual([]);
    });
  });
});
