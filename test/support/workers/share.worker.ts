import { setTimeout as delay } from 'node:timers/promises';
import type { Lock } from '../../../libs/redis-lock/src/core/api/lock.js';
import type { LockSettings } from '../../../libs/redis-lock/src/core/api/settings.js';
import { ReadWriteLockService } from '../../../libs/redis-lock/src/primitives/read-write-lock/read-write-lock-service.js';
import { openApplication, type Application } from '../../faults/support/application.js';
import { serve } from '../worker.js';

export interface Load {
  readonly kind: 'lock' | 'writeLock' | 'spinLock';
  readonly callers: number;
  readonly workMs: number;
  readonly lastMs: number;
  /** The longest pause of a caller between two of its sections. */
  readonly pauseMs?: number;
}

let application: Application;

function lockOf(kind: Load['kind']): Lock {
  if (kind !== 'writeLock') return application.locks.get('a');
  return new ReadWriteLockService(application.context).get('a').write;
}

const api = {
  open(url: string, settings: Partial<LockSettings>): void {
    application = openApplication(url, { settings: { ...settings, waitTimeMs: Infinity } });
  },

  /** For each section of these callers, how long it was waited for, in ms. */
  async load({ kind, callers, workMs, lastMs, pauseMs = 0 }: Load): Promise<number[]> {
    const lock = lockOf(kind);
    const waits: number[] = [];
    const startedAt = performance.now();
    const call = async () => {
      while (performance.now() - startedAt < lastMs) {
        const calledAt = performance.now();
        await lock.using(() => {
          waits.push(performance.now() - calledAt);
          return workMs > 0 ? delay(workMs) : undefined;
        });
        if (pauseMs > 0) await delay(Math.random() * pauseMs);
      }
    };
    await Promise.all(Array.from({ length: callers }, call));
    return waits;
  },

  /** Some 600 first attempts a second, each of which works when it gets in. */
  async attempt({ kind, workMs, lastMs }: Load): Promise<number> {
    const lock = lockOf(kind);
    const startedAt = performance.now();
    let entries = 0;
    const attempt = async () => {
      const lease = await lock.tryAcquire();
      if (lease === null) return;
      entries += 1;
      await delay(workMs);
      await lease.release();
    };
    while (performance.now() - startedAt < lastMs) {
      await Promise.all([attempt(), attempt(), attempt(), delay(5)]);
    }
    return entries;
  },

  close: () => application.close(),
};
export type Api = typeof api;
serve(api);
