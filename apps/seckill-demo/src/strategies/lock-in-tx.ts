import { Inject, Injectable } from '@nestjs/common';
import { CurrentLock, LockKey, WithLock } from 'nestjs-redis-lock';
import { DATABASE } from '../database/open-database.js';
import type { Database } from '../database/tables.js';
import { GATE } from '../seckill/gate.js';
import type { Gate } from '../seckill/gate.js';
import type { OrderOutcome } from '../seckill/order-outcome.js';
import { Sale } from '../seckill/sale.js';
import { UnitOfWork } from '../seckill/unit-of-work.js';
import type { Strategy } from './strategy.js';

/**
 * After the tutorial: this library's lock in the wrong place. The strategy acquires it inside the
 * transaction, as with @Transactional() above @WithLock(…). So it releases the lock before the
 * commit, and the next buyer reads the old stock. Lesson 7 has the right order: the commit is inside
 * the lock.
 */
@Injectable()
export class LockInTxStrategy implements Strategy {
  constructor(
    @Inject(GATE) private readonly gate: Gate,
    @Inject(DATABASE) private readonly db: Database,
    private readonly sale: Sale,
  ) {}

  order(productId: string, buyer: string): Promise<OrderOutcome> {
    return this.db.transaction().execute(async (transaction) => {
      const work = new UnitOfWork(transaction);
      const outcome = await this.sellLocked(productId, buyer, work);
      await this.gate.reach('before-commit');
      await work.flush();
      return outcome;
    });
  }

  @WithLock('product_<id>')
  async sellLocked(
    @LockKey('id') productId: string,
    buyer: string,
    work: UnitOfWork,
  ): Promise<OrderOutcome> {
    const lease = CurrentLock.lease();
    const assertHeld = () => {
      lease.assertHeld();
    };
    return this.sale.sellOne(productId, buyer, { assertHeld, book: work });
  }
}
