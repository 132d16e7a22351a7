import { z } from 'zod';
import type { Command } from '../arena/step.js';
import { Buyer } from '../seckill/seckill.schemas.js';

const MOST_ROBOTS = 1_000;

export const CommandBody: z.ZodType<Command> = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.enum(['kill', 'freeze', 'cut', 'block']), process: z.int().positive() }),
  z.strictObject({
    kind: z.enum([
      ...(['kill-holder', 'freeze-holder'] as const),
      ...(['redis-pause', 'redis-restart', 'redis-fail-over', 'skip'] as const),
    ]),
  }),
  z.strictObject({ kind: z.enum(['buy', 'pay']), buyer: Buyer }),
  z.strictObject({ kind: z.literal('robots'), count: z.int().min(1).max(MOST_ROBOTS) }),
  z.strictObject({ kind: z.literal('restock'), stock: z.int().min(0).max(10_000) }),
]);
