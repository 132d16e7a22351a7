import { z } from 'zod';
import { Buyer, ProductId } from '../seckill/seckill.schemas.js';

/** `one-by-one` acquires the locks in the order of the cart. */
export const CartQuery = z.object({
  strategy: z.enum(['one-by-one', 'multi-lock']).default('multi-lock'),
});
export type CartQuery = z.infer<typeof CartQuery>;

const Products = z
  .array(ProductId)
  .min(1)
  .max(10)
  .refine((ids) => new Set(ids).size === ids.length, 'must be different products');

export const CartBody = z.strictObject({ buyer: Buyer, products: Products });
export type CartBody = z.infer<typeof CartBody>;
