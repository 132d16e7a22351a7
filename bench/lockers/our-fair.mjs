import { FairLockService } from '../../libs/redis-lock/dist/esm/primitives/fair-lock/fair-lock-service.js';
import { openContext, ourLocks } from './our-context.mjs';

export const label = 'nestjs-redis-lock';

/** @param {import('../terms.mjs').Terms} terms */
export async function create(terms) {
  return ourLocks(new FairLockService(openContext(terms)));
}
