import { setTimeout as elapse } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { CurrentLock, LockKey, WithLock } from 'nestjs-redis-lock';
import { GATE } from '../seckill/gate.js';
import type { Gate } from '../seckill/gate.js';
import type { OrderOutcome } from '../seckill/order-outcome.js';
import { SaleLedger } from '../seckill/sale-ledger.js';
import type { SaleTransaction } from '../seckill/sale-ledger.js';
import { Sale } from '../seckill/sale.js';
import type { Strategy } from './strategy.js';

/**
 * The time in which a database writes its log to the disk. Redis has no such wait; this stands for
 * it.
 */
const COMMIT_MS = 2;

/**
 * After the tutorial: this library's lock, in the wrong place. It is taken inside the transaction, as
 * with @Transactional() above @WithLock(…), and so given back before the commit: the next buyer reads
 * the stock as it was. Stage 8 has them the right way round: the lock outside, the commit inside it.
 */
@Injectable()
export class LockInTxStrategy implements Strategy {
  constructor(
    @Inject(GATE) private readonly gate: Gate,
    private readonly ledger: SaleLedger,
    private readonly sale: Sale,
  ) {}

  async order(productId: string, buyer: string): Promise<OrderOutcome> {
    const transaction = this.ledger.begin();
    const outcome = await this.sellLocked(productId, buyer, transaction);
    await this.gate.reach('before-commit');
    await elapse(COMMIT_MS);
    await transaction.commit();
    return outcome;
  }

  @WithLock('product_<id>')
  async sellLocked(
    @LockKey('id') productId: string,
    buyer: string,
    transaction: SaleTransaction,
  ): Promise<OrderOutcome> {
    const lease = CurrentLock.lease();
    const assertHeld = () => {
      lease.assertHeld();
    };
    return this.sale.sellOne(productId, buyer, { assertHeld, book: transaction });
  }
}
