import type { Redis } from 'ioredis';
import type { Fleet } from '../fleet.js';
import type { Reporter } from '../reporter.js';

/** The place where a part is played. */
export interface PartPlan extends ReturnType<Reporter['of']> {
  readonly fleet: Fleet;
  /** The arena's own connection. It reads who waits where. */
  readonly redis: Redis;
  readonly keyPrefix: string;
  readonly newProduct: () => string;
}
