import { setTimeout as elapse } from 'node:timers/promises';
import { BadGatewayException, Inject, Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import { GATE } from '../seckill/gate.js';
import type { Gate } from '../seckill/gate.js';
import { SaleKeys } from '../seckill/sale-keys.js';
import { REDIS } from '../settings.js';

/** The contract with the gateway. */
export const AT_ONCE = 5;
const TAKES_MS = 20;
/** A customer whose process died is shown out after that. */
const FORGOTTEN_AFTER_MS = 60_000;

/** Takes the time of the server, so that all processes of the shop see one gateway. */
const ENTER = /* lua */ `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
  redis.call('ZADD', KEYS[1], now, ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return redis.call('ZCARD', KEYS[1])
`;

/** A stand-in for an external service, which fails loudly when a sixth customer is inside. */
@Injectable()
export class PaymentGateway {
  constructor(
    @Inject(REDIS) private readonly redis: Redis,
    @Inject(GATE) private readonly gate: Gate,
    private readonly keys: SaleKeys,
  ) {}

  /** Resolves with how many were inside, this customer among them. */
  async charge(paymentId: string): Promise<number> {
    const key = this.keys.gateway();
    const inside = Number(await this.redis.eval(ENTER, 1, key, paymentId, FORGOTTEN_AFTER_MS));
    try {
      if (inside > AT_ONCE) throw new BadGatewayException('the payment gateway is overloaded');
      await this.gate.reach('at-gateway');
      await elapse(TAKES_MS);
      return inside;
    } finally {
      await this.redis.zrem(key, paymentId);
    }
  }
}
