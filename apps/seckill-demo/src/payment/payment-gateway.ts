import { setTimeout as elapse } from 'node:timers/promises';
import { BadGatewayException, Inject, Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import { DATABASE } from '../database/open-database.js';
import type { Database } from '../database/tables.js';
import { GATE } from '../seckill/gate.js';
import type { Gate } from '../seckill/gate.js';
import { SaleKeys } from '../seckill/sale-keys.js';
import { REDIS, SETTINGS } from '../settings.js';
import type { Settings } from '../settings.js';

/** The interface of the gateway. */
export const AT_ONCE = 5;
const TAKES_MS = 20;

/** Takes its time on the server, so that all processes of the shop see one gateway. */
const ENTER = /* lua */ `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
  redis.call('ZADD', KEYS[1], now, ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return redis.call('ZCARD', KEYS[1])
`;

export interface Charge {
  /** The number of payments inside, including this one. */
  readonly inside: number;
  /** False: the gateway was closed for this payment before. */
  readonly isCharged: boolean;
}

/**
 * Stands for an external service. It fails when a sixth customer is inside. It charges each
 * reference at most once, for any number of calls.
 */
@Injectable()
export class PaymentGateway {
  constructor(
    @Inject(REDIS) private readonly redis: Redis,
    @Inject(DATABASE) private readonly db: Database,
    @Inject(GATE) private readonly gate: Gate,
    @Inject(SETTINGS) private readonly settings: Settings,
    private readonly keys: SaleKeys,
  ) {}

  async charge(reference: string): Promise<Charge> {
    const key = this.keys.gateway();
    // A customer whose process died is shown out before the permit comes back.
    const forgottenAfterMs = Math.ceil(this.settings.leaseTimeMs / 2);
    const inside = Number(await this.redis.eval(ENTER, 1, key, reference, forgottenAfterMs));
    try {
      if (inside > AT_ONCE) throw new BadGatewayException('the payment gateway is overloaded');
      await this.gate.reach('at-gateway');
      await elapse(TAKES_MS);
      return { inside, isCharged: (await this.#decide(reference, 'charged')) === 'charged' };
    } finally {
      await this.redis.zrem(key, reference);
    }
  }

  /** Resolves with false if it has been charged. Otherwise it can no longer be charged. */
  async closeFor(reference: string): Promise<boolean> {
    return (await this.#decide(reference, 'closed')) === 'closed';
  }

  async hasCharged(reference: string): Promise<boolean> {
    return (await this.#stateOf(reference)) === 'charged';
  }

  /** The first call decides, and all calls get the same result. */
  async #decide(reference: string, state: 'charged' | 'closed'): Promise<'charged' | 'closed'> {
    await this.db
      .insertInto('gateway_charges')
      .values({ reference, state })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    return (await this.#stateOf(reference)) ?? state;
  }

  async #stateOf(reference: string): Promise<'charged' | 'closed' | undefined> {
    const charge = await this.db
      .selectFrom('gateway_charges')
      .select('state')
      .where('reference', '=', reference)
      .executeTakeFirst();
    return charge?.state;
  }
}
