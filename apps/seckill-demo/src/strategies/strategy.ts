import type { OrderOutcome } from '../seckill/order-outcome.js';

export { STRATEGY_NAMES } from '../options/names.mjs';
export type { StrategyName } from '../options/names.mjs';

export interface Strategy {
  order(productId: string, buyer: string): Promise<OrderOutcome>;
}
