import { Inject, Injectable, Logger } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { CronLock, LockShutdownError } from 'nestjs-redis-lock';
import { DATABASE } from '../database/open-database.js';
import type { Database } from '../database/tables.js';
import { OrderBook } from './order-book.js';
import { reconciled } from './order-notice.js';
import type { ReconciledNotice } from './order-notice.js';
import { OrderQueue } from './order-queue.js';
import { ShopBooks } from './shop-books.js';

/**
 * Every three seconds, one process looks for orders without a job, and compares the books. Redis
 * may have lost every job: the orders contain the work to do.
 */
@Injectable()
export class Reconciler {
  readonly #logger = new Logger('Reconciler');
  /** Rounds and differences of this process. */
  rounds = 0;
  differences: readonly string[] = [];

  constructor(
    private readonly book: OrderBook,
    private readonly queue: OrderQueue,
    private readonly books: ShopBooks,
    @Inject(DATABASE) private readonly db: Database,
  ) {}

  /** A round that loses its lock or its database ends: the next round does the rest. */
  @Cron('*/3 * * * * *', { waitForCompletion: true })
  async onTick(): Promise<void> {
    try {
      await this.onSlot();
    } catch (error) {
      if (error instanceof LockShutdownError) return;
      this.#logger.warn(
        `no reconciliation: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }

  // Without Redis there is no round; the library has logged the reason.
  @CronLock('reconciliation', { per: 3_000, atMostMs: 10_000, onBackendError: () => undefined })
  protected async onSlot(): Promise<void> {
    await this.reconcile();
  }

  async reconcile(): Promise<void> {
    this.queue.add(...(await this.book.leftBehind()));
    const differences = await this.books.differences();
    this.rounds += 1;
    this.differences = differences;
    await this.#record(differences);
    reconciled.publish({ differences } satisfies ReconciledNotice);
  }

  /** A row and a log line for each change, not for each round. */
  async #record(differences: readonly string[]): Promise<void> {
    const text = JSON.stringify(differences);
    if (text === JSON.stringify(await lastDifferences(this.db))) return;
    const row = { process: process.pid, differences: text };
    await this.db.insertInto('reconciliations').values(row).execute();
    if (differences.length === 0) this.#logger.log('the books agree again');
    for (const difference of differences) this.#logger.error(difference);
  }
}

/** The differences of the last round, of any process. */
export async function lastDifferences(db: Database): Promise<readonly string[]> {
  const last = await db
    .selectFrom('reconciliations')
    .select('differences')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return last?.differences ?? [];
}
