import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Doors } from '../../apps/seckill-demo/src/arena/doors.js';
import { rush } from '../../apps/seckill-demo/src/arena/load-run.js';
import { QueueWatch } from '../../apps/seckill-demo/src/arena/queue-watch.js';
import { EXPECTED } from '../../apps/seckill-demo/src/arena/expected-matrix.js';
import { STRATEGY_NAMES } from '../../apps/seckill-demo/src/strategies/strategy.js';
import { eventually } from '../support/eventually.js';
import { openLocalShop } from './local-fleet.js';
import type { LocalShop } from './local-fleet.js';

describe('rush with one process', () => {
  let shop: LocalShop;
  beforeAll(async () => {
    shop = await openLocalShop();
  });
  afterAll(() => shop.close());

  it.each(STRATEGY_NAMES)('ends as the matrix says: %s', async (strategy) => {
    const plan = { strategy, productId: strategy, stock: 8, buyers: 24 };
    const result = await rush(shop.fleet, plan);
    expect(result.outcome).toBe(EXPECTED[strategy].oneProcess);
    expect(result.sold + result.refused).toBe(plan.buyers);
    expect(result.failed).toBe(0);
  });

  it.each([
    { stock: 2, buyers: 3 },
    { stock: 1, buyers: 1 },
    { stock: 5, buyers: 3 },
  ])('sells exactly what it can with stock $stock and $buyers buyers', async (size) => {
    const productId = `exact-${size.stock}-${size.buyers}`;
    const result = await rush(shop.fleet, { strategy: 'redis-lock', productId, ...size });
    expect(result).toMatchObject({
      sold: Math.min(size.stock, size.buyers),
      outcome: 'exact',
      ledgerDifference: 0,
    });
  });

  it('measures a fair lock at its queue in Redis', async () => {
    const plan = { strategy: 'fair', productId: 'line', stock: 8, buyers: 24 } as const;
    const watchQueue = () => QueueWatch.of(shop.redis, 'product_line');
    const result = await rush(shop.fleet, { ...plan, watchQueue });
    // Another key than that of the queue would leave it undefined.
    expect(result).toMatchObject({ outcome: 'exact', overtaken: 0 });
  });

  it('makes the failures certain with the smallest crowd that can fail', async () => {
    const smallest = { stock: 2, buyers: 3 };
    const naive = await rush(shop.fleet, { strategy: 'naive', productId: 'n', ...smallest });
    expect(naive).toMatchObject({ sold: 3, oversold: 1, outcome: 'oversells' });
    const setnx = await rush(shop.fleet, { strategy: 'setnx', productId: 's', ...smallest });
    expect(setnx).toMatchObject({ sold: 1, undersold: 1, refused: 2, outcome: 'undersells' });
  });

  it('goes on side by side with another, whichever is ready first', async () => {
    const doors = new Doors(shop.fleet, 2);
    const size = { stock: 2, buyers: 3, doors };
    const open = jest.spyOn(doors, 'open');
    const first = rush(shop.fleet, { strategy: 'naive', productId: 'left', ...size });
    await eventually(async () => {
      expect((await fetch(`${shop.fleet.url}/api/products/left`)).status).toBe(200);
    });
    expect(open).not.toHaveBeenCalled();
    const second = rush(shop.fleet, { strategy: 'redis-lock', productId: 'right', ...size });
    expect(await first).toMatchObject({ sold: 3, outcome: 'oversells' });
    expect(await second).toMatchObject({ sold: 2, outcome: 'exact' });
    for (const { p50Ms } of [await first, await second]) expect(p50Ms).toBeGreaterThan(0);
  });

  it('opens its gates again', async () => {
    await rush(shop.fleet, { strategy: 'naive', productId: 'again', stock: 2, buyers: 3 });
    const answer = await fetch(`${shop.fleet.url}/api/products/again/orders?strategy=naive`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ buyer: 'late' }),
    });
    expect([201, 410]).toContain(answer.status);
  });
});
