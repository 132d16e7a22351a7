import { ReadWriteLockService } from '../../libs/redis-lock/dist/esm/primitives/read-write-lock/read-write-lock-service.js';
import { openContext, ourLocks } from './our-context.mjs';

export const label = 'nestjs-redis-lock';

/** @param {import('../terms.mjs').Terms} terms */
export async function create(terms) {
  const locks = new ReadWriteLockService(openContext(terms));
  return ourLocks({ acquire: (key) => locks.get(key).read.acquire() });
}
