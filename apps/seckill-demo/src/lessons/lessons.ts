import { faultCell, partCell, rushCell } from '../arena/cell.js';
import type { Cell, Outcome } from '../arena/cell.js';
import { expectedOf } from '../arena/expected-matrix.js';
import type { StrategyName } from '../strategies/strategy.js';

interface Stage {
  /** The chapter of the tutorial; the last lesson goes beyond it. */
  readonly chapter?: string;
  /** Where it fails, or where the last one holds. */
  readonly cell: Cell;
  /** Its lines, as in the source of the strategy. */
  readonly code: readonly string[];
  /** The decisive one of its new lines. */
  readonly changed: string;
  /** Lines of the sale itself, which no later lesson changes. */
  readonly sale?: readonly string[];
  /** Other cells that the text mentions. */
  readonly asides?: readonly Cell[];
}

/** A stage of the tutorial, and its recorded cell. */
export interface Lesson extends Stage {
  readonly number: number;
  readonly strategy: StrategyName;
  /** The published outcome of its cell. */
  readonly outcome: Outcome;
}

/**
 * From no lock to Redisson's lock, and beyond it to the fence. The tutorial mends SETNX with EXPIRE
 * within one chapter, so lesson 4 covers both ways to set the expiry.
 */
const STAGES: readonly Stage[] = [
  {
    chapter: '1.2',
    cell: rushCell('naive', 1),
    code: ['return this.sale.sellOne(productId, buyer);'],
    changed: 'return this.sale.sellOne(productId, buyer);',
    sale: [
      'const seen = await book.lookUp(productId, buyer);',
      'if (seen === null || seen.hasOrdered || seen.stock <= 0) return this.#refusalFor(seen);',
      'const remaining = seen.stock - 1;',
      'await book.recordSale(productId, buyer, remaining);',
      'return this.sold(remaining);',
    ],
  },
  {
    chapter: '2.2',
    cell: rushCell('in-process', 2),
    code: ['return this.#mutex.runExclusive(() => this.sale.sellOne(productId, buyer));'],
    changed: 'return this.#mutex.runExclusive(() => this.sale.sellOne(productId, buyer));',
  },
  {
    chapter: '3.2',
    cell: faultCell('setnx', 'killed-in-section'),
    code: [
      "if ((await this.redis.setnx(lockKey, '123')) === 0) return this.sale.busy();",
      'try {',
      '  return await this.sale.sellOne(productId, buyer);',
      '} finally {',
      '  await this.redis.del(lockKey);',
      '}',
    ],
    changed: "if ((await this.redis.setnx(lockKey, '123')) === 0) return this.sale.busy();",
  },
  {
    chapter: '3.4',
    cell: faultCell('set-nx-px', 'slow-work'),
    code: [
      "const locked = await this.redis.set(lockKey, '123', 'PX', TUTORIAL_LEASE_MS, 'NX');",
      'try {',
      '  return await this.sale.sellOne(productId, buyer);',
      '} finally {',
      '  await this.redis.del(lockKey);',
      '}',
    ],
    changed: "const locked = await this.redis.set(lockKey, '123', 'PX', TUTORIAL_LEASE_MS, 'NX');",
    asides: [faultCell('setnx-expire', 'killed-before-expire')],
  },
  {
    chapter: '3.4',
    cell: faultCell('owner-check', 'lease-ends-before-del'),
    code: [
      "const locked = await this.redis.set(lockKey, clientId, 'PX', TUTORIAL_LEASE_MS, 'NX');",
      'try {',
      '  return await this.sale.sellOne(productId, buyer);',
      '} finally {',
      '  if ((await this.redis.get(lockKey)) === clientId) {',
      '    await this.redis.del(lockKey);',
      '  }',
      '}',
    ],
    changed: 'if ((await this.redis.get(lockKey)) === clientId) {',
  },
  {
    chapter: '3.5',
    cell: faultCell('lua-release', 'slow-work'),
    code: [
      "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end",
      "const locked = await this.redis.set(lockKey, clientId, 'PX', TUTORIAL_LEASE_MS, 'NX');",
      'try {',
      '  return await this.sale.sellOne(productId, buyer);',
      '} finally {',
      '  await this.redis.eval(RELEASE, 1, lockKey, clientId);',
      '}',
    ],
    changed: 'await this.redis.eval(RELEASE, 1, lockKey, clientId);',
  },
  {
    chapter: '4.3',
    cell: partCell('fence', false),
    code: [
      "@WithLock('product_<id>')",
      "async order(@LockKey('id') productId: string, buyer: string): Promise<OrderOutcome> {",
      '  const lease = CurrentLock.lease();',
      '  const outcome = await this.sale.sellOne(productId, buyer, {',
      '    assertHeld: () => {',
      '      lease.assertHeld();',
      '    },',
      '  });',
      '}',
    ],
    changed: "@WithLock('product_<id>')",
    asides: [faultCell('redis-lock', 'slow-work'), faultCell('redis-lock', 'frozen')],
  },
  {
    cell: faultCell('fenced', 'frozen'),
    code: [
      'return this.locks.using(`product_${productId}`, sell, { fenced: true });',
      'const book = this.#behindTheFence(String(lease.fencingToken));',
      'await this.#write(this.db, productId, { fence: token });',
      'await this.#write(transaction, productId, { stock: remaining, fence: token });',
      ".where('fence', '<=', values.fence)",
      'if (written === undefined) throw await overtaken(db, productId, values.fence);',
    ],
    changed: ".where('fence', '<=', values.fence)",
    asides: [partCell('fence', true)],
  },
];

export const LESSONS: readonly Lesson[] = STAGES.map((stage, place) => ({
  ...stage,
  number: place + 1,
  // The parts of the sale take the lock of the shop.
  strategy: 'strategy' in stage.cell ? stage.cell.strategy : 'redis-lock',
  outcome: expectedOf(stage.cell) ?? 'none',
}));

/** The stages that lesson 4 covers both have its number. Undefined: the tutorial has no such stage. */
export function lessonOf(strategy: StrategyName): Lesson | undefined {
  const own = strategy === 'setnx-expire' ? 'set-nx-px' : strategy;
  return LESSONS.find((lesson) => lesson.strategy === own);
}
