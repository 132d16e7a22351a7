import { Inject, Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import { GATE } from '../seckill/gate.js';
import type { Gate } from '../seckill/gate.js';
import { withRefusals } from '../seckill/order-outcome.js';
import type { OrderOutcome } from '../seckill/order-outcome.js';
import { SaleKeys } from '../seckill/sale-keys.js';
import { Sale } from '../seckill/sale.js';
import { REDIS } from '../settings.js';
import { SqlUpdateStrategy } from './sql-update.js';
import type { Strategy } from './strategy.js';

const TAKE = /* lua */ `
  if tonumber(redis.call('GET', KEYS[1]) or '0') <= 0 then return 0 end
  redis.call('DECR', KEYS[1])
  return 1
`;

/**
 * After the tutorial: no lock at all. A counter in Redis is set when the sale opens. It lets one
 * buyer through for each piece, and keeps the crowd away from the database. But these are two
 * systems. A process that dies between them takes a piece off the counter, and no buyer gets it.
 */
@Injectable()
export class LuaDecrementStrategy implements Strategy {
  constructor(
    @Inject(REDIS) private readonly redis: Redis,
    @Inject(GATE) private readonly gate: Gate,
    private readonly keys: SaleKeys,
    private readonly sale: Sale,
    private readonly database: SqlUpdateStrategy,
  ) {}

  async order(productId: string, buyer: string): Promise<OrderOutcome> {
    const counter = this.keys.stock(productId);
    const isTaken = (await this.redis.eval(TAKE, 1, counter)) === 1;
    if (!isTaken) return this.sale.refusal(productId, buyer);
    await this.gate.reach('before-write');
    const outcome = await withRefusals(this.database.order(productId, buyer));
    if (outcome.kind !== 'sold') await this.redis.incr(counter);
    return outcome;
  }
}
