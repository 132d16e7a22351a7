import { z } from 'zod';
import { OfferBody } from '../offer/offer.schemas.js';

/** `unfenced` relies on the lock alone. */
export const PriceQuery = z.object({
  strategy: z.enum(['unfenced', 'fenced']).default('fenced'),
});
export type PriceQuery = z.infer<typeof PriceQuery>;

export const PriceBody = OfferBody.pick({ price: true });
export type PriceBody = z.infer<typeof PriceBody>;
