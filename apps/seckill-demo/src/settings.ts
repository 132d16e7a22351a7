import { z } from 'zod';

export const SETTINGS = Symbol('Settings');
/** The shop's own connection; the lock library keeps its own beside it. */
export const REDIS = Symbol('Redis');

/** The tutorial's lease, for every stage that has one. */
export const TUTORIAL_LEASE_SECONDS = 10;

export interface Settings {
  readonly redisUrl: string;
  readonly keyPrefix: string;
  /** The tutorial has one product and calls its stock `miaosha`. */
  readonly stockKey?: string | undefined;
  readonly leaseTimeMs: number;
  readonly waitTimeMs: number;
  readonly port: number;
}

const Environment = z.object({
  REDIS_URL: z.url({ protocol: /^rediss?$/ }),
  SECKILL_KEY_PREFIX: z.string().default(''),
  SECKILL_STOCK_KEY: z.string().optional(),
  SECKILL_LEASE_MS: z.coerce.number().int().positive().default(30_000),
  SECKILL_WAIT_MS: z.coerce.number().int().nonnegative().default(10_000),
  PORT: z.coerce.number().int().min(0).max(65_535).default(3_000),
});

export function settingsFrom(environment: NodeJS.ProcessEnv): Settings {
  const parsed = Environment.safeParse(environment);
  if (!parsed.success) throw new Error(z.prettifyError(parsed.error));
  return {
    redisUrl: parsed.data.REDIS_URL,
    keyPrefix: parsed.data.SECKILL_KEY_PREFIX,
    stockKey: parsed.data.SECKILL_STOCK_KEY,
    leaseTimeMs: parsed.data.SECKILL_LEASE_MS,
    waitTimeMs: parsed.data.SECKILL_WAIT_MS,
    port: parsed.data.PORT,
  };
}
