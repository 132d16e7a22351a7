import type { OrderOutcome } from '../seckill/order-outcome.js';

/** The tutorial's stages, in its order, and two more; each is one answer to "who may sell now?". */
export const STRATEGY_NAMES = [
  'naive',
  'in-process',
  'setnx',
  'setnx-expire',
  'set-nx-px',
  'owner-check',
  'lua-release',
  'redis-lock',
  'fair',
  'lock-in-tx',
] as const;
export type StrategyName = (typeof STRATEGY_NAMES)[number];

export interface Strategy {
  order(productId: string, buyer: string): Promise<OrderOutcome>;
}
