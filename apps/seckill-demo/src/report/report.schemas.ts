import { z } from 'zod';

export const ReportQuery = z.object({
  strategy: z.enum(['everywhere', 'cron-lock']).default('cron-lock'),
});
export type ReportQuery = z.infer<typeof ReportQuery>;
