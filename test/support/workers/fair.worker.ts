import type { LockSettings } from '../../../libs/redis-lock/src/core/api/settings.js';
import { FairLockService } from '../../../libs/redis-lock/src/primitives/fair-lock/fair-lock-service.js';
import { openApplication, type Application } from '../../faults/support/application.js';
import { RecordingConnection } from '../../faults/support/fair-record.js';
import { serve } from '../worker.js';

let application: Application;
let isStopped = false;
let callers: Promise<void>[] = [];

/** A machine that stands still longer than the lease ends it. Redis' own record is the referee. */
const isOver = (error: unknown) =>
  ['LEASE_LOST', 'LOCK_ARGUMENT'].includes((error as { code?: string }).code ?? '');

async function call(locks: FairLockService, name: string): Promise<void> {
  while (!isStopped) {
    try {
      await locks.using(name, () => undefined, { waitTimeMs: 60_000 });
    } catch (error) {
      if (!isOver(error)) throw error;
    }
  }
}

const api = {
  open(url: string, settings: Partial<LockSettings>, aliveMs: number): void {
    const decorate = (port: RecordingConnection['inner']) => new RecordingConnection(port, aliveMs);
    application = openApplication(url, { settings, decorate });
  },

  /** Callers that come back at once when they have had the lock, until the worker is stopped. */
  begin(names: string[], callersOfEach: number): void {
    const locks = new FairLockService(application.context);
    callers = names.flatMap((name) =>
      Array.from({ length: callersOfEach }, () => call(locks, name)),
    );
  },

  async close(): Promise<void> {
    isStopped = true;
    await Promise.all(callers);
    await application.close();
  },
};
export type Api = typeof api;
serve(api);
