import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Selectable } from 'kysely';
import { ONE_ORDER_EACH } from '../database/migrations.js';
import { DATABASE, isDuplicate, isUnknownReference } from '../database/open-database.js';
import type { Database, LedgerReason, OrderState, OrderTable } from '../database/tables.js';
import { OrderRefusedError } from '../seckill/order-outcome.js';
import { orderMoved, staleRefused } from './order-notice.js';
import type { OrderNotice, StaleNotice } from './order-notice.js';
import type { OrderJob, OrderTask } from './order-queue.js';

export type Order = Selectable<OrderTable>;

/** A process that was frozen continues after another process has acquired the lock. */
export class StaleHolderError extends Error {
  constructor(productId: string, token: string) {
    super(`token ${token} is too old to sell product ${productId}`);
  }
}

/** Another process has moved the order: the transaction must not be committed. */
export class OrderMovedError extends Error {
  constructor(id: string) {
    super(`another process has moved order ${id}`);
  }
}

/** The new owner of an order's piece, and the entry for it. */
interface Piece {
  readonly change: 1 | -1;
  readonly reason: LedgerReason;
  /** The stock afterwards. */
  readonly stock: number;
  readonly token: string;
}

/** A process works on an order for less than this time. */
const LEFT_AFTER = '3 seconds';
const AT_ONCE = 500;
/** An order with a piece that is not finally sold. */
const PAYABLE = ['reserved', 'paying'] as const satisfies OrderState[];
const OVERDUE = sql<boolean>`pay_until <= now()`;

/**
 * The orders of the real sale in Postgres. Each move is an UPDATE that names the state before it:
 * if two processes move an order, one succeeds.
 */
@Injectable()
export class OrderBook {
  constructor(@Inject(DATABASE) private readonly db: Database) {}

  /** From here on, the order is safe, even without Redis. */
  async queue(productId: string, buyer: string): Promise<Order> {
    try {
      const order = await this.db
        .insertInto('orders')
        .values({ product_id: productId, buyer, state: 'queued', remaining: null, pay_until: null })
        .returningAll()
        .executeTakeFirstOrThrow();
      tell(order, { from: [], to: 'queued' });
      return order;
    } catch (error) {
      if (isDuplicate(error, ONE_ORDER_EACH)) throw new OrderRefusedError({ kind: 'duplicate' });
      if (isUnknownReference(error)) throw new OrderRefusedError({ kind: 'unknown-product' });
      throw error;
    }
  }

  find(id: string): Promise<Order | undefined> {
    return this.db.selectFrom('orders').selectAll().where('id', '=', id).executeTakeFirst();
  }

  findLatest(productId: string, buyer: string): Promise<Order | undefined> {
    return this.db
      .selectFrom('orders')
      .selectAll()
      .where('product_id', '=', productId)
      .where('buyer', '=', buyer)
      .orderBy('created_at', 'desc')
      .limit(1)
      .executeTakeFirst();
  }

  /** The tasks for orders that no process seems to work on, oldest first. */
  async leftBehind(): Promise<OrderJob[]> {
    const orders = await this.db
      .selectFrom('orders')
      .select(['id', 'state'])
      .where(
        sql<boolean>`state IN ('queued', 'paying') AND moved_at < now() - ${LEFT_AFTER}::interval
          OR state = 'reserved' AND ${OVERDUE}`,
      )
      .orderBy('moved_at')
      .limit(AT_ONCE)
      .execute();
    return orders.map(({ id: orderId, state }) => ({ task: taskOf(state), orderId }));
  }

  /** By the clock of the database, which all processes share. */
  findOverdue(id: string, state: 'reserved' | 'paying'): Promise<Order | undefined> {
    return this.db
      .selectFrom('orders')
      .selectAll()
      .where('id', '=', id)
      .where('state', '=', state)
      .where(OVERDUE)
      .executeTakeFirst();
  }

  /**
   * Notes the token first, and then reads the stock. From now on, no holder with an older token can
   * write. A plain read would miss a late write of such a holder.
   */
  async claimStock(productId: string, token: string): Promise<number> {
    const claimed = await this.db
      .updateTable('products')
      .set({ fence: token })
      .where('id', '=', productId)
      .where('fence', '<=', token)
      .returning('stock')
      .executeTakeFirst();
    if (claimed === undefined) throw refused(productId, token);
    return claimed.stock;
  }

  async reserve(order: Order, stock: number, token: string, payWithinMs: number): Promise<void> {
    const pay_until = sql<Date>`now() + ${payWithinMs} * interval '1 millisecond'`;
    const set = { remaining: stock, pay_until };
    const piece = { change: -1, reason: 'sold', stock, token } as const;
    await this.#movePiece(order, piece, { from: ['queued'], to: 'reserved', set });
  }

  async refuse(order: Order): Promise<void> {
    await this.#move(order.id, { from: ['queued'], to: 'sold-out' });
  }

  async expire(order: Order, stock: number, token: string): Promise<void> {
    const piece = { change: 1, reason: 'expired', stock, token } as const;
    await this.#movePiece(order, piece, { from: PAYABLE, to: 'expired', where: OVERDUE });
  }

  /** Resolves with false unless the order waits for its payment, in time. */
  async startPayment(id: string): Promise<boolean> {
    const where = sql<boolean>`pay_until > now()`;
    return this.#move(id, { from: ['reserved'], to: 'paying', where });
  }

  /** Nothing was charged, and time is left. */
  async stopPayment(id: string): Promise<boolean> {
    return this.#move(id, { from: ['paying'], to: 'reserved' });
  }

  /** The gateway has the money. Resolves with false if another process has already noted that. */
  async settle(id: string): Promise<boolean> {
    const step: Step = { from: PAYABLE, to: 'paid' };
    const order = await this.db.transaction().execute(async (transaction) => {
      const paid = await move(transaction, id, step);
      if (paid === undefined) return undefined;
      await transaction.insertInto('payments').values({ order_id: id }).execute();
      return paid;
    });
    return tell(order, step);
  }

  async #move(id: string, step: Step): Promise<boolean> {
    return tell(await move(this.db, id, step), step);
  }

  /** Stock, ledger and order in one transaction. The product comes first, as in all transactions. */
  async #movePiece(
    { id, product_id }: Order,
    { change, reason, stock, token }: Piece,
    step: Step,
  ): Promise<void> {
    const order = await this.db.transaction().execute(async (transaction) => {
      const { numUpdatedRows } = await transaction
        .updateTable('products')
        .set({ stock })
        .where('id', '=', product_id)
        .where('fence', '<=', token)
        .executeTakeFirst();
      if (numUpdatedRows === 0n) throw refused(product_id, token);
      const moved = await move(transaction, id, step);
      if (moved === undefined) throw new OrderMovedError(id);
      await transaction
        .insertInto('ledger')
        .values({ product_id, order_id: id, change, reason })
        .execute();
      return moved;
    });
    tell(order, step);
  }
}

function refused(productId: string, token: string): StaleHolderError {
  staleRefused.publish({ productId } satisfies StaleNotice);
  return new StaleHolderError(productId, token);
}

interface Step {
  readonly from: readonly OrderState[];
  readonly to: OrderState;
  readonly where?: ReturnType<typeof sql<boolean>>;
  readonly set?: { remaining: number; pay_until: ReturnType<typeof sql<Date>> };
}

function move(
  db: Database,
  id: string,
  { from, to, where = sql<boolean>`true`, set }: Step,
): Promise<Order | undefined> {
  return db
    .updateTable('orders')
    .set({ ...set, state: to, moved_at: sql<Date>`clock_timestamp()` })
    .where('id', '=', id)
    .where('state', 'in', from)
    .where(where)
    .returningAll()
    .executeTakeFirst();
}

function taskOf(state: OrderState): OrderTask {
  if (state === 'queued') return 'take';
  return state === 'paying' ? 'settle' : 'expire';
}

/** Only after the commit: a notice cannot be withdrawn. */
function tell(order: Order | undefined, { from }: Step): boolean {
  if (order === undefined) return false;
  const { id: orderId, product_id: productId, buyer, state, pay_until, remaining } = order;
  const notice: OrderNotice = {
    ...{ orderId, productId, buyer, state, remaining },
    payUntil: pay_until?.toISOString(),
    isAnswer: from.includes('queued'),
    ageMs: order.moved_at.getTime() - order.created_at.getTime(),
  };
  orderMoved.publish(notice);
  return true;
}
