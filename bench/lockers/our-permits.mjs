import { SemaphoreService } from '../../libs/redis-lock/dist/esm/primitives/semaphore/semaphore-service.js';
import { openContext, ourLocks } from './our-context.mjs';

export const label = 'nestjs-redis-lock';

/** @param {import('../terms.mjs').Terms} terms */
export async function create(terms) {
  const semaphores = new SemaphoreService(openContext(terms));
  return {
    permits: (key, permits) => semaphores.get(key).trySetPermits(permits),
    ...ourLocks({ acquire: (key) => semaphores.get(key).acquire() }),
  };
}
