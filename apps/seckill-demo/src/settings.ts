import { z } from 'zod';
import { SHOP_LOG_LEVELS } from './options/names.mjs';
import type { ShopLogLevel } from './options/names.mjs';

export type { ShopLogLevel } from './options/names.mjs';

export const SETTINGS = Symbol('Settings');
/** The shop's own connection; the lock library has another one. */
export const REDIS = Symbol('Redis');

/** The tutorial's lease, for every stage with a lease. */
export const TUTORIAL_LEASE_SECONDS = 10;
export const TUTORIAL_LEASE_MS = TUTORIAL_LEASE_SECONDS * 1_000;

/** The product in the shop when it opens. */
export const FIRST_PRODUCT = { id: '1', stock: 100 } as const;

export interface Settings {
  readonly redisUrl: string;
  readonly databaseUrl: string;
  readonly databaseSchema: string;
  readonly keyPrefix: string;
  /** The tutorial has one product and calls its stock `miaosha`. */
  readonly stockKey?: string | undefined;
  readonly leaseTimeMs: number;
  readonly waitTimeMs: number;
  /** The sale opens when this number of processes is ready. Undefined: it is open. */
  readonly processes?: number | undefined;
  /** Whether this process takes orders through the queue. Processes for measurements do not. */
  readonly realSale: boolean;
  /** An unpaid order loses its piece after this time. */
  readonly payWithinMs: number;
  readonly port: number;
  readonly logLevel: ShopLogLevel;
}

const Environment = z.object({
  REDIS_URL: z.url({ protocol: /^rediss?$/ }),
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }),
  SECKILL_DATABASE_SCHEMA: z
    .string()
    .regex(/^[a-z_][a-z0-9_]{0,62}$/)
    .default('public'),
  SECKILL_KEY_PREFIX: z.string().default(''),
  SECKILL_STOCK_KEY: z.string().optional(),
  SECKILL_LEASE_MS: z.coerce.number().int().positive().default(30_000),
  SECKILL_WAIT_MS: z.coerce.number().int().nonnegative().default(10_000),
  SECKILL_PROCESSES: z.coerce.number().int().positive().optional(),
  SECKILL_REAL_SALE: z.stringbool().default(false),
  SECKILL_PAY_WITHIN_MS: z.coerce.number().int().positive().default(60_000),
  SECKILL_LOG_LEVEL: z.enum(SHOP_LOG_LEVELS).default('log'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(3_000),
});

export function settingsFrom(environment: NodeJS.ProcessEnv): Settings {
  const parsed = Environment.safeParse(environment);
  if (!parsed.success) throw new Error(z.prettifyError(parsed.error));
  return {
    redisUrl: parsed.data.REDIS_URL,
    databaseUrl: parsed.data.DATABASE_URL,
    databaseSchema: parsed.data.SECKILL_DATABASE_SCHEMA,
    keyPrefix: parsed.data.SECKILL_KEY_PREFIX,
    stockKey: parsed.data.SECKILL_STOCK_KEY,
    leaseTimeMs: parsed.data.SECKILL_LEASE_MS,
    waitTimeMs: parsed.data.SECKILL_WAIT_MS,
    processes: parsed.data.SECKILL_PROCESSES,
    realSale: parsed.data.SECKILL_REAL_SALE,
    payWithinMs: parsed.data.SECKILL_PAY_WITHIN_MS,
    port: parsed.data.PORT,
    logLevel: parsed.data.SECKILL_LOG_LEVEL,
  };
}
