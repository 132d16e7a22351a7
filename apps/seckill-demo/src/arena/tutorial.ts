import type { StrategyName } from '../strategies/strategy.js';
import type { Fleet } from './fleet.js';
import { rush } from './load-run.js';

export const TUTORIAL = { productId: '1', stockKey: 'miaosha', stock: 10, buyers: 11 } as const;

/** The tutorial's sale for one stage. The servers print its log lines as they sell. */
export async function tutorialSale(fleet: Fleet, strategy: StrategyName): Promise<void> {
  const { productId, stock, buyers } = TUTORIAL;
  await rush(fleet, { strategy, productId, stock, buyers });
}
