import type { LockSettings } from '../../../libs/redis-lock/src/core/api/settings.js';
import { LockContext } from '../../../libs/redis-lock/src/core/lock-context.js';
import { openOverClient } from '../open-connection.js';
import { SemaphoreService } from '../../../libs/redis-lock/src/primitives/semaphore/semaphore-service.js';
import type { SemaphoreAcquireOptions } from '../../../libs/redis-lock/src/primitives/semaphore/semaphore.js';
import { report, serve } from '../worker.js';

let context: LockContext;
let semaphores: SemaphoreService;

const api = {
  open(url: string, settings: Partial<LockSettings> = {}): void {
    context = new LockContext(openOverClient(url), settings);
    semaphores = new SemaphoreService(context);
  },

  async acquire(name: string, options: SemaphoreAcquireOptions): Promise<readonly string[]> {
    return (await semaphores.get(name).acquire(options)).permitIds;
  },

  /** Waits for permits; no caller waits for the answer. */
  queueUp(name: string, options: SemaphoreAcquireOptions): void {
    void semaphores
      .get(name)
      .acquire({ waitTimeMs: Infinity, ...options })
      .then(() => {
        report('inside');
      });
  },

  /** So many sections, one after the other; each says when it begins and when it ends. */
  async sections(name: string, options: SemaphoreAcquireOptions, times: number): Promise<void> {
    for (let i = 0; i < times; i += 1) {
      await semaphores.get(name).using(async () => {
        await semaphores.get(name).availablePermits();
      }, options);
    }
  },

  close: () => context.close(),
};
export type Api = typeof api;
serve(api);
