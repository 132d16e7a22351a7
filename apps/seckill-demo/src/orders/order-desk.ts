import { Inject, Injectable } from '@nestjs/common';
import { CurrentLock, SemaphoreService, WithLock } from 'nestjs-redis-lock';
import { AT_ONCE, PaymentGateway } from '../payment/payment-gateway.js';
import { currentOrder, GATE } from '../seckill/gate.js';
import type { Gate } from '../seckill/gate.js';
import { SETTINGS } from '../settings.js';
import type { Settings } from '../settings.js';
import { OrderBook } from './order-book.js';
import type { Order } from './order-book.js';
import { OrderQueue } from './order-queue.js';
import type { OrderTask } from './order-queue.js';

/** A job waits for this time, then makes room for jobs of other products. */
const JOB_LOCK = { fenced: true, waitTimeMs: 2_000 } as const;

export type PaymentOutcome = { readonly kind: 'paid' | 'refused'; readonly order: Order };

/** Moves an order of the real sale on. You can repeat every step. The process may die at any point. */
@Injectable()
export class OrderDesk implements Record<OrderTask, (orderId: string) => Promise<void>> {
  constructor(
    private readonly book: OrderBook,
    private readonly queue: OrderQueue,
    private readonly gateway: PaymentGateway,
    private readonly semaphores: SemaphoreService,
    @Inject(SETTINGS) private readonly settings: Settings,
    @Inject(GATE) private readonly gate: Gate,
  ) {}

  /** Writes to the database first, so that no order is lost with Redis. */
  async place(productId: string, buyer: string): Promise<Order> {
    const order = await this.book.queue(productId, buyer);
    this.queue.add({ task: 'take', orderId: order.id });
    return order;
  }

  async take(orderId: string): Promise<void> {
    const order = await this.book.find(orderId);
    if (order?.state !== 'queued') return;
    const hasPiece = await currentOrder.run(refOf(order), () => this.takePiece(order));
    const delayMs = this.settings.payWithinMs;
    if (hasPiece) this.queue.add({ task: 'expire', orderId, delayMs });
  }

  async expire(orderId: string): Promise<void> {
    const order = await this.book.findOverdue(orderId, 'reserved');
    if (order !== undefined) await currentOrder.run(refOf(order), () => this.putBack(order));
  }

  /** Only the gateway knows the result of this payment. */
  async settle(orderId: string): Promise<void> {
    if (await this.gateway.hasCharged(orderId)) {
      await this.book.settle(orderId);
      return;
    }
    const order = await this.book.findOverdue(orderId, 'paying');
    if (order === undefined) await this.book.stopPayment(orderId);
    else await currentOrder.run(refOf(order), () => this.putBack(order));
  }

  /** Waits for one of the five permits before it writes. Undefined: no such order. */
  async pay(orderId: string): Promise<PaymentOutcome | undefined> {
    const order = await this.book.find(orderId);
    if (order?.state !== 'reserved') return order && { kind: 'refused', order };
    const permits = this.semaphores.get('payments', { capacity: AT_ONCE });
    return currentOrder.run(refOf(order), () => permits.using(() => this.#charge(orderId)));
  }

  async #charge(orderId: string): Promise<PaymentOutcome | undefined> {
    const isMine = await this.book.startPayment(orderId);
    if (isMine && (await this.gateway.charge(orderId)).isCharged) await this.book.settle(orderId);
    const order = await this.book.find(orderId);
    return order && { kind: isMine && order.state === 'paid' ? 'paid' : 'refused', order };
  }

  /** The lock encloses the transaction: it is released after the commit. */
  @WithLock('product_<0.product_id>', JOB_LOCK)
  protected async takePiece(order: Order): Promise<boolean> {
    await this.gate.reach('lock-set');
    const token = tokenOfLock();
    await this.gate.reach('before-read');
    const stock = await this.book.claimStock(order.product_id, token);
    await this.gate.reach('before-write');
    if (stock === 0) await this.book.refuse(order);
    else await this.book.reserve(order, stock - 1, token, this.settings.payWithinMs);
    await this.gate.reach('after-write');
    await this.gate.reach('before-delete');
    return stock > 0;
  }

  /** First closes the gateway for the order. From then on, no buyer can pay for a piece of another buyer. */
  @WithLock('product_<0.product_id>', JOB_LOCK)
  protected async putBack(order: Order): Promise<void> {
    if (await this.gateway.closeFor(order.id)) {
      const token = tokenOfLock();
      const stock = await this.book.claimStock(order.product_id, token);
      await this.book.expire(order, stock + 1, token);
    } else {
      await this.book.settle(order.id);
    }
  }
}

function refOf({ product_id: productId, buyer }: Order): { productId: string; buyer: string } {
  return { productId, buyer };
}

function tokenOfLock(): string {
  const { fencingToken } = CurrentLock.lease();
  if (fencingToken === undefined) throw new Error('the lock of the product has no token');
  return String(fencingToken);
}
