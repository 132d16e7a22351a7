import { z } from 'zod';
import { STRATEGY_NAMES } from '../strategies/strategy.js';

/** Each input becomes part of a Redis key or field, so it is short and plain. */
export const ProductId = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,32}$/, 'must be 1 to 32 letters, digits, "_" or "-"');

export const Buyer = z
  .string()
  .regex(/^[\p{L}\p{N}_.@-]{1,64}$/u, 'must be 1 to 64 letters, digits or _ . @ -');

// Whole objects, and not their values one by one, so that every message names what it is about.

export const ProductParams = z.object({ id: ProductId });
export type ProductParams = z.infer<typeof ProductParams>;

export const OrderParams = z.object({ id: ProductId, buyer: Buyer });
export type OrderParams = z.infer<typeof OrderParams>;

export const OrderQuery = z.object({ strategy: z.enum(STRATEGY_NAMES).default('redis-lock') });
export type OrderQuery = z.infer<typeof OrderQuery>;

export const OrderBody = z.strictObject({ buyer: Buyer });
export type OrderBody = z.infer<typeof OrderBody>;

export const StockBody = z.strictObject({ stock: z.int().min(0).max(1_000_000) });
export type StockBody = z.infer<typeof StockBody>;
