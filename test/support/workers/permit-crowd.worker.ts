import { Redis } from 'ioredis';
import {
  LeaseLostError,
  LockBackendError,
  LockTimeoutError,
} from '../../../libs/redis-lock/src/core/api/errors.js';

import { LockContext } from '../../../libs/redis-lock/src/core/lock-context.js';
import type { LockSettings } from '../../../libs/redis-lock/src/core/api/settings.js';
import { openOverClient } from '../open-connection.js';
import { SemaphoreService } from '../../../libs/redis-lock/src/primitives/semaphore/semaphore-service.js';
import { PermitReferee } from '../../faults/support/permit-referee.js';
import { Random } from '../random.js';
import { serve } from '../worker.js';

export interface PermitWork {
  name: string;
  callers: number;
  /** The permits of one call at most. */
  permits: number;
  /** The sections of all processes together, as the referee counts them. */
  sections: number;
  waitTimeMs: number;
}

let context: LockContext;
let semaphores: SemaphoreService;
let referee: PermitReferee;
let connection: Redis;

/** Takes permits and releases them, in all the ways there are. */
async function call({ name, permits: most, waitTimeMs }: PermitWork, random: Random) {
  const semaphore = semaphores.get(name);
  const permits = random.int(1, most);
  const limits = { permits, waitTimeMs: random.chance(0.1) ? random.int(1, 20) : waitTimeMs };
  if (random.chance(0.8)) return semaphore.using((lease) => referee.section(lease), limits);
  const lease = await semaphore.tryAcquire(limits);
  if (lease === null) return;
  await referee.section(lease);
  if (random.chance(0.5)) return lease.release();
  // By id, as another process would; its holder then finds that it is gone.
  await semaphore.tryRelease(lease.permitIds);
  await lease.release().catch(() => undefined);
}

const api = {
  open(url: string, refereeUrl: string, capacity: number, settings: Partial<LockSettings>): void {
    connection = new Redis(refereeUrl);
    referee = new PermitReferee(connection, capacity);
    context = new LockContext(openOverClient(url), settings);
    semaphores = new SemaphoreService(context);
  },

  /** Holds its share until all permits are in use, those of the other processes with them. */
  fillUp(name: string, permits: number): Promise<void> {
    return semaphores.get(name).using((lease) => referee.sectionUntilFull(lease), { permits });
  },

  /** Until so many sections are done, by whomever. */
  async run(work: PermitWork, seed: string): Promise<void> {
    const random = new Random(seed);
    const caller = async (own: Random) => {
      while (referee.seen < work.sections) {
        try {
          await call(work, own);
        } catch (error) {
          const isExpected =
            error instanceof LeaseLostError ||
            error instanceof LockTimeoutError ||
            error instanceof LockBackendError;
          if (!isExpected) await referee.violation(`unexpected ${String(error)}`);
        }
      }
    };
    await Promise.all(Array.from({ length: work.callers }, (_, i) => caller(random.fork(i))));
  },

  async close(): Promise<void> {
    await context.close();
    connection.disconnect();
  },
};
export type Api = typeof api;
serve(api);
