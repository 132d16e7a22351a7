import { z } from 'zod';
import { Buyer } from '../seckill/seckill.schemas.js';

/** `per-process` counts in the memory of each process. */
export const TicketQuery = z.object({
  strategy: z.enum(['per-process', 'shared']).default('shared'),
});
export type TicketQuery = z.infer<typeof TicketQuery>;

export const TicketBody = z.strictObject({ visitor: Buyer });
export type TicketBody = z.infer<typeof TicketBody>;
