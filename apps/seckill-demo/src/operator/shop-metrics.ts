import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setTimeout as elapse } from 'node:timers/promises';
import { InjectQueue } from '@nestjs/bullmq';
import { Inject, Injectable } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import type { Queue } from 'bullmq';
import { sql } from 'kysely';
import { collectLockMetrics } from 'nestjs-redis-lock/prometheus';
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { DATABASE } from '../database/open-database.js';
import { ORDER_STATES } from '../database/tables.js';
import type { Database } from '../database/tables.js';
import { orderMoved } from '../orders/order-notice.js';
import type { OrderNotice } from '../orders/order-notice.js';
import { ORDER_QUEUE } from '../orders/order-queue.js';
import { lastDifferences } from '../orders/reconciler.js';
import { PATIENCE_MS } from './shop-health.js';

const BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The metrics of the sale, of the locks of this process, and of the process itself. */
@Injectable()
export class ShopMetrics implements OnApplicationShutdown {
  readonly #register = new Registry();
  readonly #sources = this.#gauge(
    'source_up',
    'Whether the source has answered this scrape',
    'source',
  );
  readonly #orders = this.#gauge('orders', 'Orders in Postgres', 'state');
  readonly #stock = this.#gauge('stock', 'Pieces in stock in Postgres', 'product');
  readonly #differences = this.#gauge('book_differences', 'Differences at the last reconciliation');
  readonly #jobs = this.#gauge('queue_jobs', 'Jobs of the order queue in Redis', 'state');
  readonly #answers = new Histogram({
    name: 'seckill_order_answer_seconds',
    help: 'From an order to its piece or refusal, for orders that this process has answered',
    buckets: BUCKETS_S,
    registers: [this.#register],
  });
  readonly #stopLocks = collectLockMetrics(this.#register);

  constructor(
    @Inject(DATABASE) private readonly db: Database,
    @InjectQueue(ORDER_QUEUE) private readonly queue: Queue,
  ) {
    collectDefaultMetrics({ register: this.#register });
    subscribe(orderMoved.name, this.#onOrder);
  }

  /** Reads Postgres and Redis now. The metrics of a source that does not answer are left out. */
  async text(): Promise<string> {
    await Promise.all([
      this.#ask('postgres', [this.#orders, this.#stock, this.#differences], () => this.#readShop()),
      this.#ask('redis', [this.#jobs], () => this.#readQueue()),
    ]);
    return this.#register.metrics();
  }

  onApplicationShutdown(): void {
    unsubscribe(orderMoved.name, this.#onOrder);
    this.#stopLocks();
  }

  /** `read` resolves with a function that sets its gauges, all in one turn: two scrapes may overlap. */
  async #ask(
    source: string,
    gauges: readonly Gauge[],
    read: () => Promise<() => void>,
  ): Promise<void> {
    const set = await Promise.race([
      read().catch(() => undefined),
      elapse(PATIENCE_MS, undefined, { ref: false }),
    ]);
    this.#sources.set({ source }, set === undefined ? 0 : 1);
    for (const gauge of gauges) {
      gauge.reset();
      // One without labels is 0 then.
      gauge.remove({});
    }
    set?.();
  }

  async #readShop(): Promise<() => void> {
    const [orders, products, differences] = await Promise.all([
      this.db
        .selectFrom('orders')
        .select(['state', sql<number>`count(*)::int`.as('count')])
        .groupBy('state')
        .execute(),
      this.db.selectFrom('products').select(['id', 'stock']).execute(),
      lastDifferences(this.db),
    ]);
    return () => {
      for (const state of ORDER_STATES) this.#orders.set({ state }, 0);
      for (const { state, count } of orders) this.#orders.set({ state }, count);
      for (const { id, stock } of products) this.#stock.set({ product: id }, stock);
      this.#differences.set(differences.length);
    };
  }

  async #readQueue(): Promise<() => void> {
    const counts = await this.queue.getJobCounts('waiting', 'active', 'delayed');
    return () => {
      for (const [state, count] of Object.entries(counts)) this.#jobs.set({ state }, count);
    };
  }

  readonly #onOrder = (message: unknown): void => {
    const { isAnswer, ageMs } = message as OrderNotice;
    if (isAnswer) this.#answers.observe(ageMs / 1_000);
  };

  #gauge(name: string, help: string, ...labelNames: string[]): Gauge {
    return new Gauge({ name: `seckill_${name}`, help, labelNames, registers: [this.#register] });
  }
}
