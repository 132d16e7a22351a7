import { z } from 'zod';
import { Buyer, ProductId } from '../seckill/seckill.schemas.js';

export const NewOrder = z.strictObject({ product: ProductId, buyer: Buyer });
export type NewOrder = z.infer<typeof NewOrder>;

export const WhoseOrder = z.object({ product: ProductId, buyer: Buyer });
export type WhoseOrder = z.infer<typeof WhoseOrder>;

export const OrderId = z.object({ id: z.uuid() });
export type OrderId = z.infer<typeof OrderId>;
