import { LockService } from '../../libs/redis-lock/dist/esm/primitives/lock/lock-service.js';
import { openContext, ourLocks } from './our-context.mjs';

export const label = 'nestjs-redis-lock';

/** @param {import('../terms.mjs').Terms} terms */
export async function create(terms) {
  const locks = new LockService(openContext(terms));
  return {
    ...ourLocks(locks),
    hold: (key) => locks.acquire(key),
  };
}
