import { z } from 'zod';
import { StockBody } from '../seckill/seckill.schemas.js';

export const OfferQuery = z.object({
  strategy: z.enum(['naive', 'read-write-lock']).default('read-write-lock'),
});
export type OfferQuery = z.infer<typeof OfferQuery>;

export const OfferBody = StockBody.extend({ price: z.int().min(0).max(100_000_000) });
export type OfferBody = z.infer<typeof OfferBody>;
