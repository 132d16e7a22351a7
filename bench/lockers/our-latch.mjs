import { LatchService } from '../../libs/redis-lock/dist/esm/primitives/count-down-latch/latch-service.js';
import { openContext } from './our-context.mjs';

export const label = 'nestjs-redis-lock';

/** @param {import('../terms.mjs').Terms} terms */
export async function create(terms) {
  const latches = new LatchService(openContext(terms));
  return {
    async arm(key) {
      const latch = latches.get(key);
      await latch.trySetCount(1);
      return () => latch.countDown();
    },
    async wait(key) {
      if (!(await latches.get(key).wait())) throw new Error(`The latch ${key} stayed closed`);
    },
  };
}
