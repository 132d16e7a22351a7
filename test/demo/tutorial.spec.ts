import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ordersHeld } from '../../apps/seckill-demo/src/arena/fleet.js';
import {
  lessonFlaw,
  lessonHead,
  TUTORIAL,
  tutorialSale,
} from '../../apps/seckill-demo/src/arena/tutorial.js';
import { LESSONS } from '../../apps/seckill-demo/src/lessons/lessons.js';
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

  it.each(LESSONS)(
    'has the lines of the tutorial and no others: $strategy',
    async ({ strategy }) => {
      await tutorialSale(shop.fleet, strategy);
      expect(shop.lines).toHaveLength(TUTORIAL.buyers);
      for (const line of shop.lines) {
        expect(line === BUSY || line === SOLD_OUT || SOLD.test(line)).toBe(true);
      }
    },
  );

  it('prints a remaining stock more than once: naive', async () => {
    await tutorialSale(shop.fleet, 'naive');
    expect(new Set(remainders()).size).toBeLessThan(remainders().length);
  });

  it.each(['in-process', 'redis-lock', 'fenced'] as const)(
    'counts down to 0 and then refuses: %s',
    async (strategy) => {
      await tutorialSale(shop.fleet, strategy);
      expect(shop.lines).toEqual([...IN_ORDER, SOLD_OUT]);
    },
  );

  it.each(['setnx', 'set-nx-px', 'owner-check', 'lua-release'] as const)(
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

describe('a lesson in the terminal', () => {
  const [, , third, , , , , last] = LESSONS;

  it('has its number, its chapter and the changed line before its log', () => {
    expect(third && lessonHead(third, 'en')).toBe(
      '--- 3. SETNX: one key for all processes (chapter 3.2)\n' +
        "+ if ((await this.redis.setnx(lockKey, '123')) === 0) return this.sale.busy();",
    );
    expect(last && lessonHead(last, 'zh')).toBe(
      "--- 8. 围栏：数据库拒绝迟到的写入（教程之外）\n+ .where('fence', '<=', values.fence)",
    );
  });

  it('has its flaw after the log, or why it holds', () => {
    expect(third && lessonFlaw(third, 'zh')).toMatch(
      /^漏洞（setnx：持锁时被杀）：这个键没有过期时间/,
    );
    expect(last && lessonFlaw(last, 'en')).toMatch(
      /^Holds \(fenced: frozen beyond the lease\): The database has seen a higher token/,
    );
  });

  it('is unlike every other lesson', () => {
    const told = LESSONS.map((lesson) => lessonHead(lesson, 'en') + lessonFlaw(lesson, 'en'));
    expect(new Set(told).size).toBe(LESSONS.length);
  });
});
