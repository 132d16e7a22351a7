import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ordersHeld } from '../../apps/seckill-demo/src/arena/fleet.js';
import { TUTORIAL, tutorialSale } from '../../apps/seckill-demo/src/arena/tutorial.js';
import { STRATEGY_NAMES } from '../../apps/seckill-demo/src/strategies/strategy.js';
import { openLocalShop } from './local-fleet.js';
import type { LocalShop } from './local-fleet.js';

const SOLD = /^扣减成功，剩余库存：(\d+)$/;
const BUSY = '获取锁失败，请重新尝试';
const SOLD_OUT = '扣减失败，剩余库存不足';
const IN_ORDER = [9, 8, 7, 6, 5, 4, 3, 2, 1, 0].map((left) => `扣减成功，剩余库存：${left}`);

describe("the tutorial's log", () => {
  let shop: LocalShop;
  beforeAll(async () => {
    shop = await openLocalShop({ stockKey: TUTORIAL.stockKey });
  });
  afterAll(() => shop.close());
  beforeEach(() => {
    shop.lines.length = 0;
  });

  const remainders = () => shop.lines.flatMap((line) => SOLD.exec(line)?.[1] ?? []);

  it.each(STRATEGY_NAMES)('has the lines of the tutorial and no others: %s', async (strategy) => {
    await tutorialSale(shop.fleet, strategy);
    expect(shop.lines).toHaveLength(TUTORIAL.buyers);
    for (const line of shop.lines) {
      expect(line === BUSY || line === SOLD_OUT || SOLD.test(line)).toBe(true);
    }
  });

  it('prints a remaining stock more than once: naive', async () => {
    await tutorialSale(shop.fleet, 'naive');
    expect(new Set(remainders()).size).toBeLessThan(remainders().length);
  });

  it.each(['in-process', 'redis-lock'] as const)(
    'counts down to 0 and then refuses: %s',
    async (strategy) => {
      await tutorialSale(shop.fleet, strategy);
      expect(shop.lines).toEqual([...IN_ORDER, SOLD_OUT]);
    },
  );

  it.each(['setnx', 'setnx-expire', 'set-nx-px', 'owner-check', 'lua-release'] as const)(
    'has successes and failures, and never the same stock twice: %s',
    async (strategy) => {
      await tutorialSale(shop.fleet, strategy);
      expect(shop.lines).toContain(BUSY);
      expect(remainders().length).toBeGreaterThan(0);
      expect(new Set(remainders()).size).toBe(remainders().length);
    },
  );

  it('locks under the key of the tutorial', async () => {
    const [member] = shop.fleet.members;
    await member?.closeGate('before-delete', 1);
    const sale = tutorialSale(shop.fleet, 'redis-lock');
    await ordersHeld(shop.fleet, 'before-delete', 1);
    const keys = await shop.redis.keys('*');
    member?.openGate('before-delete');
    await sale;
    expect(keys).toContain('product_1');
  });
});
