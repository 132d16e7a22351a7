import { Inject, Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import Redlock, { ExecutionError } from 'redlock';
import { GATE } from '../seckill/gate.js';
import type { Gate } from '../seckill/gate.js';
import type { OrderOutcome } from '../seckill/order-outcome.js';
import { SaleKeys } from '../seckill/sale-keys.js';
import { Sale } from '../seckill/sale.js';
import { REDIS, SETTINGS } from '../settings.js';
import type { Settings } from '../settings.js';
import type { Strategy } from './strategy.js';

/** The longest pause between two attempts by default: 200 ms, and 100 ms of jitter. */
const LONGEST_PAUSE_MS = 300;

/**
 * Another library: `redlock` 5 (beta), on one Redis. `using` extends its lock while the work runs,
 * and its signal reports a failure. A buyer retries every 100 to 300 ms.
 */
@Injectable()
export class RedlockStrategy implements Strategy {
  constructor(
    @Inject(REDIS) private readonly redis: Redis,
    @Inject(GATE) private readonly gate: Gate,
    @Inject(SETTINGS) private readonly settings: Settings,
    private readonly keys: SaleKeys,
    private readonly sale: Sale,
  ) {}

  /** Rounds of attempts follow each other for as long as the buyer waits. */
  async order(productId: string, buyer: string): Promise<OrderOutcome> {
    const { leaseTimeMs, waitTimeMs } = this.settings;
    // A lease counts from the first attempt, so the attempts must not take more than a part of it.
    const retryCount = Math.floor(Math.min(leaseTimeMs / 3, waitTimeMs) / LONGEST_PAUSE_MS);
    const redlock = new Redlock([this.redis], { retryCount });
    const limit = Date.now() + waitTimeMs;
    do {
      const outcome = await this.#orderInOneRound(redlock, productId, buyer);
      if (outcome !== 'locked') return outcome;
    } while (Date.now() < limit);
    return this.sale.busy();
  }

  async #orderInOneRound(
    redlock: Redlock,
    productId: string,
    buyer: string,
  ): Promise<OrderOutcome | 'locked'> {
    const hold = { hasBegun: false, isRefused: false };
    const sell = async (signal: AbortSignal): Promise<OrderOutcome> => {
      hold.hasBegun = true;
      await this.gate.reach('lock-set');
      const outcome = await this.sale.sellOne(productId, buyer, {
        assertHeld: () => {
          hold.isRefused = signal.aborted;
          signal.throwIfAborted();
        },
      });
      await this.gate.reach('before-delete');
      return outcome;
    };
    try {
      const key = this.keys.lock(productId);
      return await redlock.using([key], this.settings.leaseTimeMs, sell);
    } catch (error) {
      // The release of a lost lock fails too, and its error hides why the work has ended.
      if (hold.isRefused) return { kind: 'lease-lost' };
      if (error instanceof ExecutionError && !hold.hasBegun) return 'locked';
      throw error;
    }
  }
}
