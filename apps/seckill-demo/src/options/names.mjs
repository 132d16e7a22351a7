// Read before anything is installed or built: no imports.

/**
 * Each strategy decides which buyer may sell now. First come the tutorial's stages, in its order. Then
 * come other uses and a misuse of this library, ways without a lock, and other libraries.
 */
export const STRATEGY_NAMES = /** @type {const} */ ([
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
  'fenced',
  'sql-update',
  'lua-decrement',
  'redlock',
  'redis-semaphore',
]);

export const FAULT_NAMES = /** @type {const} */ ([
  'killed-in-section',
  'killed-before-expire',
  'slow-work',
  'lease-ends-before-del',
  'frozen',
]);

/** The parts of a sale besides the stock; each shows another kind of lock. */
export const PART_NAMES = /** @type {const} */ ([
  'queue',
  'opening',
  'payment',
  'offer',
  'cart',
  'ticket',
  'report',
  'fence',
]);

/** Each level includes those before it; `debug` shows every lock. */
export const SHOP_LOG_LEVELS = /** @type {const} */ (['off', 'error', 'warn', 'log', 'debug']);

export const LANGUAGES = /** @type {const} */ (['zh', 'en']);

/** @typedef {(typeof STRATEGY_NAMES)[number]} StrategyName */
/** @typedef {(typeof FAULT_NAMES)[number]} FaultName */
/** @typedef {(typeof PART_NAMES)[number]} PartName */
/** @typedef {(typeof SHOP_LOG_LEVELS)[number]} ShopLogLevel */
/** @typedef {(typeof LANGUAGES)[number]} Language */
