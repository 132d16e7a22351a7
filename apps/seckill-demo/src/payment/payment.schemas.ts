import { z } from 'zod';

export const PaymentQuery = z.object({
  strategy: z.enum(['naive', 'semaphore']).default('semaphore'),
});
export type PaymentQuery = z.infer<typeof PaymentQuery>;
